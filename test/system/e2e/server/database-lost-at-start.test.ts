/** A shared database that disappears between a server's listening and its first query of the accounts. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { findFreePort } from '../../../support/free-port.ts'
import { startPostgresServer } from '../../../support/servers/postgres/postgres.ts'
import { createTemporaryFolder } from '../../../support/temporary-folder.ts'

const program = join(import.meta.dirname, '../../../../bin/svc-gateway.js')

t.test('a server whose start cannot finish exits', async (t) => {
  const postgres = await startPostgresServer(t, async () => {})
  if (postgres === undefined) return
  const url = new URL(await postgres.createDatabase(t, { empty: true }))
  const { hostname, port } = url
  const sockets = new Set<Socket>()
  let isGone = false
  const proxy = createServer((client) => {
    if (isGone) return void client.destroy()
    const server = connect(Number(port), hostname)
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(one)
      one.on('error', () => undefined)
      one.on('close', () => other.destroy())
    }
    server.on('data', (data) => client.write(data))
    client.on('data', (data) => {
      if (!/select count\(\*\) as "?\w+"? from "?account"?/.test(data.toString('latin1'))) return server.write(data)
      isGone = true
      for (const socket of sockets) socket.destroy()
      return true
    })
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.teardown(() => proxy.close())
  url.port = String((proxy.address() as AddressInfo).port)
  const child = spawn(process.execPath, [program, 'start'], {
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: createTemporaryFolder(t),
      DATA_DIR: createTemporaryFolder(t),
      PORT: String(await findFreePort()),
      STORE_URL: url.href,
      SMTP_URL: 'smtp://127.0.0.1:9',
    },
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const [code] = await once(child, 'exit')
  t.ok(isGone, 'it had begun to listen')
  t.equal(code, 1)
})
