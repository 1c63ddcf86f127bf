/** What a member receives of a stream whose upstream hides something in it. */
import t from 'tap'
import { ClientEvents } from '../../../../src/codecs/chat/client-events.ts'
import { StreamReader } from '../../../../src/upstream/response/stream-reader.ts'
import { parseObject } from '../../../../src/upstream/response/validate-completion.ts'

const allowlist = { productId: 'svc-2.1', extraFields: [] }
const bounds = { inputEstimate: 9, outputCap: 100 }
const upstreamModel = 'vendor/secret'
const end = `{"model":"${upstreamModel}","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`

/** The frames of a stream with these chunks, before `[DONE]`. */
function forward(...chunks: string[]): string {
  const sink = new ClientEvents({
    context: { requestId: 'mbr_1', model: 'p', startedAt: 0 },
    allowlist,
    includeUsage: false,
    onEvent: null,
  })
  const reader = new StreamReader({ bounds, upstreamHost: null, sink })
  return [...chunks, end, '[DONE]'].map((json) => reader.push(Buffer.from(`data: ${json}\n\n`))).join('')
}

const choice = '"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}]'

t.test('forwards nothing that a reader of the JSON does not see', async (t) => {
  for (const [name, json] of [
    ['the model twice', `{"model":"${upstreamModel}",${choice},"model":"${upstreamModel}"}`],
    ['an escaped key after the model', `{"model":"${upstreamModel}",${choice},"mode\\u006c":"${upstreamModel}"}`],
    ['an escaped key before the model', `{"\\u006Dodel":"${upstreamModel}",${choice},"model":"${upstreamModel}"}`],
    ['the choices twice', `{"choices":[{"index":0,"delta":{},"provider":"${upstreamModel}"}],${choice}}`],
    ['the delta twice', `{"choices":[{"index":0,"delta":{"provider":"${upstreamModel}"},"delta":{"content":"b"}}]}`],
    ['the usage twice', `{"usage":{"cost":"${upstreamModel}"},${choice},"usage":null}`],
    ['the content twice', `{"choices":[{"index":0,"delta":{"content":"${upstreamModel}","content":"b"},"finish_reason":null}]}`],
  ] as const) {
    const frames = forward(json, json)
    t.notMatch(frames, upstreamModel, name)
    t.equal(frames.split('"content":"b"').length, 3, `${name}: both chunks have their text`)
  }
})

t.test('forwards no value of another form unexamined', async (t) => {
  for (const [name, json] of [
    ['a list as a choice', `{"choices":[[{"model":"${upstreamModel}","provider":"${upstreamModel}"}],${choice.slice(11)}}`],
    ['a text as a choice', `{"choices":["${upstreamModel}",${choice.slice(11)}}`],
    ['a list as a delta', `{"choices":[{"index":0,"delta":[{"provider":"${upstreamModel}"}]}]}`],
    ['an object as a model', `{"model":{"id":"${upstreamModel}"},${choice}}`],
    ['an object as a model further down', `{"metadata":{"model":{"id":"${upstreamModel}"}},${choice}}`],
  ] as const)
    t.notMatch(forward(json), upstreamModel, name)
})

t.test('refuses events and documents that are nested too deeply', async (t) => {
  const levels = 200_000
  const lists = `${'['.repeat(levels)}${']'.repeat(levels)}`
  const models = `${'{"a":'.repeat(levels)}{"model":"${upstreamModel}"}${'}'.repeat(levels)}`
  for (const deep of [lists, models, '[1,'.repeat(levels)]) {
    t.throws(() => forward(`{"metadata":${deep},${choice}}`), { message: /too_large/ })
    t.throws(() => parseObject(`{"metadata":${deep},${choice}}`, 'host'), { message: /not_json/ })
  }
})
