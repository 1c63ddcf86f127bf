/** The call to an upstream, with plugins that look on: what they see, and what happens when they are slow or broken. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import base from '../../gateway.config.ts'
import { GatewayError } from '../../src/errors.ts'
import { definePlugin } from '../../src/exchange/plugin.ts'
import type { AnyPlugin } from '../../src/exchange/plugin.ts'
import { envelopeOf } from '../support/envelope.ts'
import { atOnceMs, startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'

const shipped = base.plugins as AnyPlugin[]
const withPlugin = (t: Parameters<typeof startGateway>[0], plugin: AnyPlugin): Promise<TestGateway> =>
  startGateway(t, { plugins: [...shipped, plugin] })

t.test('a plugin that takes its time over the head delays the answer and loses none of it', async (t) => {
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
  const { token } = await g.member()
  const plain = await startGateway(t)
  const other = await plain.member()
  for (const stream of [true, false]) {
    const response = await g.chat(token, { stream })
    t.equal(response.headers.get('x-looked'), 'yes')
    const text = await response.text()
    t.equal(text.length, (await (await plain.chat(other.token, { stream })).text()).length, 'byte for byte as long as without it')
  }
  t.same(seen, [
    { status: 200, stream: true },
    { status: 200, stream: false },
  ])
})

t.test('a plugin that refuses at the head is a real status, however late it says so', async (t) => {
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
    const { token } = await g.member()
    for (const stream of [true, false]) {
      const envelope = await envelopeOf(
        t,
        await g.chat(token, { stream }),
        { status: 400, code: 'content_filter' },
        `${late ? 'late' : 'at once'}, ${stream ? 'streamed' : 'whole'}`,
      )
      t.equal(envelope.debug.quotaRefunded, true)
    }
    t.match(await g.turns(), [{ state: 'refunded' }, { state: 'refunded' }])
  }
})

t.test('a header that no answer can carry fails that turn alone, whenever it would be sent', async (t) => {
  const spoil = (x: { readonly headers: Record<string, string> }): void => void (x.headers['x-plan'] = '专业版')
  const early = definePlugin({ name: 'spoiler', on: 'turn', onRequest: spoil })
  const late = definePlugin({ name: 'spoiler', on: 'turn', onResponse: spoil })
  const cases: readonly [string, AnyPlugin, { readonly stream: boolean; readonly ttftMs: number }][] = [
    ['with the first words', early, { stream: true, ttftMs: 0 }],
    ['to keep it', early, { stream: true, ttftMs: 600 }],
    ['after the look at the head', late, { stream: true, ttftMs: 0 }],
    ['with all of it', early, { stream: false, ttftMs: 0 }],
    ['with all of it, after a look at its head', late, { stream: false, ttftMs: 0 }],
  ]
  for (const [when, plugin, { stream, ttftMs }] of cases) {
    const g = await startGateway(t, {
      plugins: [...shipped, plugin],
      timeouts: { heartbeatAfterMs: 100, heartbeatEveryMs: 100 },
    })
    const { token } = await g.member()
    g.demo.script(() => ({ text: 'all is well', ttftMs }))
    const response = await g.chat(token, { stream }, { signal: AbortSignal.timeout(5_000) })
    const { debug } = await envelopeOf(t, response, { status: 500, code: 'internal_error' }, when)
    t.equal(debug.quotaRefunded, true, when)
    t.match(await g.turns(), [{ state: 'refunded', code: 'internal_error' }], when)
  }
})

t.test('a plugin hears each event; one with a bug ends the stream as an internal error', async (t) => {
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
  const { token } = await g.member()
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
  const [turn] = await g.turns()
  t.match(turn, { state: 'refunded', code: 'internal_error' })
  await g.demo.calls.at(-1)?.ended
  t.equal(g.demo.stats().open, 0, 'and the upstream is hung up on')
})

t.test('connections to the upstream are kept, and one that broke is not used again', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
  for (let i = 0; i < 10; i++) await (await g.chat(token, { stream: i % 2 === 0 })).text()
  t.equal(g.demo.stats().sockets, 1)
  g.demo.script(() => ({ cut: { afterEvents: 2 } }))
  await (await g.chat(token, { stream: true })).text()
  g.demo.script()
  for (let i = 0; i < 3; i++) t.match(await (await g.chat(token, { stream: true })).text(), /"finish_reason":"stop"/)
})

t.test('an upstream that has said [DONE] and does not close costs the member nothing', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
  g.demo.script(() => ({ tokens: 2, done: true, hang: { afterEvents: 6 } }))
  const from = performance.now()
  const text = await (await g.chat(token, { stream: true })).text()
  t.match(text, /\[DONE\]\n\n$/)
  t.notMatch(text, /"ok":false/)
  t.ok(performance.now() - from < atOnceMs)
})

t.test('an upstream that falls silent at the end of its answer has answered', async (t) => {
  const g = await startGateway(t, { timeouts: { idleMs: 400 } })
  const { token } = await g.member()
  g.demo.script(() => ({ tokens: 2, hang: { afterEvents: 5 } }))
  for (const stream of [true, false]) {
    const text = await (await g.chat(token, { stream })).text()
    t.match(text, stream ? /"finish_reason":"stop".*\[DONE\]\n\n$/s : /"finish_reason":"stop"/)
    t.notMatch(text, /"ok":false/)
    await g.demo.calls.at(-1)?.ended
  }
  t.equal(g.demo.stats().open, 0, 'and is hung up on')
  t.match(await g.turns(), [{ state: 'settled' }, { state: 'settled' }])
  g.demo.script(() => ({ tokens: 2, hang: { afterEvents: 2 } }))
  t.match(await (await g.chat(token, { stream: true })).text(), /"ok":false/, 'before its end it has not')
})

t.test('the prompt’s cap goes up, whatever the client called it', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
  await (await g.chat(token, { max_completion_tokens: 7 })).text()
  const sent = JSON.parse(g.demo.calls.at(-1)?.rawBody ?? '{}') as Record<string, unknown>
  t.equal(sent['max_tokens'], 7)
  t.notOk('max_completion_tokens' in sent)
})

const sentTo = (g: TestGateway) => g.demo.calls.map(({ rawBody }) => JSON.parse(rawBody) as Record<string, unknown>)

t.test('a whole answer is asked for as a stream and comes as one document', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
  g.demo.script(() => ({ text: 'Hello there, 额度 🎉' }))
  const body = (await (await g.chat(token, { n: 2 })).json()) as Record<string, unknown>
  t.match(body, {
    object: 'chat.completion',
    model: 'svc-2.1',
    choices: [
      { index: 0, message: { role: 'assistant', content: 'Hello there, 额度 🎉', refusal: null }, finish_reason: 'stop' },
      { index: 1, message: { content: 'Hello there, 额度 🎉' }, finish_reason: 'stop' },
    ],
  })
  t.match(sentTo(g), [{ stream: true, stream_options: { include_usage: true } }])
  const [turn] = await g.turns()
  t.match(body['usage'], { prompt_tokens: turn?.inputTokens, completion_tokens: turn?.outputTokens })
  t.equal(turn?.estimated, false)
})

t.test('an upstream that fails in the midst of a whole answer fails it, early and refunded', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
  g.demo.script(() => ({ error: { at: 3 }, tokens: 50 }))
  t.equal((await g.chat(token)).status, 502)
  t.match(await g.turns(), [{ state: 'refunded' }])
})

t.test('a field that asks for a stream and is refused is left out, once found out for every turn', async (t) => {
  const refuse = (message: string, param: string) => ({
    status: 400,
    body: { error: { message, type: 'invalid_request_error', param } },
  })
  const g = await startGateway(t)
  const { token } = await g.member()
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
  t.equal(g.demo.calls.length, 4, 'known from then on')
  t.match(streamed.headers.get('content-type'), /event-stream/)
  t.match(
    text,
    /"content":"Hello".*"finish_reason":"stop".*"prompt_tokens".*\[DONE\]\n\n$/s,
    'in one piece, for who awaits a stream',
  )
  t.match(await g.turns(), [
    { state: 'settled', estimated: false },
    { state: 'settled', estimated: false },
  ])
})

t.test('an upstream that is not to be asked for streams is not', async (t) => {
  const g = await startGateway(t, { upstreams: { main: { baseUrl: 'demo', streams: false } } })
  const { token } = await g.member()
  for (const stream of [false, true]) await (await g.chat(token, { stream })).text()
  t.ok(sentTo(g).every((sent) => sent['stream'] === undefined && sent['stream_options'] === undefined))
  t.match(await g.turns(), [{ state: 'settled' }, { state: 'settled' }])
})

t.test('events under the wrong content type are events, and a document under theirs is one', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
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

t.test('a coding that changes nothing is none, however it is written', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
  for (const coding of ['identity', 'Identity', 'none', '']) {
    g.demo.script(() => ({ headers: { 'content-encoding': coding }, text: 'all is well' }))
    for (const stream of [false, true]) {
      const response = await g.chat(token, { stream })
      t.match([response.status, await response.text()], [200, /well/], `'${coding}', ${stream ? 'streamed' : 'whole'}`)
    }
  }
})

t.test('a report that contradicts the answer is counted', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
  g.demo.script(() => ({ tokens: 100, usage: { prompt_tokens: 0, completion_tokens: 0 } }))
  for (const stream of [false, true]) await (await g.chat(token, { stream })).text()
  t.match(await g.turns(), [
    { outputTokens: 100, estimated: true, contradicted: { input: 0, output: 0 } },
    { outputTokens: 100, estimated: true, contradicted: { input: 0, output: 0 } },
  ])
  t.match(await g.services.observe.metricsText(), /svc_usage_contradicted_total\{target="main\/demo-flagship"\} 2/)
})
