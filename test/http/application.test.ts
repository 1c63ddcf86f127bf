/** Koa's own answers, with its steps taken before it begins to listen for their end. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import t from 'tap'
import type { Test } from 'tap'
import type { Context } from 'koa'
import { Application } from '../../src/http/application.ts'

async function serving(
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

t.test('what Koa answers has the status, the words and the end that its steps gave it', async (t) => {
  for (const [name, answer, status, body] of [
    ['words', (ctx: Context) => (ctx.body = 'hello'), 200, 'hello'],
    ['a status of its own', (ctx: Context) => Object.assign(ctx, { status: 201, body: { made: true } }), 201, '{"made":true}'],
    ['a stream', (ctx: Context) => (ctx.body = new PassThrough().end('streamed')), 200, 'streamed'],
    ['nothing', () => undefined, 404, 'Not Found'],
    ['no body', (ctx: Context) => (ctx.body = null), 204, ''],
  ] as const) {
    const { url } = await serving(t, answer)
    const response = await fetch(url)
    t.equal(response.status, status, name)
    t.equal(await response.text(), body, name)
  }
})

t.test("what every answer has is on Koa's, too, and gives way to an answer's own", async (t) => {
  const { url } = await serving(t, (ctx) => {
    ctx.set('x-own', 'mine')
    ctx.body = 'hello'
  })
  const { headers } = await fetch(url)
  t.equal(headers.get('x-everywhere'), 'yes')
  t.equal(headers.get('x-own'), 'mine')
})

t.test('a step that throws is answered, and nothing of it told', async (t) => {
  const { url } = await serving(t, () => {
    throw new Error('secret')
  })
  const response = await fetch(url)
  t.equal(response.status, 500)
  t.equal(await response.text(), 'Internal Server Error')
})

t.test('a stream that nobody reads any more is ended', async (t) => {
  const body = new PassThrough().on('error', () => undefined)
  const ended = new Promise((resolve) => body.once('close', resolve))
  const { port } = await serving(t, (ctx) => (ctx.body = body))
  const socket = connect(port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nhost: here\r\n\r\n')
  body.write('begun')
  await once(socket, 'data')
  socket.destroy()
  await ended
  t.ok(body.destroyed)
})

t.test('nobody listens to a response that was taken over but who took it', async (t) => {
  const { url, responses } = await serving(t, (ctx) => {
    ctx.respond = false
    t.equal(ctx.res.statusCode, 404, 'until somebody says otherwise')
    ctx.res.end('mine')
  })
  t.equal(await (await fetch(url)).text(), 'mine')
  t.equal(responses[0]?.listenerCount('finish'), 1, "Node's own")
})
