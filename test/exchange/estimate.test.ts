/** What a prompt is assumed to cost before anybody has counted it: never too little for text, and not by an image's size. */
import t from 'tap'
import { parseChatRequest } from '../../src/exchange/chat-request.ts'
import { promptSize } from '../../src/exchange/estimate.ts'

const sizeOf = (content: unknown) =>
  promptSize(parseChatRequest(Buffer.from(JSON.stringify({ model: 'svc', messages: [{ role: 'user', content }] }))), 1_100)

t.test('a third of the bytes, whatever the script', async (t) => {
  const small = sizeOf('')
  t.equal(sizeOf('a'.repeat(3_000)).tokens - small.tokens, 1_000)
  t.equal(sizeOf('额'.repeat(1_000)).tokens - small.tokens, 1_000, 'a Chinese character is a token')
})

t.test('an image counts as configured, however many bytes it has', async (t) => {
  const image = (bytes: number) => ({ type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(bytes)}` } })
  const small = sizeOf([image(10)])
  const large = sizeOf([image(1_000_000)])
  t.equal(large.tokens, small.tokens)
  t.equal(large.images, 1)
  t.ok(small.tokens >= 1_100)
  t.equal(sizeOf([image(10), image(10)]).images, 2)
})

t.test('an image given as a bare string is one too', async (t) => {
  const { images, tokens } = sizeOf([{ type: 'image_url', image_url: `https://example.com/${'x'.repeat(9_000)}` }])
  t.equal(images, 1)
  t.ok(tokens < 1_200)
})

t.test('all that makes tokens counts towards the most', async (t) => {
  const messages = [{ role: 'user', content: 'x' }]
  const most = (body: object) =>
    promptSize(parseChatRequest(Buffer.from(JSON.stringify({ model: 'svc', messages, ...body }))), 1_100).mostTokens
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
    ['sound', part({ type: 'input_audio', input_audio: { data: 'A'.repeat(16_000), format: 'mp3' } }), 1_000],
    ['a video', part({ type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } }), 16_384],
  ] as const)
    t.ok(most(body) - bare >= least - 2, `${name}: ${most(body) - bare} of ${least}`)
})
