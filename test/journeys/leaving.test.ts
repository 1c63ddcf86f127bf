/** Hang up and we hang up: the upstream is closed at once, and what was produced is what is charged. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startDemoUpstream } from '../../src/upstream/demo/upstream.ts'
import type { DemoCall } from '../../src/upstream/demo/record.ts'
import { startBalancer } from '../support/balancer.ts'
import { atOnceMs, startGateway, until } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'

t.test('clients that leave at any moment', async (t) => {
  const g = await startGateway(t)
  const { id, token } = await g.member()
  g.demo.script(() => ({ tokens: 2_000, betweenMs: 15, ttftMs: 20 }))
  const storm = 90
  const late: number[] = []
  await Promise.all(
    Array.from({ length: storm }, async (_, i) => {
      // From before the head to well into the stream, evenly, so that a failure can be told by its number.
      const gone = new AbortController()
      const requestId = `leaver-${i}`
      let at = 0
      const leave = (): void => {
        at = Date.now()
        gone.abort()
      }
      if (i % 3 === 0) setTimeout(leave, 5 + i * 4)
      await g
        .chat(token, { stream: true }, { signal: gone.signal, headers: { 'x-svc-request-id': requestId } })
        .then(async (response) => {
          if (i % 3 > 0) setTimeout(leave, i * 2)
          await response.text()
        })
        .catch(() => undefined)
      const call = g.demo.calls.find(({ id }) => id === `mbr_${requestId}`)
      if (call === undefined) return
      await call.ended
      late.push((call.abortedAt ?? Infinity) - at)
    }),
  )
  t.ok(late.length > storm / 2, `${late.length} of them had reached the upstream`)
  // Client, gateway and upstream share one process here, and its machine with others, which make some late; the quickest tell how long it takes.
  const seen = late.toSorted((a, b) => a - b)
  const [quick, last] = [seen[Math.floor(seen.length / 4)] ?? Infinity, seen.at(-1) ?? Infinity]
  t.ok(quick <= 250, `a quarter of the upstream calls was closed within ${quick} ms`)
  t.ok(last <= atOnceMs, `and the last after ${last} ms`)
  await g.settled()
  await until(() => g.demo.stats().open === 0, 'no call to be left open')
  t.equal(g.services.limits.running.size, 0, 'no place is left taken')

  const turns = await g.turns(id)
  let off = 0
  for (const turn of turns) {
    t.equal(turn.state, 'settled')
    const call = g.demo.calls.find(({ id }) => id === turn.requestId)
    // Nothing was produced where the upstream was never asked.
    off = Math.max(off, Math.abs((call?.tokens ?? 0) - turn.outputTokens))
  }
  t.ok(off <= 1, `the ledger and the upstream differ by ${off} tokens at most`)
})

/** The share of a whole answer after which its client leaves. */
const shares = [0.05, 0.5, 0.95]
const tokens = 200
const madeInMs = 1_000

/** The upstream's call of a turn, once it is there. */
async function callOf({ demo }: TestGateway, requestId: string): Promise<DemoCall> {
  const find = () => demo.calls.find(({ id }) => id === `mbr_${requestId}`)
  await until(() => find() !== undefined, 'the call to reach the upstream')
  const call = find()
  if (call === undefined) throw new Error('there is no such call')
  return call
}

t.test('a whole answer left is paid for as far as it was made: an upstream that streams', async (t) => {
  const g = await startGateway(t)
  const { id, token } = await g.member()
  g.demo.script(() => ({ tokens, ttftMs: 20, betweenMs: madeInMs / tokens }))
  for (const known of [false, true]) {
    // Once an answer was seen to grow, no other client's need be waited for.
    if (known) await (await g.chat(token)).text()
    await Promise.all(
      shares.map(async (share) => {
        const gone = new AbortController()
        const requestId = `whole-${known}-${share}`
        const headers = { 'x-svc-request-id': requestId }
        const asked = g.chat(token, {}, { signal: gone.signal, headers }).catch(() => undefined)
        const call = await callOf(g, requestId)
        await until(() => call.tokens >= share * tokens, `${share * 100} % to be made`)
        const made = call.tokens
        gone.abort()
        await asked
        await call.ended
        const turn = async () => (await g.turns(id)).find((turn) => turn.requestId === `mbr_${requestId}`)
        await until(async () => (await turn())?.state !== 'held', 'the turn to end')
        const charged = (await turn())?.outputTokens ?? 0
        // At the end there may be nothing left to hang up on.
        if (share <= 0.5)
          t.ok(call.tokens < tokens, `${known ? 'known' : 'unknown'}, left at ${made}: hung up at ${call.tokens} of ${tokens}`)
        t.ok(charged >= made * 0.9 && charged <= tokens, `${charged} tokens charged of ${made} made`)
      }),
    )
  }
  await until(() => g.log.some((line) => line.includes('"outcome":"aborted"')), 'the log to tell')
})

t.test('behind the balancer that is shipped, who leaves a whole answer is heard leaving', async (t) => {
  const g = await startGateway(t, { listen: { trustedProxies: ['127.0.0.1'] } })
  const balancer = await startBalancer(t, [new URL(g.url).host])
  if (balancer === undefined) return
  const { id, token } = await g.member()
  // Ten seconds of work, of which nothing is written to the client before its end.
  g.demo.script(() => ({ tokens, ttftMs: 20, betweenMs: 50 }))
  const gone = new AbortController()
  const asked = fetch(`${balancer.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'x-svc-request-id': 'balanced' },
    body: JSON.stringify({ model: 'svc-2.1', messages: [{ role: 'user', content: 'Hello!' }] }),
    signal: gone.signal,
  }).catch(() => undefined)
  const call = await callOf(g, 'balanced')
  await until(() => call.tokens > 0, 'some of it to be made')
  gone.abort()
  await asked
  await call.ended
  t.not(call.abortedAt, null, 'the upstream was hung up on')
  await g.settled()
  const [turn] = await g.turns(id)
  t.equal(turn?.state, 'settled')
  t.ok((turn?.outputTokens ?? tokens) < tokens, `${turn?.outputTokens} tokens charged of ${tokens}`)
})

t.test('a whole answer left is paid for as far as it was made: an upstream that shows nothing before its end', async (t) => {
  for (const [name, script] of [
    ['a document where a stream was asked for', { whole: true, betweenMs: madeInMs / tokens }],
    ['a stream that is kept back', { headMs: madeInMs, betweenMs: 0 }],
  ] as const) {
    const g = await startGateway(t)
    const { id, token } = await g.member()
    g.demo.script(() => ({ tokens, ...script }))
    // What it did the first time must not make the second one cheaper.
    for (const round of [1, 2]) {
      await Promise.all(
        shares.map(async (share) => {
          const gone = new AbortController()
          const headers = { 'x-svc-request-id': `${round}-${share}` }
          const asked = g.chat(token, {}, { signal: gone.signal, headers }).catch(() => undefined)
          await callOf(g, `${round}-${share}`)
          await pause(share * madeInMs)
          gone.abort()
          await asked
        }),
      )
      await g.settled()
      const turns = (await g.turns(id)).slice(0, shares.length)
      t.ok(
        turns.every(({ state, outputTokens }) => state === 'settled' && outputTokens === tokens),
        `${name}: all of it is charged, whenever they left`,
      )
      t.ok(
        turns.some(({ code }) => code === 'aborted'),
        'and the turn log tells that nobody heard it',
      )
    }
    t.equal(g.services.limits.running.size, 0, 'no place is left taken')
  }
})

t.test('an upstream that fails a client who has left costs as little as it would have cost one who stayed', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
  g.demo.script(() => ({ headMs: 1_000, status: 500 }))
  const gone = new AbortController()
  const next = g.demo.next()
  const asked = g.chat(token, {}, { signal: gone.signal }).catch(() => undefined)
  await next
  gone.abort()
  await asked
  t.equal(g.gateway.forwarder.running, 1, 'it runs on, and counts as running')
  await g.settled()
  t.match(await g.turns(), [{ state: 'refunded', credits: 0, code: 'upstream_error' }])
})

t.test('a client that takes nothing holds the upstream back, and is gone in the end', async (t) => {
  const g = await startGateway(t, { timeouts: { slowReaderMs: 500 } })
  const { token } = await g.member()
  g.demo.script(() => ({ tokens: 100, hugeBytes: 30_000_000 }))
  const response = await g.chat(token, { stream: true })
  const reader = response.body?.getReader()
  await reader?.read()
  await until(() => g.services.limits.running.size === 0, 'the slow reader to be given up')
  await g.settled()
  t.match(await g.turns(), [{ state: 'settled' }])
  // When it wakes up again it must not wait for what will never come, nor take what it has for the whole.
  const drained = (async () => {
    while ((await reader?.read())?.done === false);
    return 'ended'
  })().catch(() => 'cut off')
  const late = new AbortController()
  t.equal(await Promise.race([drained, pause(5_000, 'still open', { signal: late.signal })]), 'cut off')
  late.abort()
})

t.test('a client that reads slowly until the time is over has had its answer, and pays for it', async (t) => {
  // Enough for all of it to come up on a busy machine; the buffers on the way down have room for less.
  const g = await startGateway(t, { timeouts: { firstByteMs: 12_000, connectMs: 12_000, idleMs: 12_000, totalMs: 12_000 } })
  const { token } = await g.member()
  g.demo.script(() => ({ tokens: 100, hugeBytes: 20_000_000 }))
  const response = await g.chat(token, { stream: true })
  const reader = response.body?.getReader()
  await reader?.read()
  await until(() => g.services.limits.running.size === 0, 'the slow reader to be given up')
  await g.settled()
  const [turn] = await g.turns()
  t.match(turn, { state: 'settled' })
  t.ok((turn?.outputTokens ?? 0) > 0)
  await reader?.cancel().catch(() => undefined)
})

t.test('a client that leaves while its turn still waits for a connection to the upstream has used nothing', async (t) => {
  const upstream = await startDemoUpstream()
  t.teardown(() => upstream.close())
  const g = await startGateway(t, {
    upstreams: { main: { baseUrl: upstream.url, connections: 1, streams: true } },
    products: { 'svc-2.1': { targets: [{ upstream: 'main', model: 'demo-flagship' }] } },
  })
  const first = await g.member()
  upstream.script(() => ({ headMs: 60_000 }))
  const gone = new AbortController()
  const next = upstream.next()
  const asked = g.chat(first.token, {}, { signal: gone.signal }).catch(() => undefined)
  await next

  const second = await g.member()
  const impatient = new AbortController()
  const waiting = g.chat(second.token, {}, { signal: impatient.signal }).catch(() => undefined)
  await until(() => g.services.limits.running.size === 2, 'the second turn to wait')
  impatient.abort()
  await waiting
  await until(async () => (await g.turns(second.id))[0]?.state === 'settled', 'the second turn to end')
  t.match(await g.turns(second.id), [{ state: 'settled', credits: 0, inputTokens: 0, outputTokens: 0 }])
  t.equal(upstream.stats().requests, 1)
  gone.abort()
  await asked
  await g.settled()
})

t.test('a client that leaves while the upstream still explains its refusal has used nothing', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
  g.demo.script(() => ({ status: 429, hang: 'after_headers' }))
  const gone = new AbortController()
  const next = g.demo.next()
  const asked = g.chat(token, {}, { signal: gone.signal }).catch(() => undefined)
  const call = await next
  await pause(100)
  gone.abort()
  await asked
  await call.ended
  await g.settled()
  t.match(await g.turns(), [{ state: 'settled', credits: 0, upstreamStatus: 429 }])
})
