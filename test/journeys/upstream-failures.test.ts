/** The error map: whatever the upstream does, streamed or not, the member gets one code, one status, and the turn back. */
import t from 'tap'
import type { Script } from '../../src/upstream/demo/script.ts'
import type { Code } from '../../src/errors.ts'
import { catalogue } from '../../src/errors.ts'
import { startGateway } from '../support/gateway.ts'

interface Told {
  readonly code: Code
  readonly stage: string
  readonly message: string
  readonly messageZh: string
  readonly error: { readonly code: string; readonly type: string }
  readonly debug: { readonly quotaRefunded?: boolean; readonly upstreamStatus?: number }
}

const page = '<!DOCTYPE html><html><body>secret words</body></html>'
const said = (message: string, code?: string) => ({ error: { message, code } })
const html = { 'content-type': 'text/html' }

/** What the upstream does, the code it becomes, and the raw status that is told. */
const map: readonly (readonly [Script, Code, number])[] = [
  [{ status: 307, headers: { location: 'http://127.0.0.1:1/' } }, 'upstream_not_configured', 307],
  [{ status: 400, body: said('secret words: prompt is too long') }, 'context_length_exceeded', 400],
  [{ status: 400, body: said('secret words', 'content_filter') }, 'content_filter', 400],
  [{ status: 400, body: said('Model Not Exist, secret words') }, 'upstream_model_unavailable', 400],
  [{ status: 400, body: page, headers: html }, 'upstream_not_configured', 400],
  [{ status: 401, body: said('secret words') }, 'upstream_not_configured', 401],
  [{ status: 402, body: said('secret words') }, 'upstream_not_configured', 402],
  [{ status: 403, body: said('secret words') }, 'upstream_not_configured', 403],
  [{ status: 404, body: said('secret words', 'model_not_found') }, 'upstream_model_unavailable', 404],
  [{ status: 404, body: 'secret words' }, 'upstream_not_configured', 404],
  [{ status: 408, body: '' }, 'upstream_error', 408],
  [{ status: 413, body: page, headers: html }, 'context_length_exceeded', 413],
  [{ status: 429, body: said('secret words') }, 'upstream_rate_limited', 429],
  [{ status: 429, body: said('secret words', 'insufficient_quota') }, 'upstream_not_configured', 429],
  [{ status: 500, body: 'secret words' }, 'upstream_error', 500],
  [{ status: 502, body: page, headers: html }, 'upstream_error', 502],
  [{ status: 503, body: said('secret words') }, 'upstream_error', 503],
  [{ status: 504, body: page, headers: html }, 'upstream_error', 504],
  [{ status: 529, body: said('secret words') }, 'upstream_error', 529],
  [{ html: true }, 'upstream_error', 200],
  [{ empty: true }, 'upstream_error', 200],
  [{ finish: null }, 'upstream_error', 200],
  [{ finish: 'error' }, 'upstream_error', 200],
  [{ finish: 'insufficient_system_resource' }, 'upstream_error', 200],
  [{ error: { at: 'first', value: { message: 'secret words' } } }, 'upstream_error', 200],
  [{ error: { at: 'first', value: { message: 'secret words', code: 401 } } }, 'upstream_not_configured', 401],
  [{ error: { at: 'last', value: { message: 'secret words', code: '429' } } }, 'upstream_rate_limited', 429],
  [{ error: { at: 'choice', value: { message: 'secret words', code: 502 } } }, 'upstream_error', 502],
  [{ error: { at: 'whole', value: { message: 'secret words', type: 'overloaded_error' } } }, 'upstream_error', 200],
]

t.test('every failure of the upstream is told with its own code, refunded, and never as a matter of signing in', async (t) => {
  let gateway = await startGateway(t)
  for (const [nth, [script, code, upstreamStatus]] of map.entries()) {
    // Before the breaker has seen enough to open: it must not decide a row.
    if (nth > 0 && nth % 4 === 0) gateway = await startGateway(t)
    const { member, chat, demo, turns } = gateway
    const { id, token } = await member('max')
    demo.script(() => script)
    for (const stream of [false, true]) {
      const name = `${JSON.stringify(script)}${stream ? ', streamed' : ''}`
      const response = await chat(token, { stream })
      const text = await response.text()
      const inStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
      const told = JSON.parse(inStream ? (/^data: (\{"ok".*)$/m.exec(text)?.[1] ?? '{}') : text) as Told
      t.equal(told.code, code, name)
      t.equal(told.error?.code, code)
      t.equal(told.error?.type, catalogue[code].type)
      t.equal(told.stage, catalogue[code].stage)
      t.equal(told.messageZh, catalogue[code].zh)
      t.equal(told.debug?.upstreamStatus, upstreamStatus, name)
      t.equal(told.debug?.quotaRefunded, true, name)
      t.notMatch(text, 'secret words', `${name}: the upstream's words stay here`)
      if (inStream) t.ok(stream && text.endsWith('data: [DONE]\n\n'), name)
      else {
        t.equal(response.status, catalogue[code].status, name)
        t.equal(response.headers.get('x-svc-error-code'), code)
        t.equal(response.headers.get('x-svc-error-stage'), catalogue[code].stage)
        if ([429, 503].includes(response.status)) t.match(response.headers.get('retry-after'), /^\d+$/, name)
      }
    }
    t.same(
      (await turns(id)).map(({ state }) => state),
      ['refunded', 'refunded'],
    )
  }
})

t.test('a plain validation is passed on in the upstream\u2019s words, without its model, address or key', async (t) => {
  const { member, chat, demo } = await startGateway(t)
  const { token } = await member('max')
  demo.script((call) => {
    const { model } = JSON.parse(call.rawBody) as { model: string }
    const message = `'temperature' is not supported with ${model} at http://127.0.0.1:${demo.port}, key sk-abcdefgh12345678`
    return { status: 400, body: { error: { message, param: 'temperature' } } }
  })
  const told = (await (await chat(token)).json()) as Told & { readonly error: { readonly param: string } }
  t.equal(told.code, 'invalid_request')
  t.equal(told.error.param, 'temperature')
  t.match(told.message, /^The request is not valid: 'temperature' is not supported with … at …,? key …$/)
  t.match(told.debug, { quotaRefunded: true, upstreamStatus: 400 })
})

t.test('an upstream that breaks off at any byte never looks like an answer, and is refunded', async (t) => {
  const wholeLength = 1_800
  for (let from = 0; from < wholeLength; from += 400) {
    // Few breaks each, or the breaker would open.
    const { member, chat, demo, turns } = await startGateway(t)
    const { id, token } = await member('max')
    for (let afterBytes = from; afterBytes < from + 400; afterBytes += 67) {
      demo.script(() => ({ text: 'One two three four five.', reset: { afterBytes } }))
      const response = await chat(token, { stream: true })
      const text = await response.text()
      t.match(text, '"code":"upstream_error"', `at byte ${afterBytes}`)
      t.match(text, '"quotaRefunded":true')
      t.notMatch(text, '"finish_reason":"stop"', `at byte ${afterBytes}`)
      if (response.status === 200) t.ok(text.endsWith('data: [DONE]\n\n'), `at byte ${afterBytes}`)
      else t.equal(response.status, 502)
    }
    t.ok((await turns(id)).every(({ state }) => state === 'refunded'))
  }
})
