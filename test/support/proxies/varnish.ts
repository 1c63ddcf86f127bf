/** A real Varnish with the shipped file. It has no TLS, and compiles the file with the C compiler that its package depends on. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findFreePort } from '../free-port.ts'
import { requireProgram } from '../require-program.ts'
import type { TestScope } from '../test-scope.ts'
import { createTemporaryFolder } from '../temporary-folder.ts'
import type { ProxyProcess } from './proxy-process.ts'
import { startProxyProcess } from './proxy-process.ts'
import { readShippedFile } from './shipped-file.ts'

/** Undefined where Varnish is not installed: the test has then reported it. `edit` changes the file as a careless operator would. */
export async function startVarnish(
  t: TestScope,
  node: string,
  edit: (text: string) => string = (text) => text,
): Promise<ProxyProcess | undefined> {
  const program = requireProgram(t, 'varnishd')
  if (program === undefined) return undefined
  const folder = createTemporaryFolder(t)
  const port = await findFreePort()
  const { hostname, port: nodePort } = new URL(`http://${node}`)
  const vcl = readShippedFile('varnish/one-node.vcl', { '.host = "127.0.0.1"': `.host = "${hostname}"`, '8787': nodePort })
  writeFileSync(join(folder, 'default.vcl'), edit(vcl))
  // The comment of the file has them, in the command that starts Varnish.
  const parameters = [...vcl.matchAll(/ -p (\w+=\w+)/g)].flatMap(([, parameter = '']) => ['-p', parameter])
  const words = ['-F', '-j', 'none', '-T', 'none', '-s', 'malloc,16m', '-n', join(folder, 'run'), ...parameters]
  return startProxyProcess(t, {
    program,
    words: [...words, '-a', `127.0.0.1:${port}`, '-f', join(folder, 'default.vcl')],
    port,
    env: { HOME: folder },
  })
}
