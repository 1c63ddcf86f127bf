/**
 * The same API on both sides: a target receives what the member sent, and the member receives what the target answered. 300 requests and
 * answers, generated from a seed; `SAME_API_RUNS=4` takes four times as many. What differs:
 *
 * - the model, whether the target streams, the cap of the output, and names of the member, which become pseudonyms
 * - `include` of the Responses API, which asks for reasoning that can return
 * - in answers, the ids of items of the Responses API, and the signature of thinking, which is sealed for the member
 *
 * The requests of three agents are compared too. `test/rules/formats/` has what the gateway must change, one by one.
 */
import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import t from 'tap'
import { setUpAnthropicGateway, setUpGeminiGateway, setUpResponsesGateway } from '../../../support/gateway/scripted-gateway.ts'
import { claudeCodeBetas, claudeCodeRequest, codexRequest, geminiRequest } from '../../../support/formats/agent-requests.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import { sendJson, startScriptedServer } from '../../../support/upstream/scripted-server.ts'

type Fields = Readonly<Record<string, unknown>>

const seed = Number(process.env['SAME_API_SEED'] ?? 20_261_128)
const runs = Number(process.env['SAME_API_RUNS'] ?? 1)
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
    { numRuns: 100 * runs, seed },
  )
  t.pass('400 requests')
})

const mark = { cache_control: { type: 'ephemeral' } }
const block = text.map((value) => ({ type: 'text', text: value }))
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } }
const pdf = { type: 'base64', media_type: 'application/pdf', data: btoa('%PDF-1.4 /Type /Page') }
const messagesBlock = fc.oneof(
  block,
  block.map((value) => ({ ...value, citations: null })),
  fc.constantFrom<object>(image, { type: 'document', source: pdf }, { type: 'document', title: 'scan.pdf', source: pdf }),
)
const messagesQuestion = fc.array(messagesBlock, { minLength: 1, maxLength: 4 })
const toolResult = fc.record({
  content: fc.oneof(text, messagesQuestion),
  is_error: optional(fc.boolean()),
})
const messagesTurn = fc.record({
  question: messagesQuestion,
  note: optional(text),
  calls: fc.array(input, { maxLength: 3 }),
  said: fc.array(block, { maxLength: 2 }),
  thought: optional(text),
  results: fc.array(toolResult, { minLength: 3, maxLength: 3 }),
})
const messagesHistory = fc
  .record({ turns: fc.array(messagesTurn, { minLength: 1, maxLength: 3 }), last: messagesQuestion, isMarked: fc.boolean() })
  .map(({ turns, last, isMarked }) => {
    const messages: { readonly role: string; readonly content: unknown }[] = []
    let results: object[] = []
    for (const [at, { question, note, calls, said, thought, results: given }] of turns.entries()) {
      const ids = callIds(calls.length, at)
      const thinking = thought === undefined ? [] : [{ type: 'thinking', thinking: thought, signature: 'c2ln' }]
      const uses = calls.map((each, i) => ({ type: 'tool_use', id: ids[i], name: 'look', input: each }))
      const blocks = [...thinking, ...said, ...uses]
      messages.push({ role: 'user', content: [...results, ...question] })
      if (note !== undefined) messages.push({ role: 'system', content: note })
      messages.push({ role: 'assistant', content: said.length + uses.length === 0 ? 'Yes.' : blocks })
      results = ids.map((id, i) => withoutUndefined({ type: 'tool_result', tool_use_id: id, ...given[i] }))
    }
    const content = [...results, ...last]
    const ends = isMarked ? [...content.slice(0, -1), { ...content.at(-1), ...mark }] : content
    return [...messages, { role: 'user', content: ends }]
  })
const messagesRequest = fc
  .record({
    messages: messagesHistory,
    max_tokens: fc.integer({ min: 500, max: 1_000 }),
    system: optional(
      fc.oneof(
        text,
        fc.array(
          fc.oneof(
            block,
            block.map((value) => ({ ...value, ...mark })),
          ),
          { minLength: 1, maxLength: 3 },
        ),
      ),
    ),
    temperature: optional(fc.constantFrom(0, 0.2, 1)),
    top_k: optional(fc.constantFrom(1, 40)),
    stop_sequences: optional(fc.array(text, { minLength: 1, maxLength: 3 })),
    context_management: optional(
      fc.constant({ edits: [{ type: 'clear_tool_uses_20250919', keep: { type: 'tool_uses', value: 3 } }] }),
    ),
    output_config: optional(fc.constantFrom({ effort: 'low' }, { effort: 'high' })),
    tools: schema.map((input_schema) => [
      { name: 'look', description: 'Looks a word up.', input_schema },
      { name: 'find', input_schema, defer_loading: true },
    ]),
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
      const response = await post('/v1/messages', request, { 'anthropic-beta': claudeCodeBetas })
      const body = (await response.json()) as { readonly content?: readonly Fields[] }
      assert.equal(response.status, 200, JSON.stringify(body))
      compare(request, server.requests.at(-1) ?? {}, allowed)
      // The signature is sealed for the member, and opened when it returns.
      const withoutSignatures = (blocks: readonly Fields[] = []) => blocks.map((block) => omit(block, new Set(['signature'])))
      assert.deepEqual(withoutSignatures(body.content), withoutSignatures(answer))
    }),
    { numRuns: 75 * runs, seed },
  )
  assert.equal((await post('/v1/messages', claudeCodeRequest, { 'anthropic-beta': claudeCodeBetas })).status, 200)
  const received: Fields = server.requests.at(-1) ?? {}
  compare(claudeCodeRequest, received, new Set(['model', 'max_tokens', 'metadata']))
  t.match(received['metadata'], { user_id: /^[0-9a-f]{32}$/ }, 'a pseudonym')
  t.same(server.rejected, [])
})

const inputText = text.map((value) => ({ type: 'input_text', text: value }))
const inputPart = fc.oneof(
  inputText,
  fc.constant({ type: 'input_image', image_url: `data:image/png;base64,${pixel}`, detail: 'low' }),
)
const responsesQuestion = fc.oneof(text, fc.array(inputPart, { minLength: 1, maxLength: 3 }))
const responsesTurn = fc.record({
  question: responsesQuestion,
  note: optional(fc.oneof(text, fc.array(inputText, { minLength: 1, maxLength: 2 }))),
  calls: fc.array(fc.record({ input, namespace: optional(fc.constant('files')) }), { maxLength: 3 }),
  said: optional(text),
  thought: optional(text),
  results: fc.array(fc.oneof(text, fc.array(inputPart, { minLength: 1, maxLength: 3 })), { minLength: 3, maxLength: 3 }),
})
const responsesHistory = fc
  .record({ turns: fc.array(responsesTurn, { minLength: 1, maxLength: 3 }), last: responsesQuestion, hasIds: fc.boolean() })
  .map(({ turns, last, hasIds }) => {
    const items = turns.flatMap(({ question, note, calls, said, thought, results }, at) => {
      const ids = callIds(calls.length, at)
      const reasoning = { type: 'reasoning', summary: [], encrypted_content: `gAAAA${String(thought)}` }
      return [
        { type: 'message', role: 'user', content: question },
        ...(note === undefined ? [] : [{ type: 'message', role: 'developer', content: note }]),
        ...(thought === undefined ? [] : [reasoning]),
        ...calls.map((each, i) =>
          withoutUndefined({
            type: 'function_call',
            call_id: ids[i],
            name: 'look',
            namespace: each.namespace,
            arguments: JSON.stringify(each.input),
          }),
        ),
        ...(said === undefined && calls.length > 0
          ? []
          : [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: said ?? 'Yes.', annotations: [] }] }]),
        ...ids.map((call_id, i) => ({ type: 'function_call_output', call_id, output: results[i] })),
      ]
    })
    const all: readonly object[] = [...items, { type: 'message', role: 'user', content: last }]
    return hasIds ? all.map((item, i) => ({ id: `item_${i}`, ...item })) : all
  })
const responsesRequest = fc
  .record({
    input: responsesHistory,
    max_output_tokens: fc.integer({ min: 500, max: 1_000 }),
    instructions: optional(text),
    temperature: optional(fc.constantFrom(0, 0.2, 2)),
    top_p: optional(fc.constantFrom(0.1, 1)),
    tools: schema.map((parameters) => {
      const tool = { type: 'function', name: 'look', description: 'Looks a word up.', parameters, strict: false }
      return [tool, { type: 'namespace', name: 'files', description: 'Files.', tools: [tool] }]
    }),
    tool_choice: optional(fc.constantFrom<unknown>('auto', 'none', 'required', { type: 'function', name: 'look' })),
    parallel_tool_calls: optional(fc.boolean()),
    reasoning: optional(fc.constantFrom<unknown>({ effort: 'low', summary: 'auto' }, { effort: 'high' }, { context: 'all' }, {})),
    client_metadata: optional(text.map((value) => ({ thread_id: value }))),
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
  .record({ said: optional(text), calls: fc.array(input, { maxLength: 3 }), namespace: optional(fc.constant('files')) })
  .map(({ said, calls, namespace }) => [
    ...(said === undefined && calls.length > 0 ? [] : [{ type: 'message', text: said ?? 'Done.' }]),
    ...calls.map((each, i) =>
      withoutUndefined({ type: 'function_call', call_id: `call_${i}`, name: 'look', namespace, arguments: JSON.stringify(each) }),
    ),
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
    { numRuns: 75 * runs, seed },
  )
  assert.equal((await post('/v1/responses', codexRequest)).status, 200)
  const received: Fields = server.requests.at(-1) ?? {}
  compare(codexRequest, received, new Set(['model', 'max_output_tokens', 'prompt_cache_key']))
  t.match(received['prompt_cache_key'], /^[0-9a-f]{32}$/, 'a pseudonym')
  t.same(server.rejected, [])
})

const geminiPart = fc.oneof(
  text.map((value) => ({ text: value })),
  fc.constant({ inlineData: { mimeType: 'image/png', data: pixel } }),
)
const geminiTurn = fc.record({
  question: fc.array(geminiPart, { minLength: 1, maxLength: 3 }),
  thought: optional(text),
  said: text,
  calls: fc.array(input, { maxLength: 3 }),
  hasIds: fc.boolean(),
})
const geminiRequestOf = fc
  .record({
    turns: fc.array(geminiTurn, { minLength: 1, maxLength: 3 }),
    last: text,
    systemInstruction: optional(text.map((value) => ({ parts: [{ text: value }, { text: 'Be kind.' }] }))),
    tools: schema.map((parametersJsonSchema) => [{ functionDeclarations: [{ name: 'look', parametersJsonSchema }] }]),
    toolConfig: optional(fc.constantFrom('AUTO', 'ANY', 'NONE').map((mode) => ({ functionCallingConfig: { mode } }))),
    generationConfig: fc
      .record({
        maxOutputTokens: fc.integer({ min: 500, max: 1_000 }),
        temperature: optional(fc.constantFrom(0, 1)),
        stopSequences: optional(fc.array(text, { minLength: 1, maxLength: 2 })),
        thinkingConfig: optional(fc.constantFrom({ includeThoughts: true }, { thinkingBudget: 1_024 })),
        responseSchema: optional(fc.constant({ type: 'OBJECT', properties: { a: { type: 'STRING', nullable: true } } })),
      })
      .map(withoutUndefined),
  })
  .map(({ turns, last, ...others }) => {
    const contents = turns.flatMap(({ question, thought, said, calls, hasIds }, at) => {
      const ids = callIds(calls.length, at)
      const uses = calls.map((args, i) => ({
        functionCall: withoutUndefined({ id: hasIds ? ids[i] : undefined, name: 'look', args }),
        ...(i === 0 ? { thoughtSignature: 'c2lnbmVk' } : {}),
      }))
      const results = calls.map((response, i) => ({
        functionResponse: withoutUndefined({ id: hasIds ? ids[i] : undefined, name: 'look', response }),
      }))
      const thoughts = thought === undefined ? [] : [{ text: thought, thought: true }]
      return [
        { role: 'user', parts: question },
        { role: 'model', parts: [...thoughts, { text: said }, ...uses] },
        ...(results.length === 0
          ? []
          : [
              { role: 'user', parts: results },
              { role: 'model', parts: [{ text: 'Seen.' }] },
            ]),
      ]
    })
    return withoutUndefined({ contents: [...contents, { role: 'user', parts: [{ text: last }] }], ...others })
  })

t.test('a target of the Gemini API receives the request', async (t) => {
  const { server, post } = await setUpGeminiGateway(t)
  const path = '/v1beta/models/svc-2.1:generateContent'
  const allowed = new Set(['model', 'stream'])
  const send = async (request: Fields): Promise<void> => {
    const response = await post(path, request)
    assert.equal(response.status, 200, await response.text())
    compare({ ...request, model: null }, server.requests.at(-1) ?? {}, allowed)
  }
  await fc.assert(fc.asyncProperty(geminiRequestOf, send), { numRuns: 50 * runs, seed })
  await send(geminiRequest)
  t.same(server.rejected, [])
})
