/** Estimates of a prompt: never too low for text, and independent of an image's size. */
import t from 'tap'
import { parseChatRequest } from '../../../../src/exchange/request/chat-request.ts'
import { measurePrompt } from '../../../../src/exchange/request/prompt-size.ts'
import { defaultMediaFigures } from '../../../support/media-figures.ts'

const sizeOf = (content: unknown) =>
  measurePrompt(
    parseChatRequest(Buffer.from(JSON.stringify({ model: 'svc', messages: [{ role: 'user', content }] }))),
    defaultMediaFigures,
  )

const sizeOfBody = (body: object) =>
  measurePrompt(
    parseChatRequest(Buffer.from(JSON.stringify({ model: 'svc', messages: [{ role: 'user', content: 'x' }], ...body }))),
    defaultMediaFigures,
  )

t.test('estimates the tokens of messages and tools alone', async (t) => {
  const bare = sizeOfBody({}).tokens
  t.equal(bare, 8, 'the template around a message, and its text')
  for (const [name, body] of Object.entries({
    'stream options': { stream: true, stream_options: { include_usage: true } },
    settings: { temperature: 0.7, top_p: 0.9, stop: ['one', 'two'], seed: 7, user: 'a user of mine', metadata: { a: 'b' } },
    'a format': { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } } },
  }))
    t.equal(sizeOfBody(body).tokens, bare, name)
  const call = { id: 'call_4f8e2a917bd04c53', type: 'function', function: { name: 'find', arguments: '{"city":"Rome"}' } }
  const answered = (id: string) =>
    sizeOfBody({
      messages: [
        { role: 'assistant', content: null, tool_calls: [{ ...call, id }] },
        { role: 'tool', tool_call_id: id, content: 'Rome' },
      ],
    }).tokens
  t.equal(answered(call.id), answered('x'), 'the id of a call')
  const tool = { type: 'function', function: { name: 'find', description: 'Finds a city.', parameters: { type: 'object' } } }
  t.ok(sizeOfBody({ tools: [tool] }).tokens > bare + 64)
})

t.test('assumes a minimum for a text that was made to be underestimated', async (t) => {
  const { tokens, maxTokens } = sizeOf('neratisan'.repeat(1_000))
  t.ok(tokens >= (maxTokens - 150) / 8, `${tokens} of ${maxTokens}`)
})

t.test('counts an image as configured, however many bytes it has', async (t) => {
  const image = (bytes: number) => ({ type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(bytes)}` } })
  const small = sizeOf([image(10)])
  const large = sizeOf([image(1_000_000)])
  t.equal(large.tokens, small.tokens)
  t.equal(large.media, 1)
  t.ok(small.tokens >= 1_100)
  t.equal(sizeOf([image(10), image(10)]).media, 2)
})

t.test('counts an image given as a string', async (t) => {
  const { media, tokens } = sizeOf([{ type: 'image_url', image_url: `https://example.com/${'x'.repeat(9_000)}` }])
  t.equal(media, 1)
  t.ok(tokens < 1_200)
})

t.test('counts everything that makes tokens towards the maximum', async (t) => {
  const messages = [{ role: 'user', content: 'x' }]
  const most = (body: object) =>
    measurePrompt(parseChatRequest(Buffer.from(JSON.stringify({ model: 'svc', messages, ...body }))), defaultMediaFigures)
      .maxTokens
  const bare = most({})
  const digits = '7'.repeat(1_000)
  const part = (part: object) => ({ messages: [{ role: 'user', content: [part] }] })
  for (const [name, body, least] of [
    ['a message', { messages: [{ role: 'user', content: digits }] }, 1_000],
    ['a name', { messages: [{ role: 'user', name: digits, content: 'x' }] }, 1_000],
    [
      'a tool call',
      { messages: [{ role: 'assistant', content: null, tool_calls: [{ function: { arguments: digits } }] }] },
      1_000,
    ],
    ['reasoning', { messages: [{ role: 'assistant', reasoning_content: digits, content: 'x' }] }, 1_000],
    ['a tool’s result, escaped', { messages: [{ role: 'tool', content: '"\n'.repeat(500) }] }, 2_000],
    ['tools', { tools: [{ type: 'function', function: { name: 'f', description: digits } }] }, 1_256],
    ['a schema', { response_format: { type: 'json_schema', json_schema: { schema: { [digits]: {} } } } }, 1_000],
    ['an image', part({ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }), 1_100],
    ['a file', part({ type: 'file', file: { file_data: digits } }), 2_100],
    ['sound', part({ type: 'input_audio', input_audio: { data: 'A'.repeat(16_000), format: 'mp3' } }), 300],
    ['a video', part({ type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } }), 16_384],
  ] as const)
    t.ok(most(body) - bare >= least - 2, `${name}: ${most(body) - bare} of ${least}`)
})
