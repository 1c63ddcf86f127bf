/** An upstream of another API may name a finish reason with each piece: each client receives the last one, once, at the end. */
import t from 'tap'
import { ClientEvents } from '../../../../src/codecs/chat/client-events.ts'
import { StreamReader } from '../../../../src/upstream/response/stream-reader.ts'
import { chatContext, decoders, encoders, parseStream, readStream } from './write-answer.ts'
import type { TranslatedApi } from './write-answer.ts'

const allowlist = { productId: 'svc-2.1', extraFields: [] }
const said = ['The answer', ' is', ' 42.']

const gemini = (text: string, finishReason = 'STOP') => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason }],
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
})
const messageDelta = (stop: string) => ({ type: 'message_delta', delta: { stop_reason: stop }, usage: { output_tokens: 5 } })
const messages = (...stops: readonly string[]) => [
  { type: 'message_start', message: { id: 'm', model: 'up', usage: { input_tokens: 10, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  ...said.flatMap((text, at) => [
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
    ...(stops[at] === undefined ? [] : [messageDelta(stops[at])]),
  ]),
  { type: 'message_stop' },
]

function read(api: TranslatedApi, events: readonly object[], client: TranslatedApi | 'chat', outputCap = 1_000) {
  const encoder = client === 'chat' ? undefined : encoders[client]()
  const sink = new ClientEvents({ allowlist, context: chatContext, includeUsage: false, onEvent: null, encoder })
  const reader = new StreamReader({ bounds: { inputEstimate: 10, outputCap }, upstreamHost: 'u', decoder: decoders[api](), sink })
  const pieces = events.map((event) => (reader.isDone ? '' : reader.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`))))
  const frames = pieces.join('') + (reader.isDone ? '' : reader.end())
  return { reader, frames: (encoder?.start() ?? '') + frames + sink.buildTrailer(reader.report ?? {}) }
}

for (const [name, api, events, reason] of [
  ['Gemini', 'gemini', said.map((text) => gemini(text)), 'stop'],
  ['Gemini, the last one another', 'gemini', [...said.map((text) => gemini(text)), gemini('', 'MAX_TOKENS')], 'length'],
  ['Messages', 'messages', messages('end_turn', 'end_turn', 'end_turn'), 'stop'],
] as const) {
  t.test(`${name}: a member of chat completions receives one finish reason`, async (t) => {
    const { frames } = read(api, events, 'chat')
    const chunks = parseStream(frames) as readonly {
      choices: readonly { delta: { content?: string }; finish_reason: unknown }[]
    }[]
    const choices = chunks.flatMap((chunk) => chunk.choices)
    t.equal(choices.map(({ delta }) => delta.content ?? '').join(''), said.join(''))
    t.same(
      choices.map(({ finish_reason }) => finish_reason),
      [...choices.slice(1).map(() => null), reason],
    )
  })

  for (const client of ['messages', 'responses', 'gemini'] as const)
    t.test(`${name}: a member of ${client} receives the whole answer`, async (t) => {
      const { frames } = read(api, events, client)
      const text = JSON.stringify(readStream(client, parseStream(frames)))
      t.ok(text.includes(said.join('')), text)
      t.match(text, reason === 'stop' ? /end_turn|completed|STOP/ : /max_tokens|max_output_tokens|MAX_TOKENS/)
    })
}

t.test('an answer that goes on after a finish reason is not complete before its end, and is cut off as one', async (t) => {
  t.equal(read('gemini', [gemini('one')], 'chat').reader.allChoicesFinished, true)
  t.equal(read('gemini', [gemini('one'), gemini('two')], 'chat').reader.allChoicesFinished, false)
  const { reader, frames } = read(
    'gemini',
    Array.from({ length: 300 }, () => gemini('many more words, ')),
    'chat',
    40,
  )
  t.equal(reader.isCutOff, true)
  t.match(frames, /"finish_reason":"length"/)
  t.notMatch(frames, /"finish_reason":"stop"/)
})
