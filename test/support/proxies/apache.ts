/** A real Apache with the shipped file and the modules that its comment names. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findFreePort } from '../free-port.ts'
import { requireProgram } from '../require-program.ts'
import type { TestScope } from '../test-scope.ts'
import { createTemporaryFolder } from '../temporary-folder.ts'
import type { ProxyProcess } from './proxy-process.ts'
import { startProxyProcess } from './proxy-process.ts'
import type { PublicCertificate } from './public-certificate.ts'
import { publicHost, readShippedFile } from './shipped-file.ts'

/** Debian's default modules, as far as they are needed, and those that `a2enmod ssl http2 headers proxy_http` adds. */
const modules = ['mpm_event', 'authz_core', 'reqtimeout', 'socache_shmcb', 'ssl', 'http2', 'headers', 'proxy', 'proxy_http']

/** Undefined where Apache is not installed: the test has then reported it. `edit` changes the file as a careless operator would. */
export async function startApache(
  t: TestScope,
  node: string,
  certificate: PublicCertificate,
  edit: (text: string) => string = (text) => text,
): Promise<ProxyProcess | undefined> {
  const program = requireProgram(t, 'apache2')
  if (program === undefined) return undefined
  const folder = createTemporaryFolder(t)
  const port = await findFreePort()
  const site = readShippedFile('apache/one-node.conf', {
    '*:443': `127.0.0.1:${port}`,
    [`/etc/ssl/${publicHost}/fullchain.pem`]: certificate.certFile,
    [`/etc/ssl/${publicHost}/privkey.pem`]: certificate.keyFile,
    'http://127.0.0.1:8787/': `http://${node}/`,
  })
  writeFileSync(join(folder, 'site.conf'), edit(site))
  const main = [
    `ServerRoot ${folder}`,
    `DefaultRuntimeDir ${folder}`,
    `PidFile ${folder}/apache2.pid`,
    `ErrorLog ${folder}/error.log`,
    `Listen 127.0.0.1:${port}`,
    `ServerName ${publicHost}`,
    // Debian's own values.
    'Timeout 300',
    'StartServers 2',
    ...modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`),
    'RequestReadTimeout header=20-40,minrate=500',
    'RequestReadTimeout body=10,minrate=500',
    `Include ${folder}/site.conf`,
  ]
  writeFileSync(join(folder, 'apache2.conf'), `${main.join('\n')}\n`)
  return startProxyProcess(t, { program, words: ['-DFOREGROUND', '-f', join(folder, 'apache2.conf')], port })
}
