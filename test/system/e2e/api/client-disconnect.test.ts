/** A client disconnect closes the upstream call at once, and the turn is charged for what was produced. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import type { FakeCall } from '../../../support/upstream/call-log.ts'
import { startLoadBalancer } from '../../../support/servers/load-balancer.ts'
import { hugeAnswerConfig, hugeCap } from '../../../support/gateway/huge-answer.ts'
import { startGateway, waitUntil } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'

t.test('charges what was produced when clients disconnect at any moment', async (t) => {
  const g = await startGateway(t)
  const { id, token } = await g.createMember()
  g.demo.script(() => ({ tokens: 2_000, betweenMs: 15, ttftMs: 20, hang: { afterEvents: 1_000 } }))
  const storm = 90
  let reachedUpstream = 0
  const received = new Map<string, number>()
  await Promise.all(
    Array.from({ length: storm }, async (_, i) => {
      // Spread evenly from before the response head to well into the stream, so that a failure is identified by its number.
      const gone = new AbortController()
      const requestId = `leaver-${i}`
      const leave = (): void => gone.abort()
      if (i % 3 === 0) setTimeout(leave, 5 + i * 4)
      await g
        .chat(token, { stream: true }, { signal: gone.signal, headers: { 'x-svc-request-id': requestId } })
        .then(async (response) => {
          if (i % 3 > 0) setTimeout(leave, i * 2)
          for await (const count of countTokens(response)) received.set(`mbr_${requestId}`, count)
        })
        .catch(() => undefined)
      const call = g.demo.calls.find(({ id }) => id === `mbr_${requestId}`)
      if (call === undefined) return
      reachedUpstream++
      // The upstream never ends a call by itself.
      await call.ended
      t.not(call.abortedAt, null)
    }),
  )
  t.ok(reachedUpstream > storm / 2, `${reachedUpstream} of them had reached the upstream`)
  await g.waitUntilSettled()
  await waitUntil(() => g.demo.stats().open === 0, 'no call to be left open')
  t.equal(g.services.limits.concurrency.size, 0, 'no place is left taken')

  const turns = await g.listTurns(id)
  // A busy machine may have any number of tokens under way, from the upstream to the gateway and from there to the client.
  for (const { state, requestId, outputTokens } of turns) {
    t.equal(state, 'settled')
    // Nothing was produced where the upstream was never called.
    const produced = g.demo.calls.find(({ id }) => id === requestId)?.tokens ?? 0
    const read = received.get(requestId) ?? 0
    t.ok(read <= outputTokens && outputTokens <= produced, `${read} read, ${outputTokens} charged, ${produced} produced`)
  }
})

t.test('charges exactly the tokens that had arrived when their client disconnects', async (t) => {
  const g = await startGateway(t)
  const { id, token } = await g.createMember()
  for (const arrived of [1, 2, 7, 60]) {
    // Nothing is under way when the client leaves; the first event has the role alone.
    g.demo.script(() => ({ tokens: 2_000, betweenMs: 0, hang: { afterEvents: 1 + arrived } }))
    const gone = new AbortController()
    const headers = { 'x-svc-request-id': `quiet-${arrived}` }
    const response = await g.chat(token, { stream: true }, { signal: gone.signal, headers })
    for await (const count of countTokens(response)) if (count === arrived) break
    gone.abort()
    await (
      await findCall(g, `quiet-${arrived}`)
    ).ended
    await g.waitUntilSettled()
    t.match((await g.listTurns(id))[0], { state: 'settled', code: 'aborted', outputTokens: arrived })
  }
})

/** The tokens of a streamed completion that were read so far, whenever some more were. */
async function* countTokens(response: Response): AsyncGenerator<number> {
  let text = ''
  for await (const piece of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    text += piece
    yield text.match(/"content":"[^"]/g)?.length ?? 0
  }
}

const tokens = 200

/** The upstream call of a turn, once it exists. */
async function findCall({ demo }: TestGateway, requestId: string): Promise<FakeCall> {
  const find = () => demo.calls.find(({ id }) => id === `mbr_${requestId}`)
  await waitUntil(() => find() !== undefined, 'the call to reach the upstream')
  const call = find()
  if (call === undefined) throw new Error('there is no such call')
  return call
}

t.test('notices behind the shipped balancer that a client abandons a whole answer', async (t) => {
  const g = await startGateway(t, { listen: { trustedProxies: ['127.0.0.1'] } })
  const balancer = await startLoadBalancer(t, [new URL(g.url).host])
  if (balancer === undefined) return
  const { id, token } = await g.createMember()
  // Ten seconds of work, of which nothing is written to the client before the end.
  g.demo.script(() => ({ tokens, ttftMs: 20, betweenMs: 50 }))
  const gone = new AbortController()
  const asked = fetch(`${balancer.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'x-svc-request-id': 'balanced' },
    body: JSON.stringify({ model: 'svc-2.1', messages: [{ role: 'user', content: 'Hello!' }] }),
    signal: gone.signal,
  }).catch(() => undefined)
  const call = await findCall(g, 'balanced')
  await waitUntil(() => call.tokens > 0, 'some of it to be made')
  gone.abort()
  await asked
  await call.ended
  t.not(call.abortedAt, null, 'the upstream was hung up on')
  await g.waitUntilSettled()
  const [turn] = await g.listTurns(id)
  t.equal(turn?.state, 'settled')
  t.ok((turn?.outputTokens ?? tokens) < tokens, `${turn?.outputTokens} tokens charged of ${tokens}`)
})

t.test('applies backpressure for a client that reads nothing, and closes it in the end', async (t) => {
  const g = await startGateway(t, { ...hugeAnswerConfig, timeouts: { slowReaderMs: 500 } })
  const { token } = await g.createMember()
  g.demo.script(() => ({ tokens: 100, hugeBytes: 30_000_000 }))
  const response = await g.chat(token, { ...hugeCap, stream: true })
  const reader = response.body?.getReader()
  await reader?.read()
  await waitUntil(() => g.services.limits.concurrency.size === 0, 'the slow reader to be given up')
  await g.waitUntilSettled()
  t.match(await g.listTurns(), [{ state: 'settled' }])
  // After it resumes it must not wait for bytes that never come, nor take a partial answer for the whole.
  const drained = (async () => {
    while ((await reader?.read())?.done === false);
    return 'ended'
  })().catch(() => 'cut off')
  const late = new AbortController()
  t.equal(await Promise.race([drained, pause(5_000, 'still open', { signal: late.signal })]), 'cut off')
  late.abort()
})

t.test('charges nothing when a client disconnects while the upstream sends its error body', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  g.demo.script(() => ({ status: 429, hang: 'after_headers' }))
  const gone = new AbortController()
  const next = g.demo.next()
  const asked = g.chat(token, {}, { signal: gone.signal }).catch(() => undefined)
  const call = await next
  await pause(100)
  gone.abort()
  await asked
  await call.ended
  await g.waitUntilSettled()
  t.match(await g.listTurns(), [{ state: 'settled', credits: 0, upstreamStatus: 429 }])
})
