/** Each event of an answer is parsed once and written once, from every kind of upstream to every API format. */
import t from 'tap'
import type { AnswerEncoder, JsonObject } from '../../../../src/exchange/api-format/api-format.ts'
import { MessageDecoder } from '../../../../src/codecs/messages/message-decoder.ts'
import { ClientEvents } from '../../../../src/codecs/chat/client-events.ts'
import { StreamReader } from '../../../../src/upstream/response/stream-reader.ts'
import { GenerateDecoder } from '../../../../src/codecs/gemini/generate-decoder.ts'
import { ResponseDecoder } from '../../../../src/codecs/responses/response-decoder.ts'
import type { AnswerDecoder } from '../../../../src/codecs/answer-decoder.ts'
import { createEncoder as createMessagesEncoder } from '../../../support/formats/messages/translate.ts'
import { createEncoder as createResponsesEncoder } from '../../formats/responses/translate.ts'

const count = 200
/** Attempts of the shortcut for chunks that differ in their text alone. */
const attempts = 4

interface Upstream {
  readonly decoder: () => AnswerDecoder | null
  /** What opens the deltas of each kind, and a delta. */
  readonly kinds: Readonly<Record<string, readonly [opening: readonly object[], delta: (text: string) => object]>>
}

const chunk = (delta: object) => ({ id: 'c', choices: [{ index: 0, delta, finish_reason: null }] })
const block = (content_block: object) => [
  { type: 'message_start', message: { id: 'm', usage: {} } },
  { type: 'content_block_start', index: 0, content_block },
]
const blockDelta = (delta: object) => ({ type: 'content_block_delta', index: 0, delta })
const item = (fields: object) => [
  { type: 'response.created', response: { id: 'r' } },
  { type: 'response.output_item.added', output_index: 0, item: fields },
]
const candidate = (part: object) => ({ candidates: [{ content: { parts: [part] } }] })
const itemDelta = (type: string, delta: string) => ({ type, output_index: 0, delta })

const upstreams: Readonly<Record<string, Upstream>> = {
  compatible: {
    decoder: () => null,
    kinds: {
      text: [[], (content) => chunk({ content })],
      reasoning: [[], (text) => chunk({ reasoning_content: text })],
      calls: [
        [chunk({ tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } }] })],
        (text) => chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] }),
      ],
    },
  },
  anthropic: {
    decoder: () => new MessageDecoder('mbr_1'),
    kinds: {
      text: [block({ type: 'text', text: '' }), (text) => blockDelta({ type: 'text_delta', text })],
      reasoning: [block({ type: 'thinking', thinking: '' }), (thinking) => blockDelta({ type: 'thinking_delta', thinking })],
      calls: [
        block({ type: 'tool_use', id: 'a', name: 'f', input: {} }),
        (text) => blockDelta({ type: 'input_json_delta', partial_json: text }),
      ],
    },
  },
  gemini: {
    decoder: () => new GenerateDecoder('mbr_1'),
    kinds: {
      text: [[], (text) => candidate({ text })],
      reasoning: [[], (text) => candidate({ text, thought: true })],
    },
  },
  responses: {
    decoder: () => new ResponseDecoder('mbr_1'),
    kinds: {
      text: [item({ type: 'message' }), (text) => itemDelta('response.output_text.delta', text)],
      reasoning: [item({ type: 'reasoning' }), (text) => itemDelta('response.reasoning_summary_text.delta', text)],
      calls: [
        item({ type: 'function_call', call_id: 'a', name: 'f' }),
        (text) => itemDelta('response.function_call_arguments.delta', text),
      ],
    },
  },
}

const encoders: Readonly<Record<string, (() => AnswerEncoder) | undefined>> = {
  chat: undefined,
  messages: () => createMessagesEncoder({ stream: true }),
  responses: () => createResponsesEncoder({ stream: true }),
}

/** Calls of `JSON.parse` and `JSON.stringify` during a piece of work. */
function countCalls(work: () => void): { readonly parsed: number; readonly written: number } {
  const { parse, stringify } = JSON
  const counts = { parsed: 0, written: 0 }
  JSON.parse = (...args: Parameters<typeof parse>) => (counts.parsed++, parse(...args) as unknown)
  JSON.stringify = ((...args: Parameters<typeof stringify>) => (counts.written++, stringify(...args))) as typeof stringify
  try {
    work()
  } finally {
    Object.assign(JSON, { parse, stringify })
  }
  return counts
}

const toBytes = (event: object) => Buffer.from(`data: ${JSON.stringify(event)}\n\n`)

for (const [upstream, { decoder, kinds }] of Object.entries(upstreams))
  for (const [format, createEncoder] of Object.entries(encoders))
    t.test(`${upstream} to ${format}`, async (t) => {
      for (const [kind, [opening, createDelta]] of Object.entries(kinds)) {
        const encoder: AnswerEncoder | undefined = createEncoder?.()
        const sink = new ClientEvents({
          allowlist: { productId: 'p', extraFields: [] },
          context: { requestId: 'mbr_1', model: 'p', startedAt: 0 },
          includeUsage: true,
          onEvent: null,
          encoder,
        })
        const reader = new StreamReader({
          bounds: { inputEstimate: 1, outputCap: 100_000 },
          upstreamHost: 'u',
          sink,
          decoder: decoder(),
        })
        encoder?.start()
        const before: readonly JsonObject[] = [...opening, createDelta('{"first')] as readonly JsonObject[]
        for (const event of before) reader.push(toBytes(event))
        // The events differ in more than their text, so that no shortcut is taken.
        const events = Array.from({ length: count }, (_, i) =>
          toBytes({ ...createDelta(`word ${i} "\\`), obfuscation: 'x'.repeat(i % 7) }),
        )
        let sent = ''
        const { parsed, written } = countCalls(() => {
          for (const event of events) sent += reader.push(event)
        })
        t.ok(parsed <= count + attempts, `${kind}: ${parsed} of ${count} are parsed`)
        t.ok(written <= count + attempts, `${kind}: ${written} of ${count} are written`)
        t.match(sent, `word ${count - 1} `, `${kind}: all arrive`)
      }
    })
