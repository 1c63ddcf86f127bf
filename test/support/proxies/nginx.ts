/** A real nginx with a shipped file, or with a test's own site. */
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

type Site = (port: number) => string

/** Undefined where nginx is not installed: the test has then reported it. */
export async function startNginx(t: TestScope, site: Site): Promise<ProxyProcess | undefined> {
  const program = requireProgram(t, 'nginx')
  if (program === undefined) return undefined
  const folder = createTemporaryFolder(t)
  const port = await findFreePort()
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`)
  // As root nginx would run its workers as a user who cannot open the test's folder.
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  writeFileSync(join(folder, 'site.conf'), site(port))
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; pid ${folder}/nginx.pid; error_log stderr; ${user} worker_processes 2; events { worker_connections 4096; }
     http { access_log off; ${paths.join(' ')} include ${folder}/site.conf; }`,
  )
  return startProxyProcess(t, { program, words: ['-p', folder, '-e', 'stderr', '-c', join(folder, 'nginx.conf')], port })
}

export function nginxOneNode(node: string, certificate: PublicCertificate): Site {
  return (port) =>
    readShippedFile('nginx/one-node.conf', { ...listensWithTls(port, certificate), 'server 127.0.0.1:8787': `server ${node}` })
}

export function nginxSeveralNodes(nodes: readonly [string, string], certificate: PublicCertificate): Site {
  return (port) =>
    readShippedFile('nginx/several-nodes.conf', {
      ...listensWithTls(port, certificate),
      'node-1:8787': nodes[0],
      'node-2:8787': nodes[1],
    })
}

export function nginxBehindAnotherProxy(node: string): Site {
  return (port) =>
    readShippedFile('nginx/behind-another-proxy.conf', {
      'listen 8080;': `listen 127.0.0.1:${port};`,
      'server 127.0.0.1:8787': `server ${node}`,
    })
}

/** Another operator's nginx, with TLS and its defaults: it buffers, and passes requests on with HTTP/1.0. */
export function nginxOfAnotherOperator(next: string, { certFile, keyFile }: PublicCertificate): Site {
  return (port) => `server {
    listen 127.0.0.1:${port} ssl http2;
    server_name ${publicHost};
    ssl_certificate ${certFile};
    ssl_certificate_key ${keyFile};
    client_max_body_size 20m;
    location / {
      proxy_pass http://${next};
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto $scheme;
    }
  }`
}

function listensWithTls(port: number, { certFile, keyFile }: PublicCertificate): Record<string, string> {
  return {
    'listen 443 ssl': `listen 127.0.0.1:${port} ssl`,
    [`/etc/ssl/${publicHost}/fullchain.pem`]: certFile,
    [`/etc/ssl/${publicHost}/privkey.pem`]: keyFile,
  }
}
