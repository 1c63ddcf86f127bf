/**
 * A real Caddy with a shipped file. Caddy itself converts the file to JSON, in which the test sets the values of this machine: the address,
 * a certificate in place of one from the internet, and no administration port.
 */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findFreePort } from '../free-port.ts'
import { requireProgram } from '../require-program.ts'
import type { TestScope } from '../test-scope.ts'
import { createTemporaryFolder } from '../temporary-folder.ts'
import type { ProxyProcess } from './proxy-process.ts'
import { startProxyProcess } from './proxy-process.ts'
import type { PublicCertificate } from './public-certificate.ts'
import { publicHost, readShippedFile } from './shipped-file.ts'

interface CaddyJson {
  readonly apps: { readonly http: { readonly servers: { readonly srv0: object } } }
}

/** Undefined where Caddy is not installed: the test has then reported it. Without a certificate it serves plain HTTP. */
export async function startCaddy(
  t: TestScope,
  caddyfile: string,
  certificate?: PublicCertificate,
): Promise<ProxyProcess | undefined> {
  const program = requireProgram(t, 'caddy')
  if (program === undefined) return undefined
  const folder = createTemporaryFolder(t)
  const port = await findFreePort()
  const env = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  writeFileSync(join(folder, 'Caddyfile'), caddyfile)
  const adapt = ['adapt', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile']
  const { stdout } = await promisify(execFile)(program, adapt, { env: { ...process.env, ...env } })
  const { apps } = JSON.parse(stdout) as CaddyJson
  const certificates = certificate && { load_files: [{ certificate: certificate.certFile, key: certificate.keyFile }] }
  const server = {
    ...apps.http.servers.srv0,
    listen: [`127.0.0.1:${port}`],
    automatic_https: certificate === undefined ? { disable: true } : { disable_redirects: true },
    ...(certificate === undefined ? {} : { tls_connection_policies: [{}] }),
  }
  const config = {
    admin: { disabled: true },
    apps: { http: { servers: { srv0: server } }, ...(certificates === undefined ? {} : { tls: { certificates } }) },
  }
  writeFileSync(join(folder, 'caddy.json'), JSON.stringify(config))
  return startProxyProcess(t, { program, words: ['run', '--config', join(folder, 'caddy.json')], port, env })
}

export function caddyOneNode(node: string, host = publicHost): string {
  return readShippedFile('caddy/one-node.Caddyfile', {
    'reverse_proxy 127.0.0.1:8787': `reverse_proxy ${node}`,
    [publicHost]: host,
  })
}

export function caddySeveralNodes(nodes: readonly [string, string]): string {
  return readShippedFile('caddy/several-nodes.Caddyfile', { 'node-1:8787': nodes[0], 'node-2:8787': nodes[1] })
}

export function caddyBehindAnotherProxy(node: string): string {
  return readShippedFile('caddy/behind-another-proxy.Caddyfile', {
    'reverse_proxy 127.0.0.1:8787': `reverse_proxy ${node}`,
    'trusted_proxies 10.0.0.0/8': 'trusted_proxies 127.0.0.1/32',
  })
}
