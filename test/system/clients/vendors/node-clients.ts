/** SDKs for Node that assemble answers, each with its own accumulator. */
import type { ClientPackages } from '../client-packages.ts'
import type { Assembled } from './vendor-answers.ts'

export type Ask = (request: { readonly prompt: string; readonly model: string; readonly streamed: boolean }) => Promise<Assembled>

interface NodeClient {
  readonly name: string
  /** Whether its accumulator keeps reasoning: OpenAI's replaces fields that it does not know, and others ignore them. */
  readonly keepsReasoning: 'always' | 'whole' | 'never'
  create(packages: ClientPackages, server: { readonly origin: string; readonly apiKey: string }): Promise<Ask>
}

const parameters = { type: 'object', properties: { p: { type: 'string' } }, required: ['p'], additionalProperties: false }

interface ChatCall {
  readonly id: string
  readonly type: string
  readonly function: { readonly name: string; readonly arguments: string }
}

interface Completion {
  readonly choices: readonly {
    readonly finish_reason: string
    readonly message: {
      readonly role: string
      readonly content: string | null
      readonly reasoning_content?: string
      readonly reasoning?: string
      readonly tool_calls?: readonly ChatCall[]
    }
  }[]
}

interface ResponseItem {
  readonly type: string
  readonly call_id: string
  readonly name: string
  readonly arguments: string
  readonly summary?: readonly { readonly text: string }[]
  readonly content?: readonly { readonly text: string }[]
}

interface ApiResponse {
  readonly status: string
  readonly output: readonly ResponseItem[]
}

interface ResponseEvents extends AsyncIterable<{ readonly type: string; readonly response?: ApiResponse }> {
  finalResponse(): Promise<ApiResponse>
}

interface Endpoint<Answer, Stream> {
  create(request: object): Promise<Answer>
  stream(request: object): Stream
}

interface OpenAiPackage {
  readonly default: new (options: object) => {
    readonly chat: { readonly completions: Endpoint<Completion, { finalChatCompletion(): Promise<Completion> }> }
    readonly responses: Endpoint<ApiResponse, ResponseEvents>
  }
}

/** Arguments that were cut off are their text. */
function parseInput(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function createOpenAiChat(name: string): NodeClient {
  return {
    name: `${name} with chat completions`,
    keepsReasoning: 'whole',
    async create(packages, { origin, apiKey }) {
      const { default: OpenAI } = await packages.load<OpenAiPackage>(name)
      const { completions } = new OpenAI({ apiKey, baseURL: `${origin}/v1`, maxRetries: 0 }).chat
      return async ({ prompt, model, streamed }) => {
        const tools = [{ type: 'function', function: { name: 'read', parameters } }]
        const request = { model, messages: [{ role: 'user', content: prompt }], tools }
        const completion = streamed ? await completions.stream(request).finalChatCompletion() : await completions.create(request)
        const [choice] = completion.choices
        if (choice === undefined) throw new Error('no choice')
        const { role, content, reasoning_content: thought, reasoning, tool_calls: calls = [] } = choice.message
        if (role !== 'assistant') throw new Error(`a message of the role ${role}`)
        return {
          text: content ?? '',
          reasoning: thought ?? reasoning ?? '',
          calls: calls.map(({ id, type, function: called }) => {
            if (type !== 'function') throw new Error(`a call of the type ${type}`)
            return { id, name: called.name, input: parseInput(called.arguments) }
          }),
          finish: choice.finish_reason,
        }
      }
    },
  }
}

function createOpenAiResponses(name: string): NodeClient {
  return {
    name: `${name} with responses`,
    keepsReasoning: 'always',
    async create(packages, { origin, apiKey }) {
      const { default: OpenAI } = await packages.load<OpenAiPackage>(name)
      const { responses } = new OpenAI({ apiKey, baseURL: `${origin}/v1`, maxRetries: 0 })
      return async ({ prompt, model, streamed }) => {
        const tools = [{ type: 'function', name: 'read', parameters, strict: true }]
        const request = { model, input: prompt, store: false, tools }
        const response = streamed ? await readResponse(responses.stream(request)) : await responses.create(request)
        const { output, status } = response
        if (!['completed', 'incomplete'].includes(status)) throw new Error(`the response is ${status}`)
        const calls = output.filter(({ type }) => type === 'function_call')
        const messages = output.filter(({ type }) => type === 'message')
        return {
          text: messages.flatMap(({ content = [] }) => content.map((part) => part.text)).join(''),
          reasoning: output.flatMap(({ summary = [] }) => summary.map((part) => part.text)).join(''),
          calls: calls.map(({ call_id: id, name, arguments: args }) => ({ id, name, input: parseInput(args) })),
          finish: status === 'incomplete' ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop',
        }
      }
    },
  }
}

/** What the SDK has assembled, with the status of the last event: version 6 assembles no failed or incomplete response. */
async function readResponse(events: ResponseEvents): Promise<ApiResponse> {
  let status = 'without events'
  for await (const { response } of events) status = response?.status ?? status
  return { ...(await events.finalResponse()), status }
}

interface Block {
  readonly type: string
  readonly text: string
  readonly thinking: string
  readonly id: string
  readonly name: string
  readonly input: unknown
}

interface Message {
  readonly content: readonly Block[]
  readonly stop_reason: string
}

interface AnthropicPackage {
  readonly default: new (options: object) => {
    readonly messages: Endpoint<Message, { finalMessage(): Promise<Message> }>
  }
}

const finishByStopReason = new Map([
  ['end_turn', 'stop'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
])

const anthropic: NodeClient = {
  name: '@anthropic-ai/sdk',
  keepsReasoning: 'always',
  async create(packages, { origin, apiKey }) {
    const { default: Anthropic } = await packages.load<AnthropicPackage>('@anthropic-ai/sdk')
    const { messages } = new Anthropic({ apiKey, baseURL: origin, maxRetries: 0 })
    return async ({ prompt, model, streamed }) => {
      const tools = [{ name: 'read', input_schema: parameters }]
      const request = { model, max_tokens: 1000, messages: [{ role: 'user', content: prompt }], tools }
      const answer = streamed ? await messages.stream(request).finalMessage() : await messages.create(request)
      const blocks = (type: string) => answer.content.filter((block) => block.type === type)
      return {
        text: blocks('text')
          .map(({ text }) => text)
          .join(''),
        reasoning: blocks('thinking')
          .map((block) => block.thinking)
          .join(''),
        calls: blocks('tool_use').map(({ id, name, input }) => ({ id, name, input })),
        finish: finishByStopReason.get(answer.stop_reason) ?? answer.stop_reason,
      }
    }
  },
}

interface AiResult {
  readonly text: string
  readonly reasoningText?: string | undefined
  readonly finishReason: string
  readonly toolCalls: readonly { readonly toolCallId: string; readonly toolName: string; readonly input: unknown }[]
}

interface AiPackage {
  generateText(options: object): Promise<AiResult>
  streamText(options: object): { readonly [Field in keyof AiResult]: PromiseLike<AiResult[Field]> }
  tool(options: object): object
  jsonSchema(schema: object): object
}

type CreateModel = (packages: ClientPackages, options: object) => Promise<(model: string) => object>

function createAi(name: string, keepsReasoning: NodeClient['keepsReasoning'], createModel: CreateModel): NodeClient {
  return {
    name: `ai with ${name}`,
    keepsReasoning,
    async create(packages, { origin, apiKey }) {
      const { generateText, streamText, tool, jsonSchema } = await packages.load<AiPackage>('ai')
      const toModel = await createModel(packages, { name: 'gateway', apiKey, baseURL: `${origin}/v1` })
      return async ({ prompt, model, streamed }) => {
        const errors: unknown[] = []
        const options = {
          model: toModel(model),
          prompt,
          maxRetries: 0,
          tools: { read: tool({ inputSchema: jsonSchema(parameters) }) },
          onError: ({ error }: { readonly error: unknown }) => errors.push(error),
        }
        const result = streamed ? streamText(options) : await generateText(options)
        const [text, reasoning, calls, finish] = [
          await result.text,
          await result.reasoningText,
          await result.toolCalls,
          await result.finishReason,
        ]
        if (errors.length > 0) throw errors[0]
        return {
          text,
          reasoning: reasoning ?? '',
          calls: calls.map(({ toolCallId: id, toolName, input }) => ({ id, name: toolName, input })),
          finish: finish.replace('tool-calls', 'tool_calls'),
        }
      }
    },
  }
}

type CreateProvider = (options: object) => ((model: string) => object) & { chat(model: string): object }

export const nodeClients: readonly NodeClient[] = [
  createOpenAiChat('openai'),
  createOpenAiChat('openai-6'),
  createOpenAiResponses('openai'),
  createOpenAiResponses('openai-6'),
  anthropic,
  createAi('@ai-sdk/openai-compatible', 'always', async (packages, options) => {
    type Package = { readonly createOpenAICompatible: CreateProvider }
    return (await packages.load<Package>('@ai-sdk/openai-compatible')).createOpenAICompatible(options)
  }),
  createAi('@ai-sdk/openai', 'never', async (packages, options) => {
    const { createOpenAI } = await packages.load<{ readonly createOpenAI: CreateProvider }>('@ai-sdk/openai')
    return (model) => createOpenAI(options).chat(model)
  }),
]
