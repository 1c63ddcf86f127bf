/** How a turn ends in time, whoever is slow: deadlines, disconnects, retries and rests, with what the member is charged. */
import t from 'tap'
import type { Test } from 'tap'
import { SimulatedGateway } from './simulated-gateway.ts'
import type { SentTurn, SimulatedOptions } from './simulated-gateway.ts'
import { answer, data, done, end, finish, rejection, reset, streamHead, usage, wait, word } from './simulated-upstream.ts'
import type { Script } from './simulated-upstream.ts'

const timeouts = {
  firstByteMs: 30_000,
  idleMs: 20_000,
  totalMs: 300_000,
  slowReaderMs: 60_000,
  heartbeatAfterMs: 10_000,
  heartbeatEveryMs: 15_000,
}
const oneTarget = { products: { 'svc-2.1': { targets: [{ upstream: 'main', model: 'm' }] } } }

async function open(t: Test, script: Script | ((count: number) => Script), config: SimulatedOptions['config'] = oneTarget) {
  let count = 0
  const gateway = await SimulatedGateway.open({
    config: { timeouts, upstreams: { main: { restAfterFailures: 0 }, second: { restAfterFailures: 0 } }, ...config },
    onCall: () => (typeof script === 'function' ? script(count++) : script),
  })
  t.teardown(async () => {
    const mismatches = gateway.verify()
    await gateway.close()
    if (mismatches.length > 0) throw new Error(`the ledger does not add up: ${JSON.stringify(mismatches)}`)
  })
  return { gateway, token: await gateway.createMember() }
}

/** How a turn ended, when, and what the ledger has of it. */
function describe(gateway: SimulatedGateway, turn: SentTurn): string {
  const { outcome, client, startedMs, endedMs } = turn
  if (outcome === undefined) return 'running'
  const state = gateway.readTurn(turn)
  const failure = outcome.kind === 'failed' ? ` ${outcome.failure.code}` : ''
  const received = client.hasWholeStream ? 'whole' : client.headersSent ? 'part' : String(client.status)
  return `${outcome.kind}${failure} after ${Math.round(endedMs - startedMs)} ms: ${received}, ${state?.state ?? 'no hold'}`
}

t.test('an answer reaches the client and is settled', async (t) => {
  const { gateway, token } = await open(t, answer(3, { firstMs: 500, betweenMs: 100 }))
  const turn = gateway.send(token)
  await gateway.clock.run(5_000)
  t.match(describe(gateway, turn), /^completed after \d{3} ms: whole, settled$/)
  t.equal(turn.client.body.match(/word/g)?.length, 3)
})

for (const [name, script, expected] of [
  ['no first byte', [], /^failed upstream_error after 30\d{3} ms: part, refunded$/],
  ['no event after the first', [streamHead, word], /^failed upstream_error after 20\d{3} ms: part, refunded$/],
  ['a lost connection before the answer', [wait(100), reset], /^failed upstream_\w+ after \d{3} ms: 50\d, refunded$/],
  [
    'a lost connection within the answer',
    [streamHead, word, wait(100), reset],
    /^failed upstream_\w+ after \d{3} ms: part, refunded$/,
  ],
  ['only [DONE] is missing', [streamHead, word, finish, usage(1)], /^completed after 20\d{3} ms: whole, settled$/],
  [
    'an upstream that stays connected after [DONE]',
    [streamHead, word, finish, usage(1), done],
    /^completed after \d{1,3} ms: whole, settled$/,
  ],
] as const)
  t.test(`ends for ${name}`, async (t) => {
    const { gateway, token } = await open(t, script)
    const turn = gateway.send(token)
    await gateway.clock.run(60_000)
    t.match(describe(gateway, turn), expected)
    t.equal(gateway.forwarder.running, 0)
    t.equal(gateway.countOpenHolds(), 0)
  })

t.test('an answer that goes on until the total time is cut off and charged', async (t) => {
  const { gateway, token } = await open(t, answer(1_000, { betweenMs: 1_000 }))
  const turn = gateway.send(token)
  await gateway.clock.run(timeouts.totalMs + 1_000)
  t.match(describe(gateway, turn), /^completed after 300\d{3} ms: whole, settled$/)
  t.match(turn.client.body, /"finish_reason":"length"/)
})

t.test('an upstream that is silent gets keep-alive comments sent to its client', async (t) => {
  const { gateway, token } = await open(t, [streamHead, wait(19_000), ...answer(1).slice(1)])
  const turn = gateway.send(token)
  await gateway.clock.run(9_000)
  t.equal(turn.client.body, '')
  await gateway.clock.run(2_000)
  t.match(turn.client.body, /^:/)
  await gateway.clock.run(20_000)
  t.match(describe(gateway, turn), /^completed after 19\d{3} ms: whole, settled$/)
})

t.test('a client that reads nothing is disconnected and charged', async (t) => {
  const { gateway, token } = await open(t, answer(20, { betweenMs: 500 }))
  const turn = gateway.send(token, { paceMs: Infinity })
  await gateway.clock.run(timeouts.slowReaderMs + 5_000)
  t.match(describe(gateway, turn), /^aborted after 6\d{4} ms: part, settled$/)
})

t.test('a client that disconnects is charged for what was produced', async (t) => {
  const { gateway, token } = await open(t, answer(200, { betweenMs: 100 }))
  const turn = gateway.send(token)
  await gateway.clock.run(5_000)
  turn.client.disconnect()
  await gateway.clock.run(5_000)
  t.match(describe(gateway, turn), /^aborted after 50\d{2} ms: part, settled$/)
  t.ok((gateway.readTurn(turn)?.credits ?? 0) > 0)
})

t.test('a client that disconnects from a whole answer is charged once the answer is there', async (t) => {
  const body = JSON.stringify({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'word '.repeat(50) }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 7, completion_tokens: 50, total_tokens: 57 },
  })
  const script: Script = [
    wait(9_000),
    { kind: 'head', status: 200, headers: { 'content-type': 'application/json' } },
    data(body),
    end,
  ]
  const { gateway, token } = await open(t, script)
  const turn = gateway.send(token, { stream: false })
  await gateway.clock.run(2_000)
  turn.client.disconnect()
  await gateway.clock.run(1_000)
  t.equal(describe(gateway, turn), 'running', 'the upstream works on it')
  await gateway.clock.run(10_000)
  t.match(describe(gateway, turn), /^aborted after 90\d{2} ms: null, settled$/)
})

t.test('a pause of the machine, however long, ends no turn before its total time', async (t) => {
  const { gateway, token } = await open(t, answer(20, { betweenMs: 1_000 }))
  const turns = [gateway.send(token), gateway.send(token, { paceMs: 100 })]
  for (let pause = 0; pause < 4; pause++) {
    await gateway.clock.run(3_000)
    gateway.clock.skip(50_000)
  }
  await gateway.clock.run(20_000)
  for (const turn of turns) t.match(describe(gateway, turn), /^completed after \d+ ms: whole, settled$/)
})

t.test('another target serves a turn that the first one refused, and the first one rests', async (t) => {
  const { gateway, token } = await open(t, (count) => (count === 0 ? rejection(503, { 'retry-after': '30' }) : answer(2)), {
    upstreams: { main: { restAfterFailures: 1 } },
  })
  const turn = gateway.send(token)
  await gateway.clock.run(1_000)
  t.match(describe(gateway, turn), /^completed after \d+ ms: whole, settled$/)
  t.same(
    gateway.upstream.calls.map(({ host }) => host),
    ['first.example', 'second.example'],
  )
  const resting = gateway.send(token)
  await gateway.clock.run(1_000)
  t.match(describe(gateway, resting), /^completed/)
  t.equal(gateway.upstream.calls.at(-1)?.host, 'second.example', 'it rests')
  await gateway.clock.run(60_000)
  gateway.send(token)
  await gateway.clock.run(1_000)
  t.equal(gateway.upstream.calls.at(-1)?.host, 'first.example', 'and is called again')
})

t.test('retries are bounded: failing targets do not double the load', async (t) => {
  const { gateway, token } = await open(t, () => rejection(503), {})
  for (let i = 0; i < 200; i++) {
    gateway.send(token)
    await gateway.clock.run(50)
  }
  await gateway.clock.run(1_000)
  const { length } = gateway.upstream.calls
  t.ok(length < 260, `${length} calls for 200 turns`)
})

t.test('a turn beyond the concurrency of its plan waits for a slot, and only for its time', async (t) => {
  const { gateway, token } = await open(t, answer(10, { betweenMs: 100 }), {
    ...oneTarget,
    plans: { max: { concurrency: 1, rpm: 100 } },
    limits: { concurrencyWaitMs: 3_000 },
  })
  const [first, second, third] = [gateway.send(token), gateway.send(token), gateway.send(token)]
  await gateway.clock.run(10_000)
  t.match(describe(gateway, first), /^completed after 1\d{3} ms: whole/)
  t.match(describe(gateway, second), /^completed after 2\d{3} ms: whole/)
  t.match(describe(gateway, third), /^failed rate_limited after \d+ ms: 429, no hold$/, 'as many wait as run')
})

t.test('a refused minute is over after the reported time', async (t) => {
  const { gateway, token } = await open(t, answer(1), { ...oneTarget, plans: { max: { concurrency: 10, rpm: 2 } } })
  const turns = [gateway.send(token), gateway.send(token), gateway.send(token)]
  await gateway.clock.run(1_000)
  t.match(
    turns.map((turn) => describe(gateway, turn).split(' after')[0]),
    ['completed', 'completed', 'failed rate_limited'],
  )
  const seconds = Number(turns[2]?.client.headers['retry-after'])
  t.ok(seconds > 0 && seconds <= 60, `${seconds} s`)
  await gateway.clock.run(seconds * 1_000)
  const next = gateway.send(token)
  await gateway.clock.run(1_000)
  t.match(describe(gateway, next), /^completed/)
})

t.test('a settlement that the ledger refuses goes to the journal, and is written when it can', async (t) => {
  const { gateway, token } = await open(t, answer(2, { betweenMs: 100 }))
  const turn = gateway.send(token)
  await gateway.clock.run(50)
  gateway.writer.isRefusing = true
  await gateway.clock.run(1_000)
  t.match(describe(gateway, turn), /^completed after \d+ ms: whole, held$/, 'durable in the journal')
  t.equal(gateway.journal.length, 1)
  gateway.writer.isRefusing = false
  await gateway.clock.run(10_000)
  t.equal(gateway.readTurn(turn)?.state, 'settled')
  t.equal(gateway.journal.length, 0)
})

t.test('a ledger that does not answer delays the end of a turn by a second, not by a pause of the machine', async (t) => {
  const { gateway, token } = await open(t, answer(2, { betweenMs: 100 }))
  const turn = gateway.send(token)
  await gateway.clock.run(50)
  gateway.writer.hold()
  await gateway.clock.run(500)
  gateway.clock.skip(60_000)
  await gateway.clock.run(200)
  t.equal(describe(gateway, turn), 'running')
  await gateway.clock.run(1_000)
  t.match(describe(gateway, turn), /^completed after 61\d{3} ms: whole, settled$/)
  gateway.writer.resume()
  await gateway.clock.run(1_000)
})

t.test('a hold expires after its lease, and no running turn loses its own', async (t) => {
  const { gateway, token } = await open(t, answer(1_000, { betweenMs: 1_000 }))
  const turn = gateway.send(token)
  const { clock, services } = gateway
  await clock.run(timeouts.totalMs - 1_000)
  t.equal(await services.ledger.expire(clock.now(), clock.monotonicMs()), 0)
  t.equal(gateway.readTurn(turn)?.state, 'held')
  await clock.run(10_000)
  t.equal(gateway.readTurn(turn)?.state, 'settled')
})

t.test('a shutdown ends a turn with a refund', async (t) => {
  const { gateway, token } = await open(t, answer(100, { betweenMs: 1_000 }))
  const turn = gateway.send(token)
  await gateway.clock.run(5_000)
  gateway.forwarder.abortAll(new Error('the service restarts'))
  await gateway.clock.run(100)
  t.match(describe(gateway, turn), /^failed \w+ after 5\d{3} ms: part, refunded$/)
})
