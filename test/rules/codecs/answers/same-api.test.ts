/**
 * The same API on both sides: the member receives what the target answered, whole and streamed, but for the exceptions that
 * `docs/api-formats.md` lists. 1 000 answers, generated from a seed.
 */
import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import t from 'tap'
import { ClientEvents } from '../../../../src/codecs/chat/client-events.ts'
import type { AnswerEvent } from '../../../../src/conversation/answer-event.ts'
import type { JsonObject } from '../../../../src/exchange/api-format/api-format.ts'
import { toCompletionResult } from '../../../../src/upstream/response/buffered-completion.ts'
import { StreamReader } from '../../../../src/upstream/response/stream-reader.ts'
import { CompletionAnswer } from '../../../../src/upstream/response/whole-answer.ts'
import { repairContext } from '../../../support/formats/repair-stream.ts'
import { chatContext, decoders, encoders, parseStream, readStream } from './write-answer.ts'
import type { TranslatedApi } from './write-answer.ts'

const seed = 20_261_128
const numRuns = 250

const word = fc.constantFrom('sky', 'grass', 'Größe', '天空', '🌱', '"quoted"', 'a\nb', '<tag>', '\\', '1', '[1]')
const text = fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join(' '))
const input = fc
  .record({ word: text, deep: fc.option(fc.record({ n: fc.integer(), list: fc.array(word, { maxLength: 2 }) })) })
  // As JSON has it: without prototypes of the generator, and without -0.
  .map((value) => JSON.parse(JSON.stringify(value)) as JsonObject)
const calls = fc.array(fc.record({ name: fc.constantFrom('look', 'find_it'), input }), { maxLength: 3 })
const list = <T>(value: fc.Arbitrary<T>, maxLength = 2) => fc.array(value, { maxLength })
const tokens = fc.record({
  input: fc.nat(4_000),
  cached: fc.nat(50),
  output: fc.integer({ min: 40, max: 900 }),
  thought: fc.nat(40),
})
const withoutUndefined = (fields: object): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
const omit = (fields: JsonObject, ...names: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))
const split = (value: string): readonly string[] => value.match(/[^]{1,7}/gu) ?? []

/** What the member receives of an answer of the same API, whole or as its stream. */
function pass(api: TranslatedApi, answer: { readonly whole: JsonObject } | { readonly stream: readonly object[] }): JsonObject {
  const [decoder, encoder] = [decoders[api](), encoders[api]()]
  const read =
    'whole' in answer
      ? decoder.decodeWhole(answer.whole)
      : answer.stream.flatMap((event) => decoder.decode(JSON.parse(JSON.stringify(event)) as JsonObject))
  const decoded = (read ?? []).filter(({ kind }) => kind !== 'end') as readonly AnswerEvent[]
  // The usage arrives once, behind all else.
  const usage = decoded.findLast(({ kind }) => kind === 'usage')
  const events = [...decoded.filter(({ kind }) => kind !== 'usage'), ...(usage === undefined ? [] : [usage])]
  if ('whole' in answer) return JSON.parse(encoder.whole(events)) as JsonObject
  const frames = events.map((event) => encoder.push([event]))
  return readStream(api, parseStream(encoder.start() + frames.join('') + encoder.end()))
}

function check<Answer>(
  api: TranslatedApi,
  answers: fc.Arbitrary<Answer>,
  forms: {
    toWhole(answer: Answer): JsonObject
    toStream(answer: Answer): readonly object[]
    /** Without the exceptions. */
    toComparable(answer: JsonObject): unknown
  },
): void {
  fc.assert(
    fc.property(answers, (answer) => {
      const whole = forms.toWhole(answer)
      const expected = forms.toComparable(whole)
      assert.deepEqual(forms.toComparable(pass(api, { whole })), expected, 'whole')
      assert.deepEqual(forms.toComparable(pass(api, { stream: forms.toStream(answer) })), expected, 'streamed')
    }),
    { numRuns, seed },
  )
}

const messageCitation = fc.constantFrom<JsonObject>(
  { type: 'char_location', cited_text: 'Sky', document_index: 0, document_title: 'a', start_char_index: 0, end_char_index: 3 },
  { type: 'page_location', cited_text: 'Sky', document_index: 1, document_title: null, start_page_number: 1, end_page_number: 2 },
  { type: 'search_result_location', cited_text: 'Sky', source: 'https://a.example', title: 'A', search_result_index: 0 },
)
const messageText = fc
  .record({ value: text, citations: list(messageCitation) })
  .map(({ value, citations }) => ({ type: 'text', text: value, citations: citations.length === 0 ? null : citations }))
const messageThought = fc.oneof(
  text.map((thinking) => ({ type: 'thinking', thinking, signature: 'c2ln' })),
  fc.constant({ type: 'redacted_thinking', data: 'ZGF0YQ==' }),
)
const messageAnswer = fc
  .record({
    blocks: fc.array(fc.oneof(messageThought, messageText), { maxLength: 5 }),
    said: messageText,
    calls,
    ending: fc.constantFrom('end_turn', 'max_tokens', 'stop_sequence'),
    tokens,
  })
  .map(({ blocks, said, calls: made, ending, tokens: { input: read, cached, output, thought } }) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'up',
    content: [
      ...blocks,
      said,
      ...made.map(({ name, input: given }, i) => ({
        type: 'tool_use',
        id: `toolu_${i}`,
        name,
        input: given,
        caller: { type: 'direct' },
      })),
    ] as readonly JsonObject[],
    stop_reason: made.length > 0 && ending !== 'max_tokens' ? 'tool_use' : ending,
    stop_sequence: made.length === 0 && ending === 'stop_sequence' ? 'END' : null,
    usage: {
      input_tokens: read,
      cache_read_input_tokens: cached,
      cache_creation_input_tokens: 0,
      output_tokens: output,
      output_tokens_details: { thinking_tokens: thought },
    },
  }))

function toMessageStream({ content, stop_reason, stop_sequence, usage, ...message }: JsonObject): readonly object[] {
  const { output_tokens: _, ...read } = usage as JsonObject
  return [
    { type: 'message_start', message: { ...message, content: [], usage: { ...read, output_tokens: 1 } } },
    ...(content as readonly JsonObject[]).flatMap((block, index) => toBlockStream(block, index)),
    { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage },
    { type: 'message_stop' },
  ]
}

function toBlockStream(block: JsonObject, index: number): readonly object[] {
  const delta = (fields: object) => ({ type: 'content_block_delta', index, delta: fields })
  const start = (fields: object) => ({ type: 'content_block_start', index, content_block: { ...block, ...fields } })
  const stop = { type: 'content_block_stop', index }
  if (block['type'] === 'text') {
    const citations = ((block['citations'] ?? []) as readonly object[]).map((each) =>
      delta({ type: 'citations_delta', citation: each }),
    )
    const texts = split(String(block['text'])).map((piece) => delta({ type: 'text_delta', text: piece }))
    return [start({ text: '', citations: [] }), ...texts, ...citations, stop]
  }
  if (block['type'] === 'thinking') {
    const texts = split(String(block['thinking'])).map((piece) => delta({ type: 'thinking_delta', thinking: piece }))
    return [
      start({ thinking: '', signature: '' }),
      ...texts,
      delta({ type: 'signature_delta', signature: block['signature'] }),
      stop,
    ]
  }
  if (block['type'] === 'redacted_thinking') return [start({}), stop]
  const json = split(JSON.stringify(block['input']))
  return [start({ input: {} }), ...json.map((partial_json) => delta({ type: 'input_json_delta', partial_json })), stop]
}

t.test('a member of the Messages API receives the answer', async (t) => {
  check('messages', messageAnswer, {
    toWhole: (answer) => answer,
    toStream: toMessageStream,
    toComparable: ({ content, stop_reason, stop_sequence, usage }) => ({
      // They are sealed for the member.
      content: (content as readonly JsonObject[]).map((block) => omit(block, 'signature', 'data')),
      stop_reason,
      // Of the request, which has no such sequence here.
      ...(stop_sequence === null ? {} : { stop_reason: 'end_turn' }),
      usage: omit(usage as JsonObject, 'cache_creation', 'inference_geo', 'service_tier', 'speed', 'server_tool_use'),
    }),
  })
  t.pass(`${numRuns} answers`)
})

const annotation = fc.constantFrom<JsonObject>(
  { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 1 },
  { type: 'file_citation', file_id: 'file_1', filename: 'a.txt', index: 1 },
)
const responseMessage = fc
  .record({ value: text, annotations: list(annotation), phase: fc.constantFrom(undefined, 'commentary', 'final_answer') })
  .map(({ value, annotations, phase }) =>
    withoutUndefined({
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: value, annotations, logprobs: [] }],
      phase,
    }),
  )
const responseReasoning = text.map((value): JsonObject => ({
  type: 'reasoning',
  summary: [{ type: 'summary_text', text: value }],
  encrypted_content: 'gAAA',
}))
const responsePicture = fc.constant<JsonObject>({ type: 'image_generation_call', status: 'completed', result: 'iVBORw0KGgo=' })
const responseAnswer = fc
  .record({
    items: fc.array(fc.oneof(responseReasoning, responseMessage, responsePicture), { maxLength: 5 }),
    said: responseMessage,
    calls,
    tokens,
  })
  .map(({ items, said, calls: made, tokens: { input: read, cached, output, thought } }) => ({
    id: 'resp_1',
    object: 'response',
    model: 'up',
    status: 'completed',
    output: [
      ...items,
      said,
      ...made.map(({ name, input: given }, i) => ({
        type: 'function_call',
        status: 'completed',
        call_id: `call_${i}`,
        name,
        arguments: JSON.stringify(given),
      })),
    ].map((item, i): JsonObject => ({ id: `item_${i}`, ...item })),
    usage: {
      input_tokens: read + cached,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: thought },
      total_tokens: read + cached + output,
    },
  }))

function toItemStream(item: JsonObject, output_index: number): readonly object[] {
  const at = { item_id: item['id'], output_index }
  const added = (empty: object) => ({ type: 'response.output_item.added', output_index, item: { ...item, ...empty } })
  const done = { type: 'response.output_item.done', output_index, item }
  const pieces = (type: string, value: unknown) =>
    split(String(value)).map((delta) => ({ type: `response.${type}.delta`, ...at, content_index: 0, delta, logprobs: [] }))
  switch (item['type']) {
    case 'message': {
      const [part = {}] = item['content'] as readonly JsonObject[]
      const named = (part['annotations'] as readonly object[]).map((each, annotation_index) => ({
        type: 'response.output_text.annotation.added',
        ...at,
        annotation_index,
        annotation: each,
      }))
      return [added({ content: [] }), ...pieces('output_text', part['text']), ...named, done]
    }
    case 'reasoning': {
      const [part] = item['summary'] as readonly { readonly text: string }[]
      const begun = { type: 'response.reasoning_summary_part.added', ...at, summary_index: 0 }
      return [added({ summary: [] }), begun, ...pieces('reasoning_summary_text', part?.text), done]
    }
    case 'function_call':
      return [added({ arguments: '' }), ...pieces('function_call_arguments', item['arguments']), done]
    default:
      return [added({ result: null, status: 'in_progress' }), done]
  }
}

t.test('a member of the Responses API receives the answer', async (t) => {
  check('responses', responseAnswer, {
    toWhole: (answer) => answer,
    toStream: (answer) => [
      { type: 'response.created', response: { ...answer, status: 'in_progress', output: [] } },
      ...answer.output.flatMap((item, i) => toItemStream(item, i)),
      { type: 'response.completed', response: answer },
    ],
    toComparable: ({ status, output, usage }) => ({
      status,
      // Items have ids of the gateway and reasoning a status, and what is encrypted is sealed for the member.
      output: (output as readonly JsonObject[]).map((item) =>
        omit(item, 'id', 'encrypted_content', ...(item['type'] === 'reasoning' ? ['status'] : [])),
      ),
      usage,
    }),
  })
  t.pass(`${numRuns} answers`)
})

const geminiPart = fc.oneof(
  text.map((value) => ({ text: value })),
  text.map((value) => ({ text: value, thought: true })),
  fc.constant({ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }),
)
const geminiAnswer = fc
  .record({ parts: fc.array(geminiPart, { minLength: 1, maxLength: 5 }), calls, isCut: fc.boolean(), tokens })
  .map(({ parts, calls: made, isCut, tokens: { input: read, cached, output, thought } }) => ({
    parts: [
      // The API joins texts of one kind.
      ...parts.filter((part, i) => {
        const before = parts[i - 1]
        return !('text' in part && before !== undefined && 'text' in before && 'thought' in part === 'thought' in before)
      }),
      ...made.map(({ name, input: args }, i) => ({ functionCall: { id: `call_${i}`, name, args }, thoughtSignature: 'c2ln' })),
    ] as readonly JsonObject[],
    finishReason: isCut ? 'MAX_TOKENS' : 'STOP',
    usageMetadata: {
      promptTokenCount: read + cached,
      cachedContentTokenCount: cached,
      candidatesTokenCount: output,
      thoughtsTokenCount: thought,
      totalTokenCount: read + cached + output + thought,
    },
  }))

t.test('a member of the Gemini API receives the answer', async (t) => {
  const toAnswer = (parts: readonly object[], fields: object, usage: object): JsonObject => ({
    candidates: [{ content: { role: 'model', parts }, index: 0, ...fields }],
    ...usage,
    modelVersion: 'up',
    responseId: 'r',
  })
  check('gemini', geminiAnswer, {
    toWhole: ({ parts, finishReason, usageMetadata }) => toAnswer(parts, { finishReason }, { usageMetadata }),
    toStream: ({ parts, finishReason, usageMetadata }) => [
      ...parts.flatMap((part) =>
        typeof part['text'] === 'string'
          ? split(part['text']).map((piece) => toAnswer([{ ...part, text: piece }], {}, {}))
          : [toAnswer([part], {}, {})],
      ),
      toAnswer([{ text: '' }], { finishReason }, { usageMetadata }),
    ],
    toComparable: ({ candidates, usageMetadata }) => {
      const [{ content, finishReason } = {}] = candidates as readonly JsonObject[]
      const { parts } = content as { readonly parts: readonly JsonObject[] }
      return {
        // Signatures are sealed for the member. That of the thoughts stands on an empty text where there is no call.
        parts: parts.map((part) => omit(part, 'thoughtSignature')).filter((part) => part['text'] !== ''),
        finishReason,
        // Counts of zero are left out.
        usage: Object.fromEntries(Object.entries(usageMetadata as JsonObject).filter(([, count]) => count !== 0)),
      }
    },
  })
  t.pass(`${numRuns} answers`)
})

const chatMessage = fc
  .record({
    content: fc.option(text),
    reasoning_content: fc.option(text, { nil: undefined }),
    refusal: fc.option(text, { nil: undefined }),
    annotations: fc.option(
      fc.constant([
        { type: 'url_citation', url_citation: { url: 'https://a.example', title: 'A', start_index: 0, end_index: 0 } },
      ]),
      { nil: undefined },
    ),
    calls,
  })
  .map(({ calls: made, content, ...said }) => ({
    role: 'assistant',
    content: content ?? (made.length === 0 ? 'Done.' : null),
    ...withoutUndefined(said),
    ...(made.length === 0
      ? {}
      : {
          tool_calls: made.map(({ name, input: given }, i) => ({
            id: `call_${i}`,
            type: 'function',
            function: { name, arguments: JSON.stringify(given) },
          })),
        }),
  }))
const chatAnswer = fc
  .record({ messages: fc.array(chatMessage, { minLength: 1, maxLength: 2 }), isCut: fc.boolean(), tokens })
  .map(({ messages, isCut, tokens: { input: read, cached, output, thought } }) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'up',
    system_fingerprint: 'fp_1',
    choices: messages.map((message, index) => {
      const finish = isCut ? 'length' : 'tool_calls' in message ? 'tool_calls' : 'stop'
      // Ids of calls are unique in the answer.
      const unique = JSON.parse(JSON.stringify(message).replaceAll('"id":"call_', `"id":"call_${index}_`)) as JsonObject
      return { index, message: unique, logprobs: null, finish_reason: finish }
    }),
    usage: {
      prompt_tokens: read + cached,
      completion_tokens: output,
      total_tokens: read + cached + output,
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens_details: { reasoning_tokens: thought },
    },
  }))

/** The pieces of a message. */
function toDeltas({ content, reasoning_content, tool_calls = [], ...message }: JsonObject): readonly object[] {
  const texts = (name: string, value: unknown) =>
    split(typeof value === 'string' ? value : '').map((piece) => ({ [name]: piece }))
  return [
    { role: 'assistant', content: '' },
    ...texts('reasoning_content', reasoning_content),
    ...texts('content', content),
    ...Object.entries(message)
      .filter(([name]) => name !== 'role')
      .map(([name, value]) => ({ [name]: value })),
    ...(tool_calls as readonly { readonly function: { readonly name: string; readonly arguments: string } }[]).flatMap(
      (each, index) => [
        { tool_calls: [{ index, ...each, function: { name: each.function.name, arguments: '' } }] },
        ...split(each.function.arguments).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
      ],
    ),
  ]
}

t.test('a member of chat completions receives the answer', async (t) => {
  const allowlist = { productId: 'svc-2.1', extraFields: [] }
  const upstreamHost = 'up.example'
  fc.assert(
    fc.property(chatAnswer, (answer) => {
      const { usage } = answer
      const bounds = { inputEstimate: usage.prompt_tokens, outputCap: 4_096 }
      const around = { allowlist, context: chatContext, bounds, upstreamHost }
      const { final } = toCompletionResult({ ...around, answer: new CompletionAnswer({ ...answer }) })
      if (final.kind !== 'reply') throw new Error('no reply')
      assert.deepEqual(JSON.parse(String(final.reply.body)), { ...answer, model: 'svc-2.1' }, 'whole')

      const head = { ...omit(answer, 'choices', 'usage'), object: 'chat.completion.chunk' }
      const chunks: readonly JsonObject[] = [
        ...answer.choices.flatMap(({ index, message, finish_reason }) => [
          ...toDeltas(message).map((delta) => ({ ...head, choices: [{ index, delta, logprobs: null, finish_reason: null }] })),
          { ...head, choices: [{ index, delta: {}, logprobs: null, finish_reason }] },
        ]),
        { ...head, choices: [], usage },
      ]
      const sink = new ClientEvents({ allowlist, context: chatContext, includeUsage: true, onEvent: null })
      const reader = new StreamReader({ bounds, upstreamHost, context: repairContext, sink })
      const frames = chunks.map((chunk) => reader.push(Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`)))
      const end = reader.push(Buffer.from('data: [DONE]\n\n')) + sink.buildTrailer(reader.report ?? {})
      const received = parseStream(frames.join('') + end)
      assert.deepEqual(
        received.slice(0, -1),
        chunks.slice(0, -1).map((chunk) => ({ ...chunk, model: 'svc-2.1' })),
        'streamed',
      )
      assert.deepEqual(received.at(-1)?.['usage'], usage, 'streamed')
    }),
    { numRuns, seed },
  )
  t.pass(`${numRuns} answers`)
})
