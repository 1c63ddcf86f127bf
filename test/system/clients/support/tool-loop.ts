/** A loop of two tool calls, which each SDK runs through its own accumulators: the script of the model, the tool, and what must arrive. */
import type { Test } from 'tap'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'
import { openClientPackages } from '../client-packages.ts'
import type { ClientPackages } from '../client-packages.ts'
import { startScriptedModel } from './scripted-model.ts'
import type { ReceivedRequest, ScriptedAnswer, ScriptedModel } from './scripted-model.ts'

/** What the tool `look` returns for a word. */
export const words: Readonly<Record<string, string>> = { sky: 'blue', grass: 'green', snow: 'white' }

/** The schema of its arguments. */
export const parameters = {
  type: 'object',
  properties: { word: { type: 'string' } },
  required: ['word'],
  additionalProperties: false,
} as const

export const finalText = 'Found blue, green, white.'

/** Two parallel calls, then one more, then the answer. Each step is decided from the results that the request contains. */
export function answerInSteps({ messages }: ReceivedRequest): ScriptedAnswer {
  const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content))
  const look = (id: string, word: string) => ({ id, name: 'look', arguments: JSON.stringify({ word }) })
  switch (results.length) {
    case 0:
      return { reasoning: 'Two words first.', text: 'Let me look.', calls: [look('call_a', 'sky'), look('call_b', 'grass')] }
    case 2:
      return { reasoning: 'One more.', calls: [look('call_c', 'snow')] }
    default:
      return { text: `Found ${results.join(', ')}.` }
  }
}

export interface Loop {
  readonly gateway: TestGateway
  readonly model: ScriptedModel
  readonly apiKey: string
  readonly packages: ClientPackages
  /** Checks that there were three requests and three charged turns; returns the last history that the upstream received. */
  check(t: Test): Promise<ReceivedRequest['messages']>
}

export async function startLoop(t: Test, answer = answerInSteps): Promise<Loop | undefined> {
  const packages = await openClientPackages(t)
  if (packages === undefined) return undefined
  const model = await startScriptedModel(t, answer)
  const gateway = await startGateway(t, { upstreams: { main: { baseUrl: model.url } } })
  const { id, token } = await gateway.createMember()
  return {
    gateway,
    model,
    packages,
    apiKey: token,
    async check(t) {
      t.equal(model.requests.length, 3, 'three requests')
      await gateway.waitUntilSettled()
      const turns = await gateway.listTurns(id)
      t.equal(turns.length, 3, 'three turns')
      for (const turn of turns) t.match(turn, { state: 'settled', inputTokens: 1200, outputTokens: 34 })
      return model.requests.at(-1)?.messages ?? []
    },
  }
}

interface AiResult {
  readonly text: string
  readonly steps: readonly { readonly toolCalls: readonly unknown[]; readonly usage: { readonly inputTokens: number } }[]
}

/** The Vercel AI SDK. */
export interface Ai {
  generateText(options: object): Promise<AiResult>
  streamText(options: object): { readonly [Field in keyof AiResult]: PromiseLike<AiResult[Field]> }
  tool(options: object): object
  jsonSchema(schema: object): object
  isStepCount(count: number): object
}

/** Runs the loop with the Vercel AI SDK and a model of one of its providers. */
export async function runAiLoop(
  t: Test,
  { packages }: Loop,
  { streamed, ...request }: { readonly streamed: boolean; readonly model: object; readonly [option: string]: unknown },
): Promise<void> {
  const { generateText, streamText, tool, jsonSchema, isStepCount } = await packages.load<Ai>('ai')
  const options = {
    prompt: 'Which colours?',
    tools: {
      look: tool({
        description: 'Looks a word up.',
        inputSchema: jsonSchema(parameters),
        execute: async ({ word }: { word: string }) => words[word],
      }),
    },
    stopWhen: isStepCount(5),
    onError: ({ error }: { error: unknown }) => t.error(error),
    ...request,
  }
  const result = streamed ? streamText(options) : await generateText(options)
  t.equal(await result.text, finalText)
  const steps = await result.steps
  t.same(
    steps.map(({ toolCalls }) => toolCalls.length),
    [2, 1, 0],
  )
  for (const { usage } of steps) t.equal(usage.inputTokens, 1200)
}
