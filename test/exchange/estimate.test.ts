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
