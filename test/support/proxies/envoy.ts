/** A real Envoy with the shipped file. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findFreePort } from '../free-port.ts'
import { createTemporaryFolder } from '../temporary-folder.ts'
import type { TestScope } from '../test-scope.ts'
import { openPackagedProgram } from './packaged-program.ts'
import type { ProxyProcess } from './proxy-process.ts'
import { startProxyProcess } from './proxy-process.ts'
import type { PublicCertificate } from './public-certificate.ts'
import { publicHost, readShippedFile } from './shipped-file.ts'

/** Undefined where Envoy cannot be installed: the test has then reported it. `edit` changes the file as a careless operator would. */
export async function startEnvoy(
  t: TestScope,
  nodes: readonly [string, string],
  certificate: PublicCertificate,
  edit: (text: string) => string = (text) => text,
): Promise<ProxyProcess | undefined> {
  const program = await openPackagedProgram(t, 'envoy')
  if (program === undefined) return undefined
  const port = await findFreePort()
  const [first, second] = nodes.map((node) => new URL(`http://${node}`)) as [URL, URL]
  const text = readShippedFile('envoy/several-nodes.yaml', {
    // The machine of the tests may be busy for longer: one check that fails takes the only node out.
    'timeout: 5s': 'timeout: 60s',
    'address: 0.0.0.0, port_value: 443': `address: 127.0.0.1, port_value: ${port}`,
    [`/etc/ssl/${publicHost}/fullchain.pem`]: certificate.certFile,
    [`/etc/ssl/${publicHost}/privkey.pem`]: certificate.keyFile,
    'address: node-1, port_value: 8787': `address: ${first.hostname}, port_value: ${first.port}`,
    'address: node-2, port_value: 8787': `address: ${second.hostname}, port_value: ${second.port}`,
  })
  const file = join(createTemporaryFolder(t), 'envoy.yaml')
  writeFileSync(file, edit(text))
  // One thread, and no memory shared with another Envoy of this machine.
  const words = ['-c', file, '--concurrency', '1', '--use-dynamic-base-id', '--log-level', 'warn']
  return startProxyProcess(t, { program, words, port })
}
