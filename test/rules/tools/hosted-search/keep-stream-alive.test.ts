/** A stream whose turn waits for a search. */
import t from 'tap'
import { keepStreamAlive } from '../../../../src/tools/hosted-search/keep-stream-alive.ts'
import { SlowClient } from '../../../support/gateway/slow-client.ts'
import { RecordingClient } from '../../../support/gateway/test-exchange.ts'
import { SimulatedClock } from '../../../support/simulated-clock.ts'

const comment = ': keep-alive\n\n'

const clock = new SimulatedClock()
const everyTick = { clock, everyMs: 10 }

function tick(times: number): void {
  clock.advance(10 * times)
}

t.test('a client that reads gets a comment each time', async (t) => {
  const client = new RecordingClient()
  client.writeHead(200, {})
  const { promise, resolve } = Promise.withResolvers<string>()
  const kept = keepStreamAlive({ client }, everyTick, promise)
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
  const kept = keepStreamAlive({ client }, everyTick, promise)
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
  const kept = keepStreamAlive({ client }, everyTick, promise)
  tick(3)
  resolve('found')
  await kept
  t.equal(client.body, '')
})
