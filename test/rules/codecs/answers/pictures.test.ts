/** Pictures that a model draws reach the members of each API. */
import t from 'tap'
import type { AnswerEvent } from '../../../../src/conversation/answer-event.ts'
import { ClientEvents } from '../../../../src/codecs/chat/client-events.ts'
import { readAnswerEvents } from '../../../../src/codecs/chat/read-events.ts'
import { chatContext, decoders, encoders, parseStream, readStream, writeStream, writeWhole } from './write-answer.ts'

const data = 'iVBORw0KGgo='
const url = `data:image/png;base64,${data}`
const address = 'https://a.example/one.png'

const drawn = (picture: string): readonly AnswerEvent[] => [
  { kind: 'text', text: 'Here:' },
  { kind: 'image', url: picture },
  { kind: 'finish', reason: 'stop' },
]

t.test('members of each API receive a picture in the form of the API', async (t) => {
  for (const [how, write] of Object.entries({ whole: writeWhole, streamed: writeStream })) {
    t.match(write('chat', drawn(url)), { choices: [{ message: { images: [{ image_url: { url } }] } }] }, how)
    t.match(write('gemini', drawn(url)), { candidates: [{ content: { parts: [{}, { inlineData: { data } }] } }] }, how)
    t.match(write('responses', drawn(url)), {
      output: [{ type: 'message' }, { type: 'image_generation_call', status: 'completed', result: data }],
    })
    t.match(write('messages', drawn(url)), {
      content: [{ text: 'Here:\n\n(The model drew a picture, which this API has no place for.)' }],
    })
  }
})

t.test('a picture with an address is a link where the API has text alone', async (t) => {
  t.match(writeWhole('messages', drawn(address)), { content: [{ text: `Here:\n\n![picture](${address})` }] })
  t.match(writeWhole('responses', drawn(address)), {
    output: [{ content: [{ text: `Here:\n\n![picture](${address})` }] }],
  })
  t.match(writeWhole('gemini', drawn(address)), {
    candidates: [{ content: { parts: [{}, { fileData: { fileUri: address } }] } }],
  })
})

t.test('the picture of a chat completion is read in each form of vendors', async (t) => {
  for (const part of [
    { type: 'image_url', image_url: { url } },
    { type: 'image_url', image_url: url },
    { inlineData: { mimeType: 'image/png', data } },
    { inline_data: { mime_type: 'image/png', data } },
    { type: 'image', b64_json: data },
  ]) {
    const message = { content: null, images: [part] }
    t.same(readAnswerEvents({ choices: [{ message }] }), [{ kind: 'image', url }], JSON.stringify(part))
  }
})

t.test('the picture of a response is read, streamed and whole', async (t) => {
  const item = { type: 'image_generation_call', status: 'completed', output_format: 'webp', result: data }
  const events = decoders.responses().decode({ type: 'response.output_item.done', output_index: 0, item })
  t.same(events, [{ kind: 'image', url: `data:image/webp;base64,${data}` }])
  const whole = decoders.responses().decodeWhole({ object: 'response', status: 'completed', output: [item] })
  t.match(whole, [{ kind: 'start' }, { kind: 'image' }, { kind: 'finish' }])
})

t.test('pictures that a stream of chat completions brings in pieces are whole', async (t) => {
  const piece = (index: number, part: string) => ({
    images: [{ index, type: 'image_url', image_url: { url: part } }],
  })
  const cases = [
    [piece(0, url.slice(0, 30)), piece(0, url.slice(30))],
    [piece(0, url.slice(0, 5)), piece(0, url.slice(5, 25)), piece(0, url.slice(25)), piece(1, url)],
    [piece(0, url), piece(0, url)],
  ]
  const counts = [1, 2, 2]
  for (const [at, deltas] of cases.entries())
    for (const ends of [true, false]) {
      const encoder = encoders.gemini()
      const allowlist = { productId: 'svc-2.1', extraFields: [] }
      const sink = new ClientEvents({ allowlist, context: chatContext, includeUsage: true, onEvent: null, encoder })
      const chunks = [...deltas, ...(ends ? [{}] : [])].map((delta, i) => ({
        choices: [{ index: 0, delta, finish_reason: ends && i === deltas.length ? 'stop' : null }],
      }))
      const text = chunks.map((chunk) => sink.consume(chunk)).join('') + sink.buildTrailer({})
      const { candidates } = readStream('gemini', parseStream(text)) as {
        candidates: { content: { parts: { inlineData?: unknown }[] } }[]
      }
      const pictures = candidates[0]?.content.parts.flatMap(({ inlineData }) => inlineData ?? []) ?? []
      t.same(
        pictures,
        Array.from({ length: counts[at] ?? 0 }, () => ({ mimeType: 'image/png', data })),
        `case ${at}, ${String(ends)}`,
      )
    }
})
