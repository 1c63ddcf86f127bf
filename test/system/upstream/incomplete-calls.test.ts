/** Calls that end before their answer is complete, with a real upstream, a scripted client and a clock that the test moves. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import type { CallResult, Candidate, Route } from '../../../src/exchange/exchange.ts'
import { ClientDisconnected } from '../../../src/exchange/exchange.ts'
import { UpstreamFailure } from '../../../src/exchange/upstream-failure.ts'
import { Forwarder } from '../../../src/upstream/forward.ts'
import { Upstreams } from '../../../src/upstream/target/upstreams.ts'
import { createTestExchange, RecordingClient } from '../../support/gateway/test-exchange.ts'
import { testConfig, waitUntil } from '../../support/gateway/test-gateway.ts'
import { SimulatedClock } from '../../support/simulated-clock.ts'

const idleMs = 1_000
const totalMs = 600_000

const toChunk = (fields: object) => `data: ${JSON.stringify({ id: 'c', created: 1, model: 'm', ...fields })}\n\n`
const word = toChunk({ choices: [{ index: 0, delta: { content: 'word' }, finish_reason: null }] })
const role = toChunk({ choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] })
const lastChunk = toChunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
const errorChunk = toChunk({ error: { message: 'no', code: 500 } })

/** Takes nothing while `isReading` is false. */
class SlowClient extends RecordingClient {
  isReading = true
  #onDrain: (() => void) | null = null

  override write(frames: string): boolean {
    super.write(frames)
    return this.isReading
  }

  override onDrain(listener?: () => void): void {
    this.#onDrain = listener ?? null
  }

  drain(): void {
    this.isReading = true
    this.#onDrain?.()
  }
}

interface Running {
  readonly client: SlowClient
  readonly upstream: ServerResponse
  readonly ended: Promise<CallResult | Error>
  /** Writes, and waits until the client has it. */
  send(text: string): Promise<void>
  /** Lets time pass for the deadlines, in steps as short as their own, unless the call ends. */
  pass(ms: number): Promise<void>
  /** Moves the clock at once, as after a pause of the machine. */
  jump(ms: number): void
  shutDown(): void
  /** How the calls so far count for the target: failures in a row, or null where it was not called. */
  isResting(): boolean
  readonly outcomes: readonly string[]
}

interface CallOptions {
  readonly stream?: boolean
  /** Settings of the upstream. */
  readonly upstream?: object
}

async function startCall(t: Test, { stream = true, upstream: settings = {} }: CallOptions = {}): Promise<Running> {
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    server.emit('answering', response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const config = testConfig(t, {
    upstreams: { called: { baseUrl, restAfterFailures: 1, ...settings } },
    timeouts: { idleMs, totalMs, firstByteMs: 5_000, connectMs: 5_000, heartbeatAfterMs: 500_000, heartbeatEveryMs: 500_000 },
  })
  const upstreams = new Upstreams(config, null, () => 0)
  const clock = new SimulatedClock()
  const outcomes: string[] = []
  const forwarder = new Forwarder({ config, upstreams, clock, onAttempt: (_, outcome) => void outcomes.push(outcome) })
  t.teardown(async () => {
    forwarder.close()
    await upstreams.close()
    server.closeAllConnections()
    server.close()
  })
  const candidate: Candidate = {
    name: 'called/m',
    upstream: 'called',
    model: 'm',
    path: '/chat/completions',
    body: () => ({ messages: [] }),
  }
  const route: Route = { candidates: [candidate], productId: 'svc-2.1', stream, includeUsage: true, inputEstimate: 7 }
  const client = new SlowClient()
  const answering = once(server, 'answering')
  const ended = forwarder
    .call(Object.assign(createTestExchange(), { route }), {
      client,
      headers: () => ({}),
      onUpstreamHeaders: () => undefined,
      onEvent: null,
    })
    .catch((error: Error) => error)
  const [upstream] = (await answering) as [ServerResponse]
  return {
    client,
    upstream,
    ended,
    async send(text) {
      const { length } = client.body
      upstream.write(text)
      if (stream) await waitUntil(() => client.body.length > length, 'the client to receive it')
    },
    pass: (ms) => clock.run(ms),
    jump: clock.skip,
    shutDown: () => forwarder.abortAll(new Error('the service restarts')),
    isResting: () => !upstreams.getHealth('called/m').breaker.wouldAllow(clock.monotonicMs()),
    outcomes,
  }
}

/** What the outcome of a call was, in a line. */
function describe(ended: CallResult | Error): string {
  if (ended instanceof ClientDisconnected) return `abandoned ${ended.usage.outputTokens}`
  if (ended instanceof UpstreamFailure) return `failed ${JSON.stringify(ended.facts)}`
  if (ended instanceof Error) return `failed ${ended.message}`
  const frames = ended.final.kind === 'trailer' ? ended.final.frames : ''
  return `${ended.isAbandoned === true ? 'abandoned' : 'charged'} ${ended.usage.outputTokens}${frames.endsWith('[DONE]\n\n') ? ' with a trailer' : ''}`
}

const isCutOff = ({ client }: Running): boolean => client.body.includes('"finish_reason":"length"')

t.test('announces the end of a stream after its last frames', async (t) => {
  const call = await startCall(t)
  await call.send(word)
  t.same(call.client.calls, ['open', 'write'])
  call.upstream.write(`${lastChunk}data: [DONE]\n\n`)
  await call.ended
  t.same(call.client.calls, ['open', 'write', 'write', 'expectEnd'])
})

t.test('ends an answer as cut off at the total time, and charges it', async (t) => {
  const call = await startCall(t)
  await call.send(word.repeat(3))
  const closed = once(call.upstream, 'close')
  await endByTime(call)
  t.equal(describe(await call.ended), 'charged 3 with a trailer')
  t.equal(isCutOff(call), true)
  t.equal(call.isResting(), false, 'nothing counts against the target')
  t.same(call.outcomes, ['total_time'])
  await closed
})

t.test('ends an answer as cut off at the total time also for a client that takes nothing', async (t) => {
  const call = await startCall(t)
  await call.send(word)
  call.client.isReading = false
  await call.send(word)
  await call.pass(idleMs + 200)
  await endByTime(call)
  t.equal(describe(await call.ended), 'charged 2 with a trailer')
  t.equal(isCutOff(call), true)
  t.equal(call.isResting(), false)
})

/** What an upstream sends while it thinks, by its API. */
const signsOfLife: readonly (readonly [name: string, upstream: object, sign: string])[] = [
  ['a comment', {}, ': OPENROUTER PROCESSING\n\n'],
  ['an empty line', {}, '\n'],
  ['an event without choices', {}, toChunk({ object: 'progress' })],
  ['a chunk without output', {}, role],
  ['a piece of an event', {}, ' '],
  ['a ping', { kind: 'anthropic', apiKey: 'sk-key-of-test' }, 'event: ping\ndata: {"type": "ping"}\n\n'],
  [
    'an event of progress',
    { responses: true },
    'event: response.in_progress\ndata: {"type":"response.in_progress","response":{"id":"r","status":"in_progress"}}\n\n',
  ],
]

t.test('keeps a call whose upstream shows that it lives, up to the total time', async (t) => {
  for (const [name, upstream, sign] of signsOfLife) {
    const call = await startCall(t, { upstream })
    const write = async (pieces: number): Promise<void> => {
      for (let i = 0; i < pieces; i++) {
        call.upstream.write(sign)
        await call.pass(500)
      }
    }
    await write(6)
    t.same(call.outcomes, [], `${name}: three times as long as a silence may be`)
    await endByTime(call)
    t.match(
      describe(await call.ended),
      /^failed \{"kind":"timeout","phase":"total"/,
      `${name}: nothing was produced, so it is refunded`,
    )
    t.same(call.outcomes, ['timeout'])
  }
  const silent = await startCall(t)
  silent.upstream.write(': one comment\n\n')
  await silent.pass(idleMs + 300)
  t.equal(describe(await silent.ended), 'failed {"kind":"timeout","phase":"idle"}', 'and none without such a sign')
})

t.test('completes an answer whose upstream sends comments after its last chunk', async (t) => {
  const call = await startCall(t)
  await call.send(word + lastChunk)
  for (let passed = 0; passed <= idleMs; passed += 500) {
    call.upstream.write(': keep-alive\n\n')
    await call.pass(500)
  }
  t.equal(describe(await call.ended), 'charged 1 with a trailer')
})

t.test('gives an upstream its own times', async (t) => {
  const patient = await startCall(t, { upstream: { idleMs: idleMs * 3, firstByteMs: 10_000 } })
  await patient.send(word)
  await patient.pass(idleMs * 2)
  t.same(patient.outcomes, [])
  await patient.pass(idleMs + 300)
  t.equal(describe(await patient.ended), 'failed {"kind":"timeout","phase":"idle"}')

  // The head has come at once, as from many servers.
  const late = await startCall(t, { upstream: { firstByteMs: 8_000 } })
  await late.pass(7_000)
  t.same(late.outcomes, [], 'longer than all other upstreams')
  await late.pass(1_300)
  t.equal(describe(await late.ended), 'failed {"kind":"timeout","phase":"first_byte"}')

  const hasty = await startCall(t, { upstream: { firstByteMs: 500 } })
  await hasty.pass(1_300)
  t.equal(describe(await hasty.ended), 'failed {"kind":"timeout","phase":"first_byte"}')
})

t.test('refunds at the total time where the upstream produced no output for the idle time', async (t) => {
  const call = await startCall(t)
  await call.send(word)
  // Events without output keep the stream from being idle.
  for (let passed = 0; passed <= idleMs; passed += 500) {
    call.upstream.write(toChunk({ choices: [], note: passed }))
    await call.pass(500)
  }
  await endByTime(call)
  t.equal(describe(await call.ended), 'failed {"kind":"timeout","phase":"total"}')
  t.equal(isCutOff(call), false)
  t.equal(call.isResting(), true, 'it counts against the target')
})

t.test('refunds at the total time what was not forwarded, and counts it only for a silent upstream', async (t) => {
  const whole = await startCall(t, { stream: false })
  await whole.send(word)
  await whole.pass(200)
  await endByTime(whole)
  t.equal(describe(await whole.ended), 'failed {"kind":"timeout","phase":"total","isOwnLimit":true}')
  t.equal(whole.isResting(), false)
  const empty = await startCall(t)
  for (let passed = 0; passed <= idleMs; passed += 500) {
    empty.upstream.write(role)
    await empty.pass(500)
  }
  await endByTime(empty)
  t.equal(describe(await empty.ended), 'failed {"kind":"timeout","phase":"total"}')
  t.equal(empty.isResting(), true)
})

/** One check after the total time, because a whole wait would end at the idle time. */
async function endByTime(call: Running): Promise<void> {
  call.jump(totalMs)
  await call.pass(100)
}

t.test('completes an answer at the total time or at a reset if only [DONE] is missing', async (t) => {
  for (const end of [endByTime, (call: Running) => void call.upstream.socket?.resetAndDestroy()]) {
    const call = await startCall(t)
    await call.send(word + lastChunk)
    await end(call)
    t.equal(describe(await call.ended), 'charged 1 with a trailer')
    t.match(call.client.body, '"finish_reason":"stop"')
    t.same(call.outcomes, ['ok'])
  }
})

/** Ways in which an upstream ends an answer. */
const endings: readonly (readonly [name: string, end: (response: ServerResponse) => void, facts: RegExp])[] = [
  ['a reset', ({ socket }) => void socket?.resetAndDestroy(), /"kind":"network"/],
  ['an end without a finish reason', (response) => void response.end(), /"no_finish"/],
  ['an end within an event', (response) => void response.end('data: {"choices":[{"ind'), /"no_finish"/],
  ['a closed connection', (response) => void response.destroy(), /"kind":"network"/],
  ['an error event', (response) => void response.end(errorChunk), /"error_object"/],
]

for (const [name, end, facts] of endings) {
  t.test(`${name} after the client took nothing for a while is charged, and cut off`, async (t) => {
    const call = await startCall(t)
    await call.send(word.repeat(4))
    call.client.isReading = false
    await call.send(word)
    await call.pass(2_000)
    // The upstream gives up while nothing is read of it.
    end(call.upstream)
    call.client.drain()
    t.equal(describe(await call.ended), 'abandoned 5 with a trailer')
    t.equal(isCutOff(call), true)
    t.equal(call.isResting(), false)
    t.not(call.outcomes.join(), 'ok')
  })

  t.test(`${name} for a client that reads is refunded, and counts against the target`, async (t) => {
    const call = await startCall(t)
    await call.send(word)
    call.client.isReading = false
    await call.send(word)
    // A pause of the machine, however long, makes no client slow.
    call.jump(60_000)
    call.client.drain()
    await call.pass(200)
    end(call.upstream)
    t.match(describe(await call.ended), new RegExp(`^failed .*${facts.source}`))
    t.equal(isCutOff(call), false)
    t.equal(call.isResting(), true)
  })
}

t.test('refunds an invalid event also for a slow client, which cannot have caused it', async (t) => {
  const call = await startCall(t)
  await call.send(word)
  call.client.isReading = false
  await call.send(word)
  await call.pass(1_000)
  call.upstream.write('data: {"choices":[{"ind\n\n')
  call.client.drain()
  t.match(describe(await call.ended), /^failed .*"not_json"/)
})

t.test('charges at a shutdown only a client that is slow', async (t) => {
  for (const isSlow of [true, false]) {
    const call = await startCall(t)
    await call.send(word)
    call.client.isReading = !isSlow
    await call.send(word)
    await call.pass(500)
    call.shutDown()
    t.equal(describe(await call.ended), isSlow ? 'abandoned 2 with a trailer' : 'failed the service restarts')
    t.equal(isCutOff(call), isSlow)
    t.equal(call.isResting(), false)
  }
})

t.test('does not take a pause of the machine for the silence of the upstream', async (t) => {
  const call = await startCall(t)
  await call.send(word)
  call.jump(idleMs * 20)
  await call.pass(idleMs - 300)
  await call.send(word + lastChunk)
  call.upstream.end('data: [DONE]\n\n')
  t.equal(describe(await call.ended), 'charged 2 with a trailer')
})
