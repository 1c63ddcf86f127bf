/** Chunks that differ in their text alone: each parses as `JSON.parse` does. */
import * as fc from 'fast-check'
import t from 'tap'
import { ChunkParser } from '../../src/formats/chunk-parser.ts'

const toChunk = (delta: object, more: object = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...more }],
})

function assertSame(t: { same: (found: unknown, wanted: unknown, name: string) => unknown }, chunks: readonly unknown[]): void {
  const parser = new ChunkParser()
  for (const chunk of chunks) {
    const json = JSON.stringify(chunk)
    const frames = `data: ${json}\n\n`
    t.same(parser.parse(frames, 6, 6 + json.length), JSON.parse(json), json)
  }
}

t.test('parses as JSON.parse does', async () => {
  const word = fc.oneof(
    fc.constantFrom('a', '', '"', '\\', '\n', '","content":"a', 'a"}', '先', '😀', 'content', ' '),
    fc.string({ maxLength: 4, unit: 'grapheme' }),
  )
  const delta = fc.oneof(
    word.map((content) => ({ content })),
    word.map((content) => ({ role: 'assistant', content })),
    word.map((reasoning) => ({ content: reasoning, reasoning_content: reasoning })),
    word.map((content) => ({ content, annotations: [{ content }] })),
    word.map((name) => ({ tool_calls: [{ index: 0, function: { name, arguments: '' } }] })),
    fc.constant({}),
  )
  const chunk = fc.oneof(
    delta.map((each) => toChunk(each)),
    delta.map((each) => toChunk(each, { finish_reason: 'stop' })),
    delta.map((each) => ({ ...toChunk(each), choices: [] })),
    word.map((content) => ({ ...toChunk({ content }), choices: [{ delta: { content } }, { delta: { content } }] })),
    fc.constant({ choices: [], usage: { prompt_tokens: 1 } }),
  )
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 12 }), (chunks) => {
      let isSame = true
      assertSame({ same: (one, other) => (isSame &&= JSON.stringify(one) === JSON.stringify(other)) }, chunks)
      return isSame
    }),
    { numRuns: 2_000 },
  )
})

t.test('does not take another field for the text', async (t) => {
  const both = (other: string) => toChunk({ annotations: [{ content: other }], content: 'a' })
  assertSame(t, [both('a'), both('b'), both('c')])
})

t.test('reuses the object of a chunk that differs in its text alone', async (t) => {
  const parser = new ChunkParser()
  const parse = (chunk: object) => {
    const json = JSON.stringify(chunk)
    return parser.parse(json, 0, json.length)
  }
  const first = parse(toChunk({ content: 'one' }))
  t.equal(parse(toChunk({ content: ' two' })), first)
  t.match(first, toChunk({ content: ' two' }))
  t.not(parse(toChunk({ content: 'say "three"' })), first)
})
