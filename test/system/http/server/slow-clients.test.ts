/** Clients that send or read slowly hold no resources for long and do not slow others down. */
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import t from 'tap'
import { maxImmediateMs, startGateway, waitUntil } from '../../../support/gateway/test-gateway.ts'

t.test('serves healthy members while fifty clients send slowly', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  const { hostname, port, host } = new URL(g.url)
  const slow: Socket[] = []
  t.teardown(() => slow.forEach((socket) => socket.destroy()))
  for (let i = 0; i < 50; i++) {
    const socket = connect({ host: hostname, port: Number(port) })
    socket.on('error', () => undefined)
    slow.push(socket)
    await new Promise((resolve) => socket.once('connect', resolve))
    socket.write(
      i % 2 === 0
        ? 'GET /v1/models HTTP/1.1\r\nHos'
        : `POST /v1/chat/completions HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"model"`,
    )
  }
  await waitUntil(() => g.services.limits.concurrency.size > 0, 'a slow body to arrive')
  const from = performance.now()
  for (let i = 0; i < 10; i++) {
    const response = await g.chat(token)
    t.equal(response.status, 200)
    await response.text()
  }
  t.ok(performance.now() - from < maxImmediateMs, `ten turns in ${Math.round(performance.now() - from)} ms`)
  t.equal(g.demo.stats().requests, 10, 'no slow request reached the upstream')
})

t.test('enforces each protocol limit', async (t) => {
  const g = await startGateway(t, { limits: { connections: 5 } })
  const { hostname, port } = new URL(g.url)
  const sockets: Socket[] = []
  t.teardown(() => sockets.forEach((socket) => socket.destroy()))
  let closed = 0
  for (let i = 0; i < 12; i++) {
    const socket = connect({ host: hostname, port: Number(port) })
    socket.on('error', () => undefined)
    socket.on('close', () => closed++).resume()
    sockets.push(socket)
  }
  await waitUntil(() => closed >= 7, 'connections beyond the limit to be refused')
  t.equal(closed, 7)
})
