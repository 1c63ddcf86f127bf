/**
 * The same API on both sides: a target receives what the member sent, and the member receives what the target answered. 1 000 requests and
 * answers, generated from a seed. What differs:
 *
 * - the model, whether the target streams, the cap of the output where it is above the hold, and the pseudonym of `prompt_cache_key`
 * - in answers, the ids of items of the Responses API, and the signature of thinking, which is sealed for the member
 *
 * Not generated, because it is received in another form: texts in a row in one message, marks for the cache of an
 * hour and those within results, system messages between others, and settings that a policy drops.
 */
import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import t from 'tap'
import { setUpAnthropicGateway, setUpResponsesGateway } from '../../support/gateway/scripted-gateway.ts'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import { sendJson, startScriptedServer } from '../../support/servers/scripted-server.ts'

type Fields = Readonly<Record<string, unknown>>

const seed = 20_261_128
const word = fc.constantFrom('sky', 'grass', 'Größe', '天空', '🌱', '"quoted"', 'a\nb', '<tag>', '\\', '1')
const text = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join(' '))
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const input = fc
  .record({ word: text, deep: fc.option(fc.record({ n: fc.integer(), list: fc.array(word, { maxLength: 2 }) })) })
  // As JSON has it: without prototypes of the generator, and without -0.
  .map((value) => JSON.parse(JSON.stringify(value)) as Fields)
const schema = fc.constantFrom<Fields>(
  { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
  { type: 'object', properties: { list: { type: 'array', items: { type: 'string' } } }, additionalProperties: false },
  { type: 'object', properties: {} },
)
/** Unique, in their order. */
const callIds = (count: number, at: number) => Array.from({ length: count }, (_, i) => `call_${at}_${i}`)
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const withoutUndefined = (fields: object): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

interface Turn {
  readonly question: readonly object[] | string
  readonly calls: readonly Fields[]
  readonly said: string
  readonly results: readonly string[]
}

function toTurns(question: fc.Arbitrary<readonly object[] | string>): fc.Arbitrary<readonly Turn[]> {
  const turn = fc.record({
    question,
    calls: fc.array(input, { maxLength: 3 }),
    said: text,
    results: fc.array(text, { minLength: 3, maxLength: 3 }),
  })
  return fc.array(turn, { minLength: 1, maxLength: 3 })
}

const omit = (fields: Fields, names: ReadonlySet<string>): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.has(name)))

/** @param allowed fields of the request that may differ */
function compare(sent: Fields, received: Fields, allowed: ReadonlySet<string>): void {
  assert.deepEqual(omit(received, allowed), omit(sent, allowed))
}

const chatPart = fc.oneof(
  text.map((value) => ({ type: 'text', text: value })),
  fc.constant({ type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } }),
  fc.constant({ type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}`, detail: 'low' } }),
)
const chatQuestion = fc.oneof(text, fc.array(chatPart, { minLength: 1, maxLength: 3 }))
const chatMessages = fc
  .record({ system: optional(text), turns: toTurns(chatQuestion), last: chatQuestion })
  .map(({ system, turns, last }) => [
    ...(system === undefined ? [] : [{ role: 'system', content: system }]),
    ...turns.flatMap(({ question, calls, said, results }, at) => {
      const ids = callIds(calls.length, at)
      const toolCalls = calls.map((each, i) => ({
        id: ids[i],
        type: 'function',
        function: { name: 'look', arguments: JSON.stringify(each) },
      }))
      return [
        { role: 'user', content: question },
        { role: 'assistant', content: said, ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }) },
        ...ids.map((id, i) => ({ role: 'tool', tool_call_id: id, content: results[i] })),
      ]
    }),
    { role: 'user', content: last },
  ])
const chatRequest = fc
  .record({
    messages: chatMessages,
    temperature: optional(fc.constantFrom(0, 0.2, 1, 2)),
    top_p: optional(fc.constantFrom(0.1, 1)),
    top_k: optional(fc.constantFrom(1, 40)),
    seed: optional(fc.integer()),
    stop: optional(fc.oneof(text, fc.array(text, { minLength: 1, maxLength: 3 }))),
    frequency_penalty: optional(fc.constantFrom(-2, 0, 1.5)),
    logit_bias: optional(fc.constant({ '50256': -100 })),
    tools: schema.map((parameters) => [
      { type: 'function', function: { name: 'look', description: 'Looks a word up.', parameters } },
    ]),
    tool_choice: optional(fc.constantFrom<unknown>('auto', 'none', 'required', { type: 'function', function: { name: 'look' } })),
    parallel_tool_calls: optional(fc.boolean()),
    response_format: optional(fc.constantFrom({ type: 'text' }, { type: 'json_object' })),
    reasoning_effort: optional(fc.constantFrom('low', 'high')),
    max_tokens: optional(fc.integer({ min: 500, max: 1_000 })),
  })
  .map(withoutUndefined)

const usage = { prompt_tokens: 30, completion_tokens: 8, total_tokens: 38 }
const chatAnswer = fc
  .record({ content: text, reasoning_content: optional(text), calls: fc.array(input, { maxLength: 3 }) })
  .map(({ calls, ...said }) => ({
    role: 'assistant',
    ...withoutUndefined(said),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map((each, i) => ({
            id: `call_${i}`,
            type: 'function',
            function: { name: 'look', arguments: JSON.stringify(each) },
          })),
        }),
  }))

t.test('a target of chat completions receives the request, and the member its answer', async (t) => {
  let message: Fields = {}
  const server = await startScriptedServer<Fields>(t, (_, response, body, { requests }) => {
    requests.push(JSON.parse(body) as Fields)
    const finish = message['tool_calls'] === undefined ? 'stop' : 'tool_calls'
    sendJson(response, 200, {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'up',
      choices: [{ index: 0, message, finish_reason: finish }],
      usage,
    })
  })
  const gateway = await startGateway(t, { upstreams: { main: { baseUrl: server.url, streams: false } } })
  const { token } = await gateway.createMember()
  const allowed = new Set(['model', 'max_tokens', 'stream'])
  await fc.assert(
    fc.asyncProperty(chatRequest, chatAnswer, async (request, answer) => {
      message = answer
      const response = await gateway.chat(token, request)
      const body = (await response.json()) as { readonly choices?: readonly { readonly message: Fields }[] }
      assert.equal(response.status, 200, JSON.stringify(body))
      const received = server.requests.at(-1) ?? {}
      compare(request, received, allowed)
      if (request['max_tokens'] !== undefined) assert.equal(received['max_tokens'], request['max_tokens'])
      assert.deepEqual(body.choices?.[0]?.message, answer)
    }),
    { numRuns: 400, seed },
  )
  t.pass('400 requests')
})

const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } }
const document = {
  type: 'document',
  title: 'scan.pdf',
  source: { type: 'base64', media_type: 'application/pdf', data: btoa('%PDF-1.4 /Type /Page') },
}
const { title: _, ...untitled } = document
/** A block with or without a mark for the cache. */
const markable = <T extends object>(block: fc.Arbitrary<T>) =>
  fc
    .record({ block, isMarked: fc.boolean() })
    .map(({ block: each, isMarked }) => (isMarked ? { ...each, cache_control: { type: 'ephemeral' } } : each))
const messagesQuestion = fc
  .record({
    files: fc
      .subarray([image, document, untitled])
      .chain((files) => fc.tuple(...files.map((file) => markable(fc.constant(file))))),
    said: markable(text.map((value) => ({ type: 'text', text: value }))),
  })
  .map(({ files, said }) => [...(files.length === 0 ? [] : [said]), ...files, said])
const textBlock = text.map((value) => ({ type: 'text', text: value }))
/** What stands in the result of a tool besides its first text. */
const resultRest = fc.record({
  blocks: fc.array(fc.oneof(fc.constantFrom(image, document, untitled), textBlock), { maxLength: 3 }),
  fields: fc.constantFrom<Fields>({}, { is_error: true }, { cache_control: { type: 'ephemeral' } }),
})

/** The API takes four marks in a request. */
function limitMarks(messages: readonly { readonly role: string; readonly content: readonly object[] }[]): readonly object[] {
  let marks = 0
  return messages.map(({ role, content }) => ({
    role,
    content: content.map((block) =>
      'cache_control' in block && ++marks > 4 ? omit(block as Fields, new Set(['cache_control'])) : block,
    ),
  }))
}

const messagesHistory = fc
  .record({
    turns: toTurns(messagesQuestion),
    last: messagesQuestion,
    rests: fc.array(resultRest, { minLength: 1, maxLength: 4 }),
    isCallMarked: fc.boolean(),
  })
  .map(({ turns, last, rests, isCallMarked }) => {
    const messages: { readonly role: string; readonly content: object[] }[] = []
    let results: object[] = []
    for (const [at, { question, calls, said, results: texts }] of turns.entries()) {
      const ids = callIds(calls.length, at)
      messages.push(
        { role: 'user', content: [...results, ...question.slice()] as object[] },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: said },
            ...calls.map((each, i) => ({
              type: 'tool_use',
              id: ids[i],
              name: 'look',
              input: each,
              ...(isCallMarked && i === 1 ? { cache_control: { type: 'ephemeral' } } : {}),
            })),
          ],
        },
      )
      results = ids.map((id, i) => {
        const { blocks = [], fields = {} } = rests[(at + i) % rests.length] ?? {}
        return { type: 'tool_result', tool_use_id: id, content: [{ type: 'text', text: texts[i] }, ...blocks], ...fields }
      })
    }
    return limitMarks([...messages, { role: 'user', content: [...results, ...last] }])
  })
const messagesRequest = fc
  .record({
    messages: messagesHistory,
    max_tokens: fc.integer({ min: 500, max: 1_000 }),
    system: optional(text.map((value) => [{ type: 'text', text: value }])),
    temperature: optional(fc.constantFrom(0, 0.2, 1)),
    top_k: optional(fc.constantFrom(1, 40)),
    stop_sequences: optional(fc.array(text, { minLength: 1, maxLength: 3 })),
    tools: schema.map((input_schema) => [{ name: 'look', description: 'Looks a word up.', input_schema }]),
    tool_choice: optional(
      fc.constantFrom<unknown>(
        { type: 'auto' },
        { type: 'any' },
        { type: 'none' },
        { type: 'tool', name: 'look' },
        { type: 'auto', disable_parallel_tool_use: true },
      ),
    ),
  })
  .map(withoutUndefined)

const messagesAnswer = fc
  .record({ said: optional(text), calls: fc.array(input, { maxLength: 3 }), thought: optional(text) })
  .map(({ said, calls, thought }) => [
    ...(thought === undefined ? [] : [{ type: 'thinking', thinking: thought, signature: 'c2ln' }]),
    ...(said === undefined && calls.length > 0 ? [] : [{ type: 'text', text: said ?? 'Done.', citations: null }]),
    ...calls.map((each, i) => ({ type: 'tool_use', id: `toolu_${i}`, name: 'look', input: each, caller: { type: 'direct' } })),
  ])

t.test('a target of the Messages API receives the request, and the member its answer', async (t) => {
  let content: readonly Fields[] = []
  const { server, post } = await setUpAnthropicGateway(t, () => ({
    content,
    stopReason: content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn',
  }))
  const allowed = new Set(['model', 'stream'])
  await fc.assert(
    fc.asyncProperty(messagesRequest, messagesAnswer, async (request, answer) => {
      content = answer
      const response = await post('/v1/messages', request)
      const body = (await response.json()) as { readonly content?: readonly Fields[] }
      assert.equal(response.status, 200, JSON.stringify(body))
      compare(request, server.requests.at(-1) ?? {}, allowed)
      // The signature is sealed for the member, and opened when it returns.
      const withoutSignatures = (blocks: readonly Fields[] = []) => blocks.map((block) => omit(block, new Set(['signature'])))
      assert.deepEqual(withoutSignatures(body.content), withoutSignatures(answer))
    }),
    { numRuns: 300, seed },
  )
  t.pass('300 requests')
})

/** A text alone is a string here: as a list of one part it would mean the same, and be received as a string. */
const responsesQuestion = fc.record({ hasPicture: fc.boolean(), said: text }).map(({ hasPicture, said }) =>
  hasPicture
    ? [
        { type: 'input_text', text: said },
        { type: 'input_image', image_url: `data:image/png;base64,${pixel}`, detail: 'low' },
      ]
    : said,
)
const responsesHistory = fc.record({ turns: toTurns(responsesQuestion), last: responsesQuestion }).map(({ turns, last }) => [
  ...turns.flatMap(({ question, calls, said, results }, at) => {
    const ids = callIds(calls.length, at)
    return [
      { type: 'message', role: 'user', content: question },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: said, annotations: [] }] },
      ...calls.map((each, i) => ({ type: 'function_call', call_id: ids[i], name: 'look', arguments: JSON.stringify(each) })),
      ...ids.map((call_id, i) => ({ type: 'function_call_output', call_id, output: results[i] })),
    ]
  }),
  { type: 'message', role: 'user', content: last },
])
const responsesRequest = fc
  .record({
    input: responsesHistory,
    max_output_tokens: fc.integer({ min: 500, max: 1_000 }),
    instructions: optional(text),
    temperature: optional(fc.constantFrom(0, 0.2, 2)),
    top_p: optional(fc.constantFrom(0.1, 1)),
    tools: schema.map((parameters) => [
      { type: 'function', name: 'look', description: 'Looks a word up.', parameters, strict: false },
    ]),
    tool_choice: optional(fc.constantFrom<unknown>('auto', 'none', 'required', { type: 'function', name: 'look' })),
    parallel_tool_calls: optional(fc.boolean()),
    reasoning: optional(fc.constantFrom({ effort: 'low', summary: 'auto' }, { effort: 'high', summary: 'detailed' })),
    prompt_cache_key: optional(text),
    text: optional(
      fc.constantFrom<unknown>(
        { verbosity: 'low' },
        { format: { type: 'json_schema', name: 'a', schema: { type: 'object' }, strict: false } },
      ),
    ),
    store: fc.constant(false),
  })
  .map(withoutUndefined)

const responsesAnswer = fc
  .record({ said: optional(text), calls: fc.array(input, { maxLength: 3 }) })
  .map(({ said, calls }) => [
    ...(said === undefined && calls.length > 0 ? [] : [{ type: 'message', text: said ?? 'Done.' }]),
    ...calls.map((each, i) => ({ type: 'function_call', call_id: `call_${i}`, name: 'look', arguments: JSON.stringify(each) })),
  ])

t.test('a target of the Responses API receives the request, and the member its answer', async (t) => {
  let output: readonly Fields[] = []
  const { server, post } = await setUpResponsesGateway(t, () => ({ output }))
  // The key of the cache becomes a pseudonym of account and key.
  const allowed = new Set(['model', 'stream', 'include', 'prompt_cache_key'])
  await fc.assert(
    fc.asyncProperty(responsesRequest, responsesAnswer, async (request, answer) => {
      output = answer
      const response = await post('/v1/responses', request)
      const body = (await response.json()) as { readonly output?: readonly Fields[] }
      assert.equal(response.status, 200, JSON.stringify(body))
      compare(request, server.requests.at(-1) ?? {}, allowed)
      // Items have ids of the gateway's own.
      const received = (body.output ?? []).map((item) => omit(item, new Set(['id'])))
      assert.deepEqual(
        received,
        answer.map((item) => {
          if (!('text' in item)) return { ...item, status: 'completed' }
          const content = [{ type: 'output_text', text: item.text, annotations: [], logprobs: [] }]
          return { type: 'message', role: 'assistant', status: 'completed', content }
        }),
      )
    }),
    { numRuns: 300, seed },
  )
  t.pass('300 requests')
})
