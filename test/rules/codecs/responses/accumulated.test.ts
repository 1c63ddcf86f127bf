/** What OpenAI's SDK assembles from a stream is the translation of the whole answer, whatever the chunks. */
import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import OpenAI from 'openai'
import type { Response as OpenAiResponse } from 'openai/resources/responses/responses.js'
import t from 'tap'
import type { JsonObject } from '../../../../src/exchange/api-format/api-format.ts'
import { createRandom, toChunk, toChunks } from '../../../support/formats/random-chunks.ts'
import type { Answer } from '../../../support/formats/random-chunks.ts'
import { createEncoder, encodeStream, parseEvents, usageChunk, writeWhole } from '../../formats/responses/translate.ts'

const request = {
  tools: [
    { type: 'function', name: 'look' },
    { type: 'namespace', name: 'functions', tools: [{ type: 'custom', name: 'exec' }] },
  ],
}

/** The SDK's accumulated answer. It throws on a wrong id, index, order or type. */
async function accumulate(text: string): Promise<OpenAiResponse> {
  const client = new OpenAI({
    apiKey: 'k',
    baseURL: 'http://127.0.0.1:9/v1',
    maxRetries: 0,
    fetch: async () => new Response(text, { headers: { 'content-type': 'text/event-stream' } }),
  })
  return client.responses.stream({ model: 'svc-2.1', input: 'x' }).finalResponse()
}

const jsonText = fc.object({ maxDepth: 1 }).map((value) => JSON.stringify(value))
const call = fc.oneof(
  fc.record({ name: fc.constant('look'), arguments: fc.oneof(jsonText, fc.constant(''), fc.string()) }),
  fc.record({
    name: fc.constantFrom('functions__exec', 'exec'),
    arguments: fc.oneof(
      fc.string({ unit: 'grapheme' }).map((input) => JSON.stringify({ input })),
      fc.string(),
    ),
  }),
)
const answer: fc.Arbitrary<Answer> = fc.record({
  reasoning: fc.string({ unit: 'grapheme', maxLength: 12 }),
  text: fc.string({ unit: 'grapheme', maxLength: 20 }),
  calls: fc.array(call, { maxLength: 3 }),
})
const finish = fc.constantFrom('stop', 'tool_calls', 'length', 'content_filter')

t.test('the streamed answer is the whole answer', async (t) => {
  await fc.assert(
    fc.asyncProperty(answer, finish, fc.nat(), async (sent, reason, seed) => {
      const text = encodeStream([...toChunks(sent, createRandom(seed)), toChunk({}, reason)], request)
      const streamed = await accumulate(text)
      const message = {
        role: 'assistant',
        content: sent.text,
        reasoning_content: sent.reasoning,
        tool_calls: sent.calls.map((each, index) => ({ id: `call_${index}`, type: 'function', function: each })),
      }
      const whole = JSON.parse(
        writeWhole(createEncoder({ stream: true, ...request }), {
          choices: [{ index: 0, message, finish_reason: reason }],
          usage: usageChunk.usage,
        }),
      ) as JsonObject
      const { output_text: _, ...accumulated } = streamed
      assert.deepEqual(strip(accumulated), whole)
      assertNumbered(text)
    }),
    { numRuns: 80 },
  )
  t.pass('80 answers')
})

/** The SDK adds fields of its own to what it has parsed. */
function strip(value: unknown): unknown {
  const added = ['parsed', 'parsed_arguments', 'output_parsed']
  return JSON.parse(JSON.stringify(value, (name, field: unknown) => (added.includes(name) ? undefined : field)))
}

/** Numbers without a gap, one id for each item in all its events, and nothing after the end. */
function assertNumbered(text: string): void {
  const events = parseEvents(text)
  for (const [i, event] of events.entries())
    if (event.sequence_number !== i) throw new Error(`number ${event.sequence_number} at ${i}`)
  const ids = new Map<unknown, unknown>()
  for (const event of events) {
    const index = event['output_index']
    if (index === undefined) continue
    const id = event['item_id'] ?? (event['item'] as JsonObject)['id']
    if ((ids.get(index) ?? id) !== id)
      throw new Error(`item ${String(index)} has the ids ${String(ids.get(index))} and ${String(id)}`)
    ids.set(index, id)
  }
  const ends = events.filter(({ type }) => /^response\.(?:completed|incomplete|failed)$/.test(type))
  if (ends.length !== 1 || ends[0] !== events.at(-1)) throw new Error('the stream has not one end')
}
