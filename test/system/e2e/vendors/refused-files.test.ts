/** A file that an upstream does not take is learned from its first rejection, and becomes a note to the model. */
import t from 'tap'
import { error, ok, startVendor } from '../../../support/gateway/scripted-vendor.ts'
import type { Answer } from '../../../support/gateway/scripted-vendor.ts'

const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } }
const chatPdf = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } }
const sound = { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }
const png = 'data:image/png;base64,iVBORw0KGgo='
const picture = { type: 'image_url', image_url: { url: png } }
const question = { type: 'text', text: 'q' }
const note = 'This document cannot be shown to the model'
const dropped = (response: Response): string | null => response.headers.get('x-svc-fields-dropped')

/** The reported request, and others of its class. */
const requests = {
  'a document of a Messages client': ['/v1/messages', { messages: [{ role: 'user', content: [pdf, question] }] }],
  'a document in the result of a tool': [
    '/v1/messages',
    {
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'read', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [pdf] }] },
      ],
    },
  ],
  'a file of a chat client': ['/v1/chat/completions', { messages: [{ role: 'user', content: [question, chatPdf] }] }],
  'a file of a Responses client': [
    '/v1/responses',
    {
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_file', filename: 'a.pdf', file_data: chatPdf.file.file_data },
            { type: 'input_text', text: 'q' },
          ],
        },
      ],
    },
  ],
} as const

for (const [vendor, rejection] of [
  [
    'the reported one',
    error('Invalid value: "file". Supported values are: "text" and "image_url".', { type: 'BadRequestError', code: 400 }),
  ],
  ['Qwen', error("Invalid value: file. Supported values are: 'text','image_url','video_url' and 'video'.")],
  ['vLLM', error("Unsupported chat content part type: 'file'. Supported types: text, image_url, video_url")],
  [
    'DeepSeek',
    error(
      'Failed to deserialize the JSON body into the target type: messages[0]: unknown variant `file`, expected `text` at line 1 column 90',
    ),
  ],
  ['llama.cpp', error('unsupported content[].type')],
  ['OpenAI', error("Invalid Value: 'file'. This model does not support file content types.", { param: 'messages' })],
] as const)
  t.test(`a document is replaced once it was rejected: ${vendor}`, async (t) => {
    const answer = (text: string): Answer => (text.includes('"type":"file"') ? rejection : ok)
    for (const [name, [path, body]] of Object.entries(requests)) {
      const { sent, post } = await startVendor(t, answer)
      for (const count of [2, 3]) {
        const response = await post(path, body)
        t.equal(response.status, 200, `${name}: ${await response.text()}`)
        t.equal(sent.length, count, name)
        t.ok(sent.at(-1)?.includes(note), name)
        t.equal(dropped(response), 'messages.document', name)
      }
    }
  })

t.test('an upstream says itself which files it takes', async (t) => {
  const { sent, post } = await startVendor(t, () => ok, { accepts: ['image'] })
  const content = [question, picture, chatPdf, sound]
  const response = await post('/v1/chat/completions', { messages: [{ role: 'user', content }] })
  t.equal(response.status, 200)
  t.match(JSON.parse(sent[0] ?? ''), {
    messages: [{ content: [question, picture, { type: 'text', text: /document/ }, { type: 'text', text: /recording/ }] }],
  })
  t.equal(dropped(response), 'messages.document, messages.audio')
  const none = await startVendor(t, () => ok, { accepts: [] })
  await none.post('/v1/chat/completions', { messages: [{ role: 'user', content: [question, picture] }] })
  t.match(JSON.parse(none.sent[0] ?? ''), { messages: [{ content: 'q\n\n(This image cannot be shown to the model.)' }] })
})

t.test('sound that is rejected becomes a note', async (t) => {
  const rejection = error("Unknown part type: 'input_audio'")
  const { sent, post } = await startVendor(t, (text) => (text.includes('"input_audio"') ? rejection : ok))
  const body = { messages: [{ role: 'user', content: [question, sound] }] }
  const response = await post('/v1/chat/completions', body)
  t.equal(response.status, 200, await response.text())
  t.match(sent, [/UklGRg/, /This recording cannot be played/])
})

t.test('a picture that is rejected stays a failure, whose words the member reads', async (t) => {
  const rejection = error('Invalid value: "image_url". Supported values are: "text".')
  const { sent, post } = await startVendor(t, () => rejection)
  t.equal((await post('/v1/chat/completions', { messages: [{ role: 'user', content: [question, picture] }] })).status, 400)
  t.equal(sent.length, 1)
})

t.test('a picture in a message of the role `tool` moves behind it once it was rejected there', async (t) => {
  const call = { id: 'a', type: 'function', function: { name: 'shot', arguments: '{}' } }
  const messages = [
    { role: 'user', content: 'look' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'a', content: [picture] },
  ]
  for (const rejection of [
    error(
      "Invalid 'messages[2]'. Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an image URL.",
      { param: 'messages[2]' },
    ),
    error('messages.2.content: Input should be a valid string'),
    error('Invalid request: tool messages must have a string content'),
  ]) {
    const isInTool = (text: string): boolean => /"role":"tool"[^}]*"content":\[/.test(text)
    const { sent, post } = await startVendor(t, (text) => (isInTool(text) ? rejection : ok))
    for (const count of [2, 3]) {
      const response = await post('/v1/chat/completions', { messages })
      t.equal(response.status, 200, await response.text())
      t.equal(sent.length, count)
    }
    t.match(JSON.parse(sent[1] ?? ''), {
      messages: [{}, {}, { role: 'tool', content: 'The result is attached below.' }, { role: 'user', content: [{}, picture] }],
    })
  }
})
