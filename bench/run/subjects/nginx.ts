/** nginx as a proxy with one worker, keep-alive and no buffering: the cost of forwarding bytes in C. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { findFreePort } from '../../../test/support/free-port.ts'
import type { Program } from '../../support/processes.ts'
import { BenchError } from '../errors.ts'

/** Null if it is not installed. */
export async function startNginx(upstream: string): Promise<Program | null> {
  if (spawnSync('nginx', ['-v']).error !== undefined) return null
  const folder = mkdtempSync(join(tmpdir(), 'svc-nginx-'))
  const port = await findFreePort()
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, createConfiguration(folder, port, new URL(upstream).host))
  const child = spawn('nginx', ['-p', folder, '-e', 'stderr', '-c', file], { stdio: ['ignore', 'ignore', 'inherit'] })
  const accepts = (): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket
        .once('error', () => resolve(false))
        .once('connect', () => {
          socket.destroy()
          resolve(true)
        })
    })
  while (child.exitCode === null && !(await accepts())) await pause(20)
  if (child.exitCode !== null) throw new BenchError(`nginx ended with ${child.exitCode} before it served.`)
  return {
    url: `http://127.0.0.1:${port}`,
    key: '',
    pid: child.pid ?? 0,
    async stop() {
      if (child.exitCode === null) {
        const ended = once(child, 'exit')
        child.kill('SIGTERM')
        await ended
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function createConfiguration(folder: string, port: number, upstream: string): string {
  return `
${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
worker_processes 1;
pid ${folder}/pid;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path ${folder};
  proxy_temp_path ${folder};
  fastcgi_temp_path ${folder};
  uwsgi_temp_path ${folder};
  scgi_temp_path ${folder};
  keepalive_requests 1000000000;
  upstream up { server ${upstream}; keepalive 256; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      proxy_pass http://up;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`
}
