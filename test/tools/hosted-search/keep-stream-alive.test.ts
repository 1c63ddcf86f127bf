/** A stream whose turn waits for a search. */
import { mock } from 'node:test'
import t from 'tap'
import { keepStreamAlive } from '../../../src/tools/hosted-search/keep-stream-alive.ts'
import { SlowClient } from '../../support/gateway/slow-client.ts'
import { RecordingClient } from '../../support/gateway/test-exchange.ts'

const comment = ': keep-alive\n\n'

t.beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }))
t.afterEach(() => mock.timers.reset())

function tick(times: number): void {
  for (let i = 0; i < times; i++) mock.timers.tick(10)
}

t.test('a client that reads gets a comment each time', async (t) => {
  const client = new RecordingClient()
  client.writeHead(200, {})
  const { promise, resolve } = Promise.withResolvers<string>()
  const kept = keepStreamAlive({ client }, 10, promise)
  tick(3)
  t.equal(client.body, comment.repeat(3))
  resolve('found')
  t.equal(await kept, 'found')
  tick(3)
  t.equal(client.body, comment.repeat(3), 'and none once the search has ended')
})

t.test('a client that does not read gets one comment until it reads', async (t) => {
  const client = new SlowClient()
  client.writeHead(200, {})
  const { promise, reject } = Promise.withResolvers<string>()
  const kept = keepStreamAlive({ client }, 10, promise)
  tick(100)
  t.equal(client.body, comment)
  client.drain()
  tick(100)
  t.equal(client.body, comment.repeat(2))
  reject(new Error('failed'))
  await t.rejects(kept, /failed/)
})

t.test('a client whose answer has not begun gets none', async (t) => {
  const client = new RecordingClient()
  const { promise, resolve } = Promise.withResolvers<string>()
  const kept = keepStreamAlive({ client }, 10, promise)
  tick(3)
  resolve('found')
  await kept
  t.equal(client.body, '')
})
