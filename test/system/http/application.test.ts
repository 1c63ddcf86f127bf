/** Koa's responses when its middleware runs before it adds its listeners. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import t from 'tap'
import type { Test } from 'tap'
import type { Context } from 'koa'
import { Application } from '../../../src/http/application.ts'

async function startApplication(
  t: Test,
  answer: (ctx: Context) => void,
): Promise<{ url: string; port: number; responses: ServerResponse[] }> {
  const app = new Application(() => ({ 'x-everywhere': 'yes', 'x-own': 'everybody' }))
  app.silent = true
  app.use(async (ctx) => answer(ctx))
  const responses: ServerResponse[] = []
  const handler = app.callback()
  const server = createServer((request, response) => {
    responses.push(response)
    void handler(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/`, port, responses }
}

t.test('sends the status, body and end that the middleware set', async (t) => {
  for (const [name, answer, status, body] of [
    ['words', (ctx: Context) => (ctx.body = 'hello'), 200, 'hello'],
    ['a status of its own', (ctx: Context) => Object.assign(ctx, { status: 201, body: { made: true } }), 201, '{"made":true}'],
    ['a stream', (ctx: Context) => (ctx.body = new PassThrough().end('streamed')), 200, 'streamed'],
    ['nothing', () => undefined, 404, 'Not Found'],
    ['no body', (ctx: Context) => (ctx.body = null), 204, ''],
  ] as const) {
    const { url } = await startApplication(t, answer)
    const response = await fetch(url)
    t.equal(response.status, status, name)
    t.equal(await response.text(), body, name)
  }
})

t.test('adds the common headers to Koa’s responses, and lets a response override them', async (t) => {
  const { url } = await startApplication(t, (ctx) => {
    ctx.set('x-own', 'mine')
    ctx.body = 'hello'
  })
  const { headers } = await fetch(url)
  t.equal(headers.get('x-everywhere'), 'yes')
  t.equal(headers.get('x-own'), 'mine')
})

t.test('answers a middleware error without revealing it', async (t) => {
  const { url } = await startApplication(t, () => {
    throw new Error('secret')
  })
  const response = await fetch(url)
  t.equal(response.status, 500)
  t.equal(await response.text(), 'Internal Server Error')
})

t.test('destroys a response stream when its client disconnects', async (t) => {
  const body = new PassThrough().on('error', () => undefined)
  const ended = new Promise((resolve) => body.once('close', resolve))
  const { port } = await startApplication(t, (ctx) => (ctx.body = body))
  const socket = connect(port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nhost: here\r\n\r\n')
  body.write('begun')
  await once(socket, 'data')
  socket.destroy()
  await ended
  t.ok(body.destroyed)
})

t.test('adds no listeners to a response that was taken over', async (t) => {
  const { url, responses } = await startApplication(t, (ctx) => {
    ctx.respond = false
    t.equal(ctx.res.statusCode, 404, 'until another status is set')
    ctx.res.end('mine')
  })
  t.equal(await (await fetch(url)).text(), 'mine')
  t.equal(responses[0]?.listenerCount('finish'), 1, "Node's own")
})
