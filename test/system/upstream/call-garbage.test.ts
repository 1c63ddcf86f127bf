/** Measures what calls leave in memory that only the major collector frees. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import type { Test } from 'tap'
import type { Candidate, Route } from '../../../src/exchange/exchange.ts'
import { Forwarder } from '../../../src/upstream/forward.ts'
import { Upstreams } from '../../../src/upstream/target/upstreams.ts'
import { createTestExchange, RecordingClient } from '../../support/gateway/test-exchange.ts'
import { testConfig } from '../../support/gateway/test-gateway.ts'
import { SimulatedClock } from '../../support/simulated-clock.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (how: { readonly type: 'minor' }) => void

const chunk = (delta: object, finish: string | null) =>
  `data: ${JSON.stringify({ id: 'c', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const events = `${chunk({ content: 'word' }, null).repeat(10)}${chunk({}, 'stop')}data: [DONE]\n\n`

t.test('frees a streamed upstream call with everything it holds at the second minor collection', async (t) => {
  const { forwarder, candidate } = await openForwarder(t)
  for (const stream of [true, false]) {
    const route: Route = { candidates: [candidate], productId: 'svc-2.1', stream, includeUsage: false, inputEstimate: 1 }
    const call = async (times: number) => {
      for (let turn = 0; turn < times; turn++) {
        const x = Object.assign(createTestExchange(), { route, ballast: Array.from({ length: 1_000 }, () => ({})) })
        await forwarder.call(x, {
          client: new RecordingClient(),
          headers: () => ({}),
          onUpstreamHeaders: () => undefined,
          onEvent: null,
        })
      }
      // Objects that survive two minor collections are old.
      collect({ type: 'minor' })
      collect({ type: 'minor' })
      return oldBytes()
    }
    const before = await call(100)
    const left = ((await call(100)) - before) / 100
    // Code that is compiled meanwhile grows old as well, and is subtracted.
    t.ok(left < 15_000, `${Math.round(left)} bytes a call, ${stream ? 'streamed' : 'whole'}`)
  }
})

async function openForwarder(t: Test): Promise<{ readonly forwarder: Forwarder; readonly candidate: Candidate }> {
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const config = testConfig(t, { upstreams: { main: { baseUrl } } })
  const upstreams = new Upstreams(config, null, () => 0)
  const clock = new SimulatedClock()
  const forwarder = new Forwarder({ config, upstreams, clock, onAttempt: () => undefined })
  t.teardown(async () => {
    forwarder.close()
    await upstreams.close()
    server.close()
  })
  const candidate = { name: 'main/m', upstream: 'main', model: 'm', path: '/chat/completions', body: () => ({}) }
  return { forwarder, candidate }
}

function oldBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')?.space_used_size ?? 0
}
