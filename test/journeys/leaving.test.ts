/** Hang up and we hang up: the upstream is closed at once, and what was produced is what is charged. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startDemoUpstream } from '../../src/demo/upstream.ts'
import { startGateway, until } from '../support/gateway.ts'

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
  // Client, gateway and upstream share one process and its machine here; a few may be seen late by it.
  const seen = late.toSorted((a, b) => a - b)
  t.ok(
    (seen[Math.floor(seen.length * 0.9)] ?? Infinity) <= 250,
    `most upstream calls were closed within ${seen[Math.floor(seen.length * 0.9)]} ms`,
  )
  t.ok((seen.at(-1) ?? Infinity) <= 1_000, `and the last after ${seen.at(-1)} ms`)
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

t.test('a client that leaves a whole answer that is being made', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
  g.demo.script(() => ({ headMs: 5_000 }))
  const gone = new AbortController()
  const next = g.demo.next()
  const asked = g.chat(token, {}, { signal: gone.signal }).catch(() => undefined)
  const call = await next
  const at = Date.now()
  gone.abort()
  await asked
  await call.ended
  t.ok((call.abortedAt ?? Infinity) - at <= 250)
  await g.settled()
  t.match(await g.turns(), [{ state: 'settled', outputTokens: 0, estimated: true }])
  await until(() => g.log.some((line) => line.includes('"outcome":"aborted"')), 'the log to tell')
})

t.test('a client that takes nothing holds the upstream back, and is gone in the end', async (t) => {
  const g = await startGateway(t, { timeouts: { slowReaderMs: 500 } })
  const { token } = await g.member()
  g.demo.script(() => ({ tokens: 100, hugeBytes: 30_000_000 }))
  const response = await g.chat(token, { stream: true })
  const reader = response.body?.getReader()
  await reader?.read()
  await until(() => g.services.limits.running.size === 0, 'the slow reader to be given up', 10_000)
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
  const g = await startGateway(t, { timeouts: { firstByteMs: 3_000, connectMs: 3_000, idleMs: 3_000, totalMs: 3_000 } })
  const { token } = await g.member()
  g.demo.script(() => ({ tokens: 100, hugeBytes: 30_000_000 }))
  const response = await g.chat(token, { stream: true })
  const reader = response.body?.getReader()
  await reader?.read()
  await until(() => g.services.limits.running.size === 0, 'the slow reader to be given up', 10_000)
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
    upstreams: { main: { baseUrl: upstream.url, connections: 1 } },
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
  await until(() => g.gateway.forwarder.running === 2, 'the second turn to wait')
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
