/** The client's side of a streamed call: what is written to a client that does not read. */
import t from 'tap'
import type { CallContext } from '../../../src/exchange/plugins/plugin-chain.ts'
import { ClientStream } from '../../../src/upstream/client-stream.ts'
import { Deadlines } from '../../../src/upstream/deadlines.ts'
import { SlowClient } from '../../support/gateway/slow-client.ts'
import { createTestExchange } from '../../support/gateway/test-exchange.ts'
import { testConfig } from '../../support/gateway/test-gateway.ts'
import { SimulatedClock } from '../../support/simulated-clock.ts'

t.test('sends no keep-alive comments to a client that does not read', async (t) => {
  const client = new SlowClient()
  const clock = new SimulatedClock()
  const callContext: CallContext = { client, onUpstreamHeaders: () => undefined, onEvent: null, headers: () => ({}) }
  const stream = new ClientStream({
    x: createTestExchange(),
    callContext,
    clock,
    deadlines: new Deadlines(testConfig(t).timeouts, 0),
    pause: () => undefined,
    resume: () => undefined,
    isActive: () => true,
    onRejected: (error) => {
      throw error
    },
    onReleased: () => undefined,
  })
  stream.keepAlive()
  const comment = client.body
  t.match(comment, /^:/)
  for (let i = 0; i < 100; i++) {
    clock.advance(15_000)
    stream.keepAlive()
  }
  t.equal(client.body, comment, 'one comment until it reads')
  client.drain()
  stream.keepAlive()
  t.equal(client.body, comment + comment, 'and the next once it has')
})
