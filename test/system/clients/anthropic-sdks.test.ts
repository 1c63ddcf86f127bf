/** Anthropic's SDK and the Vercel AI SDK with its provider: loops of tool calls through their own accumulators, streamed and whole. */
import t from 'tap'
import type { ScriptedAnswer } from './support/scripted-model.ts'
import { finalText, parameters, runAiLoop, startLoop, words } from './support/tool-loop.ts'

/** The history that the upstream received with the last request: each call with its result directly after it, and the reasoning. */
const lastMessages = [
  { role: 'system', content: 'Be short.' },
  { role: 'user', content: 'Which colours?' },
  {
    role: 'assistant',
    content: 'Let me look.',
    reasoning_content: 'Two words first.',
    tool_calls: [
      { id: 'call_a', type: 'function', function: { name: 'look', arguments: '{"word":"sky"}' } },
      { id: 'call_b', type: 'function', function: { name: 'look', arguments: '{"word":"grass"}' } },
    ],
  },
  { role: 'tool', tool_call_id: 'call_a', content: 'blue' },
  { role: 'tool', tool_call_id: 'call_b', content: 'green' },
  {
    role: 'assistant',
    content: null,
    reasoning_content: 'One more.',
    tool_calls: [{ id: 'call_c', type: 'function', function: { name: 'look', arguments: '{"word":"snow"}' } }],
  },
  { role: 'tool', tool_call_id: 'call_c', content: 'white' },
]

interface Block {
  readonly type: string
  readonly text?: string
  readonly id?: string
  readonly input?: { readonly word: string }
}

interface Message {
  readonly content: readonly Block[]
  readonly model: string
  readonly stop_reason: string
  readonly usage: object
}

interface Anthropic {
  readonly messages: {
    create(request: object): Promise<Message>
    stream(request: object): { finalMessage(): Promise<Message> }
    countTokens(request: object): Promise<{ readonly input_tokens: number }>
  }
  readonly models: { list(): AsyncIterable<{ readonly id: string; readonly type: string; readonly created_at: string }> }
}

interface AnthropicPackage {
  readonly default: new (options: object) => Anthropic
  readonly APIError: new () => Error
}

for (const streamed of [false, true]) {
  const how = streamed ? 'streamed' : 'whole'

  t.test(`@anthropic-ai/sdk, ${how}`, async (t) => {
    const loop = await startLoop(t)
    if (loop === undefined) return
    const { default: Anthropic } = await loop.packages.load<AnthropicPackage>('@anthropic-ai/sdk')
    const { messages } = new Anthropic({ apiKey: loop.apiKey, baseURL: loop.gateway.url })
    const history: object[] = [{ role: 'user', content: 'Which colours?' }]
    for (;;) {
      const request = {
        model: 'svc-2.1',
        max_tokens: 1000,
        system: 'Be short.',
        messages: history,
        tools: [{ name: 'look', input_schema: parameters }],
      }
      const answer = streamed ? await messages.stream(request).finalMessage() : await messages.create(request)
      t.match(answer, { model: 'svc-2.1', usage: { input_tokens: 1200, output_tokens: 34 } })
      history.push({ role: 'assistant', content: answer.content })
      const calls = answer.content.filter(({ type }) => type === 'tool_use')
      t.equal(answer.stop_reason, calls.length > 0 ? 'tool_use' : 'end_turn')
      if (calls.length === 0) {
        t.match(answer.content, [{ type: 'text', text: finalText }])
        break
      }
      history.push({
        role: 'user',
        content: calls.map(({ id, input }) => ({ type: 'tool_result', tool_use_id: id, content: words[input?.word ?? ''] })),
      })
    }
    t.same(await loop.check(t), lastMessages)
  })

  t.test(`@ai-sdk/anthropic, ${how}`, async (t) => {
    const loop = await startLoop(t)
    if (loop === undefined) return
    type CreateAnthropic = (options: object) => (model: string) => object
    const { createAnthropic } = await loop.packages.load<{ createAnthropic: CreateAnthropic }>('@ai-sdk/anthropic')
    const model = createAnthropic({ apiKey: loop.apiKey, baseURL: `${loop.gateway.url}/v1` })('svc-2.1')
    await runAiLoop(t, loop, { streamed, model, instructions: 'Be short.', maxOutputTokens: 1000 })
    t.same(await loop.check(t), lastMessages)
  })
}

t.test('both ways of sending the key, counts of tokens and the list of models', async (t) => {
  const loop = await startLoop(t)
  if (loop === undefined) return
  const { default: Anthropic } = await loop.packages.load<AnthropicPackage>('@anthropic-ai/sdk')
  for (const key of [{ apiKey: loop.apiKey }, { authToken: loop.apiKey, apiKey: null }]) {
    const { messages, models } = new Anthropic({ ...key, baseURL: loop.gateway.url })
    const request = { model: 'svc-2.1', messages: [{ role: 'user', content: 'How many tokens are these?' }] }
    const { input_tokens: count } = await messages.countTokens(request)
    t.ok(count > 5, `${count} tokens`)
    const listed = []
    for await (const model of models.list()) listed.push(model)
    t.match(
      listed.find(({ id }) => id === 'svc-2.1'),
      { type: 'model', created_at: /^\d{4}-\d\d-\d\dT/ },
    )
  }
  const { messages } = new Anthropic({
    apiKey: 'x',
    baseURL: loop.gateway.url,
    defaultHeaders: { authorization: null, 'x-api-key': loop.apiKey },
  })
  t.ok((await messages.countTokens({ model: 'svc-2.1', messages: [{ role: 'user', content: 'Hi' }] })).input_tokens > 0)
})

t.test('failures have the class and the sentence that the SDK gives its callers', async (t) => {
  let scripted: ScriptedAnswer = { text: 'Half of a sentence', cutAfter: 2 }
  const loop = await startLoop(t, () => scripted)
  if (loop === undefined) return
  const { default: Anthropic } = await loop.packages.load<AnthropicPackage>('@anthropic-ai/sdk')
  const options = { baseURL: loop.gateway.url, maxRetries: 0 }
  const { messages } = new Anthropic({ ...options, apiKey: loop.apiKey })
  const request = { model: 'svc-2.1', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] }
  const failed = (promise: Promise<unknown>) =>
    promise.then(
      () => t.fail('it does not fail'),
      (error: Error) => error,
    )
  t.match(await failed(messages.stream(request).finalMessage()), {
    message: /The model service failed to answer\. You were not charged\./,
  })
  scripted = { text: 'Fine.' }
  for (const [name, promise, expected] of [
    ['another key', new Anthropic({ ...options, apiKey: 'sk-other' }).messages.create(request), { status: 401 }],
    [
      'an unknown model',
      messages.create({ ...request, model: 'gpt-0' }),
      { status: 404, message: /Available models: .*svc-2\.1/ },
    ],
    ['a wrong field', messages.create({ ...request, stop_sequences: [7] }), { status: 400, message: /stop_sequences\[0\]/ }],
  ] as const) {
    const error = await failed(promise)
    t.match(error, { status: expected.status, requestID: /^mbr_/ }, name)
    if ('message' in expected) t.match(error, { message: expected.message }, name)
  }
  t.equal(loop.model.requests.length, 1)
})
