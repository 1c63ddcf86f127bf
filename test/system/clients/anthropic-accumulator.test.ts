/** What Anthropic's SDK assembles from a stream is the translation of the whole answer, whatever the chunks. */
import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import t from 'tap'
import type { JsonObject } from '../../../src/exchange/api-format/api-format.ts'
import { createEncoder, encodeStream, parseEvents, usageChunk, writeWhole } from '../../support/formats/messages/translate.ts'
import { createRandom, toChunk, toChunks } from '../../support/formats/random-chunks.ts'
import type { Answer } from '../../support/formats/random-chunks.ts'
import { openClientPackages } from './client-packages.ts'

interface Message extends JsonObject {
  readonly content: readonly (JsonObject & { readonly type: string })[]
}

interface AnthropicPackage {
  readonly default: new (options: object) => {
    readonly messages: { stream(request: object): { finalMessage(): Promise<Message> } }
  }
}

const anyText = (maxLength: number) => fc.string({ unit: 'grapheme', maxLength })
const call = fc.record({
  name: fc.constantFrom('look', 'find'),
  arguments: fc.oneof(
    fc.object({ maxDepth: 2 }).map((value) => JSON.stringify(value)),
    fc.constant(''),
  ),
})
const answer: fc.Arbitrary<Answer> = fc.record({
  reasoning: anyText(12),
  text: fc.oneof(anyText(20), fc.constantFrom('\n\n', ' x', '')),
  calls: fc.array(call, { maxLength: 3 }),
})
const finish = fc.constantFrom('stop', 'tool_calls', 'length', 'content_filter')

t.test('the streamed answer is the whole answer', async (t) => {
  const packages = await openClientPackages(t)
  if (packages === undefined) return
  const { default: Anthropic } = await packages.load<AnthropicPackage>('@anthropic-ai/sdk')
  /** The SDK's accumulated answer. It throws on a wrong index, order or type. */
  const accumulate = (text: string): Promise<Message> => {
    const { messages } = new Anthropic({
      apiKey: 'k',
      baseURL: 'http://127.0.0.1:9',
      maxRetries: 0,
      fetch: async () => new Response(text, { headers: { 'content-type': 'text/event-stream' } }),
    })
    return messages.stream({ model: 'svc-2.1', max_tokens: 5, messages: [] }).finalMessage()
  }
  await fc.assert(
    fc.asyncProperty(answer, finish, fc.nat(), async (sent, reason, seed) => {
      const text = encodeStream([...toChunks(sent, createRandom(seed)), toChunk({}, reason)])
      const message = {
        role: 'assistant',
        content: sent.text,
        reasoning_content: sent.reasoning,
        tool_calls: sent.calls.map((each, index) => ({ id: `call_${index}`, type: 'function', function: each })),
      }
      const completion = { choices: [{ index: 0, message, finish_reason: reason }], usage: usageChunk.usage }
      const whole = JSON.parse(writeWhole(createEncoder({ stream: true }), completion)) as Message
      assert.deepEqual(toComparable(await accumulate(text)), toComparable(whole))
      assertOneBlockAtATime(text)
    }),
    { numRuns: 300 },
  )
  t.pass('300 answers')
})

/** Without the field that the SDK adds. */
function toComparable(message: Message): unknown {
  return JSON.parse(JSON.stringify(message, (name, value: unknown) => (name === 'parsed_output' ? undefined : value)))
}

/** Indexes without a gap, each block closed before the next, and one end after which nothing follows. */
function assertOneBlockAtATime(text: string): void {
  const [first, ...events] = parseEvents(text)
  assert.equal(first?.type, 'message_start')
  let next = 0
  let isOpen = false
  for (const { type, index } of events.slice(0, -2)) {
    assert.equal(index, next, type)
    assert.equal(isOpen, type !== 'content_block_start', type)
    isOpen = type !== 'content_block_stop'
    if (!isOpen) next++
  }
  assert.equal(isOpen, false)
  assert.deepEqual(
    events.slice(-2).map(({ type }) => type),
    ['message_delta', 'message_stop'],
  )
}
