/** Upstream calls with plugins that observe them. */
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import base from '../../../gateway.config.ts'
import { GatewayError } from '../../../src/errors.ts'
import { definePlugin } from '../../../src/exchange/plugins/plugin.ts'
import type { AnyPlugin } from '../../../src/exchange/plugins/plugin.ts'
import { expectErrorEnvelope } from '../../support/gateway/error-envelope.ts'
import { maxImmediateMs, startGateway, waitUntil } from '../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../support/gateway/test-gateway.ts'
import { pauseThread } from '../../support/processes/pause-thread.ts'

const shipped = base.plugins as AnyPlugin[]

/** Number of calls by their outcome. */
async function listAttempts(g: TestGateway): Promise<Record<string, number>> {
  const found = (await g.scrapeMetrics()).matchAll(/^svc_upstream_attempts_total\{.*outcome="(\w+)"\} (\d+)$/gm)
  return Object.fromEntries(Array.from(found, ([, outcome = '', count]) => [outcome, Number(count)]))
}

const withPlugin = (t: Parameters<typeof startGateway>[0], plugin: AnyPlugin): Promise<TestGateway> =>
  startGateway(t, { plugins: [...shipped, plugin] })

t.test("delays the response while a plugin's asynchronous onResponse hook runs, and loses none of it", async (t) => {
  const seen: unknown[] = []
  const g = await withPlugin(
    t,
    definePlugin({
      name: 'slow-look',
      async onResponse(x, head) {
        seen.push(head)
        await pause(100)
        x.headers['x-looked'] = 'yes'
      },
    }),
  )
  const { token } = await g.createMember()
  const plain = await startGateway(t)
  const other = await plain.createMember()
  for (const stream of [true, false]) {
    const response = await g.chat(token, { stream })
    t.equal(response.headers.get('x-looked'), 'yes')
    const text = await response.text()
    t.equal(
      text.length,
      (await (await plain.chat(other.token, { stream })).text()).length,
      'byte for byte as long as without the hook',
    )
  }
  t.same(seen, [
    { status: 200, stream: true },
    { status: 200, stream: false },
  ])
})

t.test('sends a real error status if a plugin rejects the response at its head, however late', async (t) => {
  for (const late of [false, true]) {
    const g = await withPlugin(
      t,
      definePlugin({
        name: 'refuser',
        async onResponse() {
          if (late) await pause(150)
          throw new GatewayError('content_filter')
        },
      }),
    )
    const { token } = await g.createMember()
    for (const stream of [true, false]) {
      const envelope = await expectErrorEnvelope(
        t,
        await g.chat(token, { stream }),
        { status: 400, code: 'content_filter' },
        `${late ? 'late' : 'at once'}, ${stream ? 'streamed' : 'whole'}`,
      )
      t.equal(envelope.debug.quotaRefunded, true)
    }
    t.match(await g.listTurns(), [{ state: 'refunded' }, { state: 'refunded' }])
    t.same(await listAttempts(g), { aborted: 2 })
  }
})

t.test('fails only the turn with an invalid response header, whenever the header would be sent', async (t) => {
  const spoil = (x: { readonly headers: Record<string, string> }): void => void (x.headers['x-plan'] = '专业版')
  const early = definePlugin({ name: 'spoiler', on: 'turn', onRequest: spoil })
  const late = definePlugin({ name: 'spoiler', on: 'turn', onResponse: spoil })
  const cases: readonly [string, AnyPlugin, { readonly stream: boolean; readonly ttftMs: number }][] = [
    ['with the first frames', early, { stream: true, ttftMs: 0 }],
    ['to keep the stream open', early, { stream: true, ttftMs: 600 }],
    ['after the onResponse hook', late, { stream: true, ttftMs: 0 }],
    ['with the whole response', early, { stream: false, ttftMs: 0 }],
    ['with the whole response, after an onResponse hook', late, { stream: false, ttftMs: 0 }],
  ]
  for (const [when, plugin, { stream, ttftMs }] of cases) {
    const g = await startGateway(t, {
      plugins: [...shipped, plugin],
      // Only the case with a slow first event needs a heartbeat; on a busy machine an early one would send the head of the others too.
      timeouts: { heartbeatAfterMs: ttftMs === 0 ? 10_000 : 100, heartbeatEveryMs: 100 },
    })
    const { token } = await g.createMember()
    g.demo.script(() => ({ text: 'all is well', ttftMs }))
    const response = await g.chat(token, { stream })
    const { debug } = await expectErrorEnvelope(t, response, { status: 500, code: 'internal_error' }, when)
    t.equal(debug.quotaRefunded, true, when)
    t.match(await g.listTurns(), [{ state: 'refunded', code: 'internal_error' }], when)
  }
})

t.test('passes each event to plugins, and ends the stream as an internal error if one throws', async (t) => {
  const heard: string[] = []
  const g = await withPlugin(
    t,
    definePlugin({
      name: 'ear',
      onEvent(_, json) {
        heard.push(json)
        if (json.includes('boom')) throw new TypeError('a bug')
      },
    }),
  )
  const { token } = await g.createMember()
  g.demo.script(() => ({ text: 'all is well' }))
  await (await g.chat(token, { stream: true })).text()
  t.ok(heard.length >= 4)
  t.ok(
    heard.every((json) => (JSON.parse(json) as { model: string }).model === 'svc-2.1'),
    'as the member sees it',
  )
  g.demo.script(() => ({ text: 'one two boom three', betweenMs: 20 }))
  const text = await (await g.chat(token, { stream: true })).text()
  t.match(text, /"content":"one".*"code":"internal_error".*\[DONE\]/s)
  t.notMatch(text, /a bug/)
  const [turn] = await g.listTurns()
  t.match(turn, { state: 'refunded', code: 'internal_error' })
  await g.demo.calls.at(-1)?.ended
  t.equal(g.demo.stats().open, 0, 'and the upstream call is aborted')
})

t.test('keeps connections to the upstream, and does not reuse one that broke', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  for (let i = 0; i < 10; i++) await (await g.chat(token, { stream: i % 2 === 0 })).text()
  t.equal(g.demo.stats().sockets, 1)
  g.demo.script(() => ({ cut: { afterEvents: 2 } }))
  await (await g.chat(token, { stream: true })).text()
  g.demo.script()
  for (let i = 0; i < 3; i++) t.match(await (await g.chat(token, { stream: true })).text(), /"finish_reason":"stop"/)
})

t.test('charges nothing extra for an upstream that sends [DONE] and does not close', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  g.demo.script(() => ({ tokens: 2, done: true, hang: { afterEvents: 6 } }))
  const from = performance.now()
  const text = await (await g.chat(token, { stream: true })).text()
  t.match(text, /\[DONE\]\n\n$/)
  t.notMatch(text, /"ok":false/)
  t.ok(performance.now() - from < maxImmediateMs)
})

t.test('forwards the prompt’s cap, whatever the client called it', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  await (await g.chat(token, { max_completion_tokens: 7 })).text()
  const sent = JSON.parse(g.demo.calls.at(-1)?.rawBody ?? '{}') as Record<string, unknown>
  t.equal(sent['max_tokens'], 7)
  t.notOk('max_completion_tokens' in sent)
})

const sentTo = (g: TestGateway) => g.demo.calls.map(({ rawBody }) => JSON.parse(rawBody) as Record<string, unknown>)

t.test('requests a whole response as a stream and returns one document', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  g.demo.script(() => ({ text: 'Hello there, 额度 🎉' }))
  const body = (await (await g.chat(token)).json()) as Record<string, unknown>
  t.match(body, {
    object: 'chat.completion',
    model: 'svc-2.1',
    choices: [
      { index: 0, message: { role: 'assistant', content: 'Hello there, 额度 🎉', refusal: null }, finish_reason: 'stop' },
    ],
  })
  t.match(sentTo(g), [{ stream: true, stream_options: { include_usage: true } }])
  const [turn] = await g.listTurns()
  t.match(body['usage'], { prompt_tokens: turn?.inputTokens, completion_tokens: turn?.outputTokens })
  t.equal(turn?.estimated, false)
})

t.test('fails a whole response early and refunds it when the upstream fails midway', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  g.demo.script(() => ({ error: { at: 3 }, tokens: 50 }))
  t.equal((await g.chat(token)).status, 502)
  t.match(await g.listTurns(), [{ state: 'refunded' }])
})

t.test('classifies an upstream error by its status, however its body ends', async (t) => {
  const g = await startGateway(t, { timeouts: { idleMs: 1_000 } })
  const { token } = await g.createMember()
  const page = 'x'.repeat(200_000)
  for (const script of [
    { status: 429, hang: 'after_headers' },
    { status: 429, body: page, cut: { afterBytes: 20_000 } },
    { status: 429, body: page, drip: { bytes: 100_000, everyMs: 60_000 } },
  ] as const) {
    g.demo.script(() => script)
    await expectErrorEnvelope(t, await g.chat(token), { status: 429, code: 'upstream_rate_limited' })
  }
})

t.test('leaves out a rejected streaming field, once learned for every turn', async (t) => {
  const refuse = (message: string, param: string) => ({
    status: 400,
    body: { error: { message, type: 'invalid_request_error', param } },
  })
  const g = await startGateway(t)
  const { token } = await g.createMember()
  g.demo.script(({ rawBody }) =>
    rawBody.includes('stream_options')
      ? refuse('Unknown parameter: stream_options', 'stream_options')
      : rawBody.includes('"stream":true')
        ? refuse('Your organization must be verified to stream this model.', 'stream')
        : { text: 'Hello', whole: true },
  )
  t.equal((await g.chat(token)).status, 200)
  t.equal(g.demo.calls.length, 3, 'with both, with one, with none')
  const streamed = await g.chat(token, { stream: true, stream_options: { include_usage: true } })
  const text = await streamed.text()
  t.equal(g.demo.calls.length, 4, 'remembered from then on')
  t.match(streamed.headers.get('content-type'), /event-stream/)
  t.match(
    text,
    /"content":"Hello".*"finish_reason":"stop".*"prompt_tokens".*\[DONE\]\n\n$/s,
    'in one piece, for a client that requested a stream',
  )
  t.match(await g.listTurns(), [
    { state: 'settled', estimated: false },
    { state: 'settled', estimated: false },
  ])
  t.same(await listAttempts(g), { status: 2, ok: 2 }, 'each call is an attempt')
})

t.test('leaves out the key of a prompt cache where the upstream rejects it', async (t) => {
  for (const error of [
    { message: "property 'prompt_cache_key' is unsupported", type: 'invalid_request_error' },
    { message: 'Unknown parameter', type: 'invalid_request_error', param: 'prompt_cache_key' },
  ]) {
    const g = await startGateway(t)
    const { token } = await g.createMember()
    g.demo.script(({ rawBody }) => (rawBody.includes('prompt_cache_key') ? { status: 400, body: { error } } : { text: 'Hello' }))
    for (let i = 0; i < 2; i++) t.equal((await g.chat(token, { prompt_cache_key: 'k' })).status, 200, error.message)
    t.equal(g.demo.calls.length, 3, 'sent once, then left out')
  }
})

t.test('requests a stream as the member asked from an upstream that is configured so', async (t) => {
  const g = await startGateway(t, { upstreams: { main: { baseUrl: 'demo', streams: false } } })
  const { token } = await g.createMember()
  for (const stream of [false, true]) await (await g.chat(token, { stream })).text()
  t.same(
    sentTo(g).map((sent) => sent['stream']),
    [undefined, true],
  )
  g.demo.script(() => ({ text: 'Hello', whole: true }))
  t.match(await (await g.chat(token, { stream: true })).text(), /"content":"Hello".*\[DONE\]/s, 'a document instead of a stream')
  t.match(await g.listTurns(), [{ state: 'settled' }, { state: 'settled' }, { state: 'settled' }])
})

t.test('requests several choices as the member asked', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  for (const stream of [false, true]) await (await g.chat(token, { stream, n: 2 })).text()
  t.same(
    sentTo(g).map((sent) => sent['stream']),
    [undefined, true],
  )
})

t.test('requests a response whole once if its stream ends with nothing, and remembers it', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  const overlong = { status: 400, body: { error: { message: 'too long', code: 'context_length_exceeded' } } }
  g.demo.script(({ rawBody }) => (rawBody.includes('"stream":true') ? { empty: true } : overlong))
  for (const stream of [true, false]) t.match(await (await g.chat(token, { stream })).json(), { code: 'context_length_exceeded' })
  t.same(
    sentTo(g).map((sent) => sent['stream']),
    [true, undefined, undefined],
    'the second whole response is requested whole at once',
  )
  t.match(await g.listTurns(), [{ state: 'refunded' }, { state: 'refunded' }])
  g.demo.script(() => ({ empty: true }))
  t.equal((await g.chat(token, { stream: true })).status, 502, 'only once')
  t.equal(g.demo.calls.length, 5)
})

t.test('requests a response whole once if its stream holds a role and an end only', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  const overlong = { status: 400, body: { error: { message: 'too long', code: 'context_length_exceeded' } } }
  g.demo.script(({ rawBody }) => (rawBody.includes('"stream":true') ? { text: '', usage: null } : overlong))
  const refused = await g.chat(token, { stream: true })
  t.equal(refused.status, 400)
  t.match(await refused.json(), { code: 'context_length_exceeded' })
  t.equal(g.demo.calls.length, 2)
  g.demo.script(({ rawBody }) =>
    rawBody.includes('"stream":true')
      ? { text: '', usage: null }
      : { text: 'Hello', whole: true, usage: { prompt_tokens: 7, completion_tokens: 1 } },
  )
  t.match(await (await g.chat(token, { stream: true })).text(), /"content":"Hello".*"finish_reason":"stop".*\[DONE\]/s)
  t.equal(g.demo.calls.length, 4)
  t.match(await g.listTurns(), [{ state: 'settled', inputTokens: 7, outputTokens: 1 }, { state: 'refunded' }])
})

t.test('passes on an empty stream whose usage is reported', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  g.demo.script(() => ({ text: '', usage: { prompt_tokens: 9, completion_tokens: 0 } }))
  t.match(await (await g.chat(token, { stream: true })).text(), /"role":"assistant".*"finish_reason":"stop".*\[DONE\]/s)
  t.equal(g.demo.calls.length, 1)
  t.match(await g.listTurns(), [{ state: 'settled', inputTokens: 9, outputTokens: 0, estimated: false }])
})

t.test('never charges a stream with no text, no call and no usage', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  g.demo.script(() => ({ text: '', usage: null }))
  t.match(await (await g.chat(token, { stream: true })).text(), /"finish_reason":"stop"/)
  t.match(await g.listTurns(), [{ state: 'settled', credits: 0 }])
})

t.test('charges a prompt without a report by the reports of other turns', async (t) => {
  for (const whole of [false, true]) {
    const g = await startGateway(t)
    const { token } = await g.createMember()
    const chat = async () => {
      const messages = [{ role: 'user', content: 'The harbour was quiet when the ferry left. '.repeat(200) }]
      await (await g.chat(token, { messages, stream: !whole })).text()
      const [turn] = await g.listTurns()
      if (turn === undefined) throw new Error('there is no turn')
      return turn
    }
    g.demo.script(() => ({ text: 'Hello', usage: null }))
    const { inputTokens: estimate } = await chat()
    t.ok(estimate > 1_700 && estimate < 2_300, `${estimate} tokens`)
    const reported = Math.round(estimate * 1.4)
    const usage = { prompt_tokens: reported, completion_tokens: 2 }
    g.demo.script(() => ({ text: 'Hello', usage, ...(whole && { whole }) }))
    t.match(await chat(), { estimated: false, inputTokens: reported })
    g.demo.script(() => ({ text: 'Hello', usage: null }))
    const { estimated, inputTokens, credits, reserved } = await chat()
    t.equal(estimated, true)
    t.ok(inputTokens > estimate * 1.3, `${inputTokens} after a report of ${reported}`)
    t.ok(credits <= reserved, 'never above the hold')
  }
})

t.test('reads events under the wrong content type as events, and a document under theirs as a document', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  g.demo.script(() => ({ text: 'Hello', headers: { 'content-type': 'text/plain' } }))
  t.match(await (await g.chat(token, { stream: true })).text(), /"content":"Hello"/)
  t.match(await (await g.chat(token)).json(), { choices: [{ message: { content: 'Hello' } }] })
  g.demo.script(() => ({
    body: { error: { message: 'slow down', code: 429 } },
    headers: { 'content-type': 'text/event-stream' },
  }))
  t.equal((await g.chat(token, { stream: true })).status, 429)
  g.demo.script(() => ({ html: true, headers: { 'content-type': 'text/event-stream' } }))
  t.equal((await g.chat(token, { stream: true })).status, 502)
})

t.test('accepts a content coding that changes nothing, however it is written', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  for (const coding of ['identity', 'Identity', 'none', '']) {
    g.demo.script(() => ({ headers: { 'content-encoding': coding }, text: 'all is well' }))
    for (const stream of [false, true]) {
      const response = await g.chat(token, { stream })
      t.match([response.status, await response.text()], [200, /well/], `'${coding}', ${stream ? 'streamed' : 'whole'}`)
    }
  }
})

t.test('counts a report that disputes the response', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  g.demo.script(() => ({ tokens: 100, usage: { prompt_tokens: 0, completion_tokens: 0 } }))
  for (const stream of [false, true]) await (await g.chat(token, { stream })).text()
  t.match(await g.listTurns(), [
    { outputTokens: 100, estimated: true, disputed: { input: 0, output: 0 } },
    { outputTokens: 100, estimated: true, disputed: { input: 0, output: 0 } },
  ])
  t.match(await g.services.telemetry.metricsText(), /svc_usage_contradicted_total\{target="main\/demo-flagship"\} 2/)
})

t.test('ends the call to an upstream that ignores the cap, and charges at most the hold', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  g.demo.script(() => ({ tokens: 5_000, ignoreCap: true, usage: null, betweenMs: 1 }))
  const streamed = await (await g.chat(token, { stream: true, max_tokens: 5 })).text()
  t.match(streamed, /"finish_reason":"length".*\[DONE\]\n\n$/s)
  t.ok(streamed.split('" token"').length < 30, 'the member gets little more than the cap')
  t.match(await (await g.chat(token, { max_tokens: 5 })).json(), {
    choices: [{ finish_reason: 'length' }],
    usage: { completion_tokens: 5 },
  })
  await Promise.all(g.demo.calls.map(({ ended }) => ended))
  t.equal(g.demo.stats().open, 0)
  t.ok(
    g.demo.calls.every(({ tokens }) => tokens < 1_000),
    'and the upstream’s work ends',
  )
  // A document cannot be cut off.
  g.demo.script(() => ({ tokens: 5_000, ignoreCap: true, whole: true }))
  await (await g.chat(token, { max_tokens: 5 })).text()
  const turns = await g.listTurns()
  t.equal(turns.length, 3)
  for (const { credits, reserved } of turns) t.ok(credits > 0 && credits <= reserved, `${credits} of ${reserved}`)
  t.match(await g.services.telemetry.metricsText(), /svc_output_cap_ignored_total\{target="main\/demo-flagship"\} 3/)
})

t.test('charges a client that left at most its hold when the upstream ignores the cap', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  g.demo.script(() => ({ tokens: 5_000, ignoreCap: true, whole: true, headMs: 200 }))
  const leaving = new AbortController()
  const left = g.chat(token, { max_tokens: 5 }, { signal: leaving.signal })
  await pause(50)
  leaving.abort()
  await t.rejects(left)
  await waitUntil(async () => (await g.listTurns()).some(({ state }) => state === 'settled'), 'the turn to be settled')
  const [turn] = await g.listTurns()
  t.ok(turn !== undefined && turn.credits > 0 && turn.credits <= turn.reserved, `${turn?.credits} of ${turn?.reserved}`)
})

t.test('completes a response that arrived while the process was paused', async (t) => {
  const upstream = new Worker(new URL('./slow-stream-thread.ts', import.meta.url), { workerData: { pauseMs: 300 } })
  t.teardown(() => upstream.terminate())
  const [port] = (await once(upstream, 'message')) as [number]
  upstream.unref()
  const g = await startGateway(t, {
    upstreams: { main: { baseUrl: `http://127.0.0.1:${port}/v1` } },
    timeouts: { idleMs: 1_000 },
  })
  const { token } = await g.createMember()
  const { body } = await g.chat(token, { stream: true })
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = (await reader?.read())?.value ?? ''
  await pauseThread(2_500)
  for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read()) text += piece.value
  t.match(text, /"content":"two".*\[DONE\]\n\n$/s)
  t.notMatch(text, /"ok":false/)
  t.match(await g.listTurns(), [{ state: 'settled' }])
})
