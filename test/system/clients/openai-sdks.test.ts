/** OpenAI's SDK, its Agents SDK and the Vercel AI SDK: loops of two tool calls through their own accumulators, streamed and whole. */
import type * as OpenAiPackage from 'openai'
import type { ResponseCreateParams, ResponseFunctionToolCall, ResponseInputItem } from 'openai/resources/responses/responses.js'
import t from 'tap'
import type { Test } from 'tap'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import { responsesKey, startResponsesServer } from '../../support/upstream/responses-server.ts'
import { openClientPackages } from './client-packages.ts'
import { finalText, parameters, runAiLoop, startLoop, words } from './support/tool-loop.ts'
import type { Ai, Loop } from './support/tool-loop.ts'

/** The history that the upstream received with the last request: each call with its result directly after it, and the reasoning. */
const lastMessages = [
  { role: 'user' },
  {
    role: 'assistant',
    content: 'Let me look.',
    tool_calls: [
      { id: 'call_a', function: { name: 'look', arguments: '{"word":"sky"}' } },
      { id: 'call_b', function: { name: 'look', arguments: '{"word":"grass"}' } },
    ],
  },
  { role: 'tool', tool_call_id: 'call_a', content: 'blue' },
  { role: 'tool', tool_call_id: 'call_b', content: 'green' },
  { role: 'assistant', tool_calls: [{ id: 'call_c' }] },
  { role: 'tool', tool_call_id: 'call_c', content: 'white' },
]

const getBaseUrl = ({ gateway }: Loop) => `${gateway.url}/v1`

async function checkLoop(t: Test, loop: Loop): Promise<void> {
  const messages = (await loop.check(t)).filter(({ role }) => role !== 'system')
  t.match(messages, lastMessages)
  t.equal(messages.length, lastMessages.length)
}

async function createAiModel(loop: Loop): Promise<object> {
  type CreateOpenAI = (options: object) => (model: string) => object
  const { createOpenAI } = await loop.packages.load<{ createOpenAI: CreateOpenAI }>('@ai-sdk/openai')
  return createOpenAI({ apiKey: loop.apiKey, baseURL: getBaseUrl(loop) })('svc-2.1')
}

/** Sends the question and the results of its calls until an answer has no call. */
async function runResponsesLoop(
  t: Test,
  { responses }: InstanceType<(typeof OpenAiPackage)['default']>,
  streamed: boolean,
  usage: object,
  options: Pick<ResponseCreateParams, 'include' | 'reasoning'>,
): Promise<void> {
  const input: ResponseInputItem[] = [{ role: 'user', content: 'Which colours?' }]
  for (;;) {
    const tools = [{ type: 'function' as const, name: 'look', description: null, parameters, strict: true }]
    const request = { model: 'svc-2.1', input, store: false, tools, ...options }
    const response = streamed ? await responses.stream(request).finalResponse() : await responses.create(request)
    t.match(response, { status: 'completed', model: 'svc-2.1', usage })
    const calls = response.output.flatMap((item) => (item.type === 'function_call' ? [item as ResponseFunctionToolCall] : []))
    input.push(...(response.output as ResponseInputItem[]))
    for (const call of calls) {
      const { word } = JSON.parse(call.arguments) as { word: string }
      input.push({ type: 'function_call_output', call_id: call.call_id, output: words[word] ?? '' })
    }
    if (calls.length > 0) continue
    t.equal(response.output_text, finalText)
    return
  }
}

for (const streamed of [false, true]) {
  const how = streamed ? 'streamed' : 'whole'

  t.test(`openai, ${how}`, async (t) => {
    const loop = await startLoop(t)
    if (loop === undefined) return
    const { default: OpenAI } = await loop.packages.load<typeof OpenAiPackage>('openai')
    await runResponsesLoop(
      t,
      new OpenAI({ apiKey: loop.apiKey, baseURL: getBaseUrl(loop) }),
      streamed,
      { input_tokens: 1200, output_tokens: 34, total_tokens: 1234 },
      { include: ['reasoning.encrypted_content'] },
    )
    t.match(loop.model.requests.at(-1)?.messages[1], { reasoning_content: 'Two words first.' }, 'the reasoning returns')
    await checkLoop(t, loop)
  })

  t.test(`@openai/agents, ${how}`, async (t) => {
    const loop = await startLoop(t)
    if (loop === undefined) return
    const { default: OpenAI } = await loop.packages.load<typeof OpenAiPackage>('openai')
    interface Agents {
      readonly Agent: new (options: object) => object
      run(agent: object, input: string, options: object): Promise<{ finalOutput: unknown; completed?: Promise<void> }>
      tool(options: object): object
      readonly OpenAIResponsesModel: new (client: object, model: string) => object
      setTracingDisabled(disabled: boolean): void
    }
    const { Agent, OpenAIResponsesModel, run, tool, setTracingDisabled } = await loop.packages.load<Agents>('@openai/agents')
    const model = new OpenAIResponsesModel(new OpenAI({ apiKey: loop.apiKey, baseURL: getBaseUrl(loop) }), 'svc-2.1')
    setTracingDisabled(true)
    const look = tool({
      name: 'look',
      description: 'Looks a word up.',
      parameters,
      strict: true,
      execute: async (args: unknown) => words[(args as { word: string }).word],
    })
    const agent = new Agent({ name: 'Painter', instructions: 'Be short.', model, tools: [look] })
    const result = await run(agent, 'Which colours?', { stream: streamed })
    await result.completed
    t.equal(result.finalOutput, finalText)
    await checkLoop(t, loop)
  })

  t.test(`@ai-sdk/openai, ${how}`, async (t) => {
    const loop = await startLoop(t)
    if (loop === undefined) return
    await runAiLoop(t, loop, {
      streamed,
      model: await createAiModel(loop),
      providerOptions: { openai: { store: false, include: ['reasoning.encrypted_content'] } },
    })
    await checkLoop(t, loop)
  })
}

t.test('the AI SDK reads how to make its second request work', async (t) => {
  const loop = await startLoop(t)
  if (loop === undefined) return
  const { generateText, tool, jsonSchema, isStepCount } = await loop.packages.load<Ai>('ai')
  const request = generateText({
    model: await createAiModel(loop),
    prompt: 'Which colours?',
    tools: { look: tool({ inputSchema: jsonSchema(parameters), execute: async () => 'blue' }) },
    stopWhen: isStepCount(5),
    maxRetries: 2,
  })
  await t.rejects(request, { message: /providerOptions\.openai\.store = false/, statusCode: 400 })
  t.equal(loop.model.requests.length, 1, 'the refused request is not sent again')
})

for (const streamed of [false, true])
  t.test(`openai, ${streamed ? 'streamed' : 'whole'}, with an upstream of the same API`, async (t) => {
    const packages = await openClientPackages(t)
    if (packages === undefined) return
    const server = await startResponsesServer(t, ({ input }) => {
      const results = typeof input === 'string' ? [] : input.filter(({ type }) => type === 'function_call_output')
      const reason = (text: string) => ({
        type: 'reasoning',
        summary: [{ type: 'summary_text', text }],
        encrypted_content: `gAAAA${results.length}`,
      })
      const look = (call_id: string, word: string) => ({
        type: 'function_call',
        call_id,
        name: 'look',
        arguments: JSON.stringify({ word }),
      })
      if (results.length === 0) return { output: [reason('Two first.'), look('call_a', 'sky'), look('call_b', 'grass')] }
      if (results.length === 2) return { output: [reason('One more.'), look('call_c', 'snow')] }
      return { output: [{ type: 'message', text: `Found ${results.map(({ output }) => String(output)).join(', ')}.` }] }
    })
    const gateway = await startGateway(t, { upstreams: { main: { baseUrl: server.url, apiKey: responsesKey, responses: true } } })
    const { id, token } = await gateway.createMember()
    const { default: OpenAI } = await packages.load<typeof OpenAiPackage>('openai')
    const client = new OpenAI({ apiKey: token, baseURL: `${gateway.url}/v1` })
    await runResponsesLoop(t, client, streamed, { input_tokens: 20, output_tokens: 8 }, { reasoning: { effort: 'low' } })
    t.match(server.requests.at(-1)?.input, [
      { role: 'user' },
      { type: 'reasoning', summary: [{ text: 'Two first.' }], encrypted_content: 'gAAAA0' },
      { type: 'function_call', call_id: 'call_a' },
      { type: 'function_call', call_id: 'call_b' },
      { type: 'function_call_output', call_id: 'call_a', output: 'blue' },
      { type: 'function_call_output', call_id: 'call_b', output: 'green' },
      { type: 'reasoning', encrypted_content: 'gAAAA2' },
      { type: 'function_call', call_id: 'call_c' },
      { type: 'function_call_output', call_id: 'call_c', output: 'white' },
    ])
    t.same(server.rejected, [])
    const turns = await gateway.listTurns(id)
    t.equal(turns.length, 3)
    for (const turn of turns) t.match(turn, { state: 'settled', inputTokens: 20, outputTokens: 8 })
  })
