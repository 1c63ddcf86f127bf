/** A real Traefik with the two shipped files. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findFreePort } from '../free-port.ts'
import { createTemporaryFolder } from '../temporary-folder.ts'
import type { TestScope } from '../test-scope.ts'
import { waitUntil } from '../wait-until.ts'
import { openPackagedProgram } from './packaged-program.ts'
import type { ProxyProcess } from './proxy-process.ts'
import { startProxyProcess } from './proxy-process.ts'
import type { PublicCertificate } from './public-certificate.ts'
import { PublicClient } from './public-client.ts'
import { readShippedFile } from './shipped-file.ts'

/** `edit` changes both files as a careless operator would. */
type Edit = (text: string) => string

/** Undefined where Traefik cannot be installed: the test has then reported it. */
export async function startTraefik(
  t: TestScope,
  nodes: readonly [string, string],
  certificate: PublicCertificate,
  edit: Edit = (text) => text,
): Promise<ProxyProcess | undefined> {
  const program = await openPackagedProgram(t, 'traefik')
  if (program === undefined) return undefined
  const folder = createTemporaryFolder(t)
  const port = await findFreePort()
  const shipped = readShippedFile('traefik/traefik.yaml', {
    "address: ':80'": "address: '127.0.0.1:0'",
    "address: ':443'": `address: '127.0.0.1:${port}'`,
    '/etc/traefik/several-nodes.yaml': join(folder, 'several-nodes.yaml'),
  })
  // A certificate of the test in place of one from the internet.
  const main = shipped.slice(0, shipped.indexOf('certificatesResolvers:'))
  const routes = readShippedFile('traefik/several-nodes.yaml', {
    'tls: { certResolver: letsencrypt }': 'tls: {}',
    'http://node-1:8787': `http://${nodes[0]}`,
    'http://node-2:8787': `http://${nodes[1]}`,
    // The machine of the tests may be busy for longer: one check that fails takes the only node out.
    'unhealthyInterval: 500ms, timeout: 5s': 'unhealthyInterval: 500ms, timeout: 60s',
  })
  const certificates = `tls:\n  certificates:\n    - { certFile: ${certificate.certFile}, keyFile: ${certificate.keyFile} }\n`
  writeFileSync(join(folder, 'traefik.yaml'), edit(`${main}global: { checkNewVersion: false, sendAnonymousUsage: false }\n`))
  writeFileSync(join(folder, 'several-nodes.yaml'), edit(`${routes}${certificates}`))
  const proxy = await startProxyProcess(t, { program, words: [`--configFile=${join(folder, 'traefik.yaml')}`], port })
  // It accepts connections before it has read its routes and certificates, and answers 404 until then.
  const client = new PublicClient(t, { port, ca: certificate.ca })
  const hasRoutes = async (): Promise<boolean> => {
    const answer = await client.fetch('/healthz')
    await answer.arrayBuffer()
    return answer.status !== 404
  }
  await waitUntil(() => hasRoutes().catch(() => false), 'the routes of Traefik')
  return proxy
}
