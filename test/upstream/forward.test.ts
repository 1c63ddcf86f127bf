/** The call to an upstream, with plugins that look on: what they see, and what happens when they are slow or broken. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import base from '../../gateway.config.ts'
import { GatewayError } from '../../src/errors.ts'
import { definePlugin } from '../../src/exchange/plugin.ts'
import type { AnyPlugin } from '../../src/exchange/plugin.ts'
import { envelopeOf } from '../support/envelope.ts'
import { startGateway } from '../support/gateway.ts'
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
  t.ok(performance.now() - from < 3_000)
})

t.test('the prompt’s cap goes up, whatever the client called it', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.member()
  await (await g.chat(token, { max_completion_tokens: 7 })).text()
  const sent = JSON.parse(g.demo.calls.at(-1)?.rawBody ?? '{}') as Record<string, unknown>
  t.equal(sent['max_tokens'], 7)
  t.notOk('max_completion_tokens' in sent)
})
