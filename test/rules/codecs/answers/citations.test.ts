/** Sources that an upstream names in its answer reach the members of each API, in the form of that API. */
import t from 'tap'
import type { AnswerEvent } from '../../../../src/conversation/answer-event.ts'
import type { JsonObject } from '../../../../src/exchange/api-format/api-format.ts'
import { readAnswerEvents } from '../../../../src/codecs/chat/read-events.ts'
import { decoders, writeStream, writeWhole } from './write-answer.ts'
import type { Api } from './write-answer.ts'

const url = 'https://a.example/one'
const inText = { url, title: 'One', start_index: 0, end_index: 4 }

const answers: Readonly<Record<string, readonly AnswerEvent[]>> = {
  'a chat completion': readAnswerEvents({
    choices: [
      {
        message: { content: 'Blue sky.', annotations: [{ type: 'url_citation', url_citation: inText }] },
        finish_reason: 'stop',
      },
    ],
  }),
  'a message': (decoders.messages().decodeWhole({
    type: 'message',
    content: [
      {
        type: 'text',
        text: 'Blue sky.',
        citations: [
          { type: 'web_search_result_location', url, title: 'One', encrypted_index: 'abc', cited_text: 'The sky is blue.' },
        ],
      },
    ],
    stop_reason: 'end_turn',
  }) ?? []) as readonly AnswerEvent[],
  'a response': (decoders.responses().decodeWhole({
    object: 'response',
    status: 'completed',
    output: [
      {
        type: 'message',
        content: [{ type: 'output_text', text: 'Blue sky.', annotations: [{ type: 'url_citation', ...inText }] }],
      },
    ],
  }) ?? []) as readonly AnswerEvent[],
}

/** The sources of an answer, with the places in the text where the API has such. */
const readers: Readonly<Record<Api, (answer: JsonObject) => unknown>> = {
  chat: ({ choices }) => (choices as { message: { annotations?: unknown } }[])[0]?.message.annotations,
  messages: ({ content }) => (content as { citations?: unknown }[])[0]?.citations,
  responses: ({ output }) => (output as { content: { annotations?: unknown }[] }[])[0]?.content[0]?.annotations,
  gemini: ({ candidates }) => (candidates as { groundingMetadata?: unknown }[])[0]?.groundingMetadata,
}

const expected: Readonly<Record<Api, unknown>> = {
  chat: [{ type: 'url_citation', url_citation: { url, title: 'One' } }],
  messages: [{ type: 'web_search_result_location', url, title: 'One' }],
  responses: [{ type: 'url_citation', url, title: 'One' }],
  gemini: { groundingChunks: [{ web: { uri: url, title: 'One' } }] },
}

for (const [from, events] of Object.entries(answers))
  t.test(`the source of ${from} reaches members of each API`, async (t) => {
    for (const api of ['chat', 'messages', 'responses', 'gemini'] as const)
      for (const [how, write] of Object.entries({ whole: writeWhole, streamed: writeStream }))
        t.match(readers[api](write(api, events)), expected[api], `${api}, ${how}`)
  })

t.test('places in the text stay where the API of the member has them', async (t) => {
  for (const from of ['a chat completion', 'a response']) {
    const events = answers[from] ?? []
    t.match(readers.chat(writeWhole('chat', events)), [{ url_citation: inText }], from)
    t.match(readers.responses(writeStream('responses', events)), [{ start_index: 0, end_index: 4 }], from)
    t.match(readers.gemini(writeStream('gemini', events)), {
      groundingSupports: [{ segment: { startIndex: 0, endIndex: 4, text: 'Blue' }, groundingChunkIndices: [0] }],
    })
  }
})

t.test('places in a second message are those of the joined text', async (t) => {
  const item = (text: string, annotations: readonly object[]) => ({
    type: 'message',
    content: [{ type: 'output_text', text, annotations }],
  })
  const output = [item('First.', []), item('Blue sky.', [{ type: 'url_citation', ...inText }])]
  const events = decoders.responses().decodeWhole({ object: 'response', status: 'completed', output }) ?? []
  const place = { start_index: 'First.\n\n'.length, end_index: 'First.\n\nBlue'.length }
  t.match(readers.chat(writeWhole('chat', events as readonly AnswerEvent[])), [{ url_citation: place }])
})

t.test('sources of a document stay in their API alone', async (t) => {
  for (const citation of [
    { type: 'char_location', cited_text: 'Sky', document_index: 0, document_title: null, start_char_index: 0, end_char_index: 3 },
    {
      type: 'page_location',
      cited_text: 'Sky',
      document_index: 0,
      document_title: 'a',
      start_page_number: 1,
      end_page_number: 2,
    },
    { type: 'content_block_location', cited_text: 'Sky', document_index: 0, start_block_index: 0, end_block_index: 1 },
    { type: 'search_result_location', cited_text: 'Sky', source: 'notes/7', title: 'Notes', search_result_index: 0 },
  ]) {
    const content = [{ type: 'text', text: 'Blue.', citations: [citation] }]
    const events = (decoders.messages().decodeWhole({ type: 'message', content, stop_reason: 'end_turn' }) ??
      []) as readonly AnswerEvent[]
    t.match(writeStream('messages', events), { content })
    for (const api of ['chat', 'responses', 'gemini'] as const)
      t.notMatch(JSON.stringify(writeStream(api, events)), /Sky/, `${citation.type}, ${api}`)
  }
})

t.test('a source that arrives before its text waits for it', async (t) => {
  const [text, citation, ...rest] = answers['a chat completion'] ?? []
  if (text === undefined || citation === undefined) return t.fail()
  t.match(writeStream('messages', [citation, text, ...rest]), { content: [{ text: 'Blue sky.', citations: [{ url }] }] })
  const source = { type: 'url_citation', url }
  t.match(readers.responses(writeStream('responses', [citation, text, ...rest])), [source])
  t.match(readers.responses(writeWhole('responses', [citation, text, ...rest])), [source])
})
