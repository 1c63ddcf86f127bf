/** The answers of the run's upstream, in both formats that upstreams have here. */
import { toolName } from './turn-plan.ts'
import type { Script } from './turn-plan.ts'

/** A turn's script for one call. */
export interface PlayedScript extends Script {
  /** The output is a call of the hosted search with this query. */
  readonly searchQuery: string | null
  /** The answer of a search, with its results. */
  readonly isSearchAnswer: boolean
}

export interface WireFormat {
  createStart(script: PlayedScript): string
  /** The events of the first `count` tokens. */
  createOutput(script: PlayedScript, count: number): string[]
  createEnd(script: PlayedScript): string
  createDocument(script: PlayedScript): object
  readonly errorEvent: string
  readonly brokenEvent: string
}

export const tokenText = ' wor'
const searchName = 'web_search'
const head = { id: 'chatcmpl-1', created: 1, model: 'big' }
const results = [{ title: 'A page', url: 'https://page.example/', snippet: 'Some words.', date: null }]

export const chatFormat: WireFormat = {
  createStart: () => '',
  createOutput(script, count) {
    if (script.searchQuery !== null) return [toChunk({ choices: [toChoice({ tool_calls: [toSearchCall(script.searchQuery)] })] })]
    return Array.from({ length: count }, (_, index) => createToken(script, index + 1))
  },
  createEnd(script) {
    const usage = createUsage(script)
    const inChoice = script.usage === 'in_choice'
    const isCall = script.repeatsToolName || script.searchQuery !== null
    const choice = { index: 0, delta: {}, finish_reason: isCall ? 'tool_calls' : 'stop' }
    const finish = toChunk({ choices: [inChoice ? { ...choice, usage } : choice] })
    return `${finish}${usage === null || inChoice ? '' : toChunk({ choices: [], usage })}data: [DONE]\n\n`
  },
  createDocument(script) {
    const usage = createUsage(script)
    const inChoice = script.usage === 'in_choice'
    const choice = { index: 0, message: { role: 'assistant', content: tokenText.repeat(script.tokens) }, finish_reason: 'stop' }
    return {
      ...head,
      object: 'chat.completion',
      choices: [inChoice ? { ...choice, usage } : choice],
      ...(usage === null || inChoice ? {} : { usage }),
      ...(script.isSearchAnswer ? { search_results: results } : {}),
    }
  },
  errorEvent: 'data: {"error":{"message":"It rains.","type":"weather","code":500}}\n\n',
  brokenEvent: 'data: {"choices":[{"index":0,"del\n\n',
}

const tokenChunk = toChunk({ choices: [toChoice({ content: tokenText })] })

function createToken(script: Script, tokensSoFar: number): string {
  if (script.repeatsToolName) {
    const call = { index: 0, id: 'call_1', type: 'function', function: { name: toolName, arguments: tokenText } }
    return toChunk({ choices: [toChoice({ tool_calls: [call] })] })
  }
  if (script.usage !== 'every_chunk') return tokenChunk
  return toChunk({ choices: [toChoice({ content: tokenText })], usage: createUsage({ ...script, tokens: tokensSoFar }) })
}

function toChunk(fields: object): string {
  return `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...fields })}\n\n`
}

function toChoice(delta: object): object {
  return { index: 0, delta, finish_reason: null }
}

function toSearchCall(query: string): object {
  return { index: 0, id: 'call_1', type: 'function', function: { name: searchName, arguments: JSON.stringify({ query }) } }
}

function createUsage({ usage, inputTokens, cachedTokens, tokens }: Script): object | null {
  if (usage === 'missing') return null
  const [input, output] = usage === 'zero' ? [0, 0] : [inputTokens, tokens]
  const details = cachedTokens === null ? {} : { prompt_tokens_details: { cached_tokens: cachedTokens } }
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output, ...details }
}

const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'big', stop_reason: null, stop_sequence: null }

/** An upstream of `kind: 'anthropic'`. It reports the prompt with its first event, and the output with its last. */
export const anthropicFormat: WireFormat = {
  createStart: (script) =>
    toEvent({ type: 'message_start', message: { ...message, content: [], ...toUsageField(createMessageUsage(script, 1)) } }) +
    toEvent({ type: 'content_block_start', index: 0, content_block: toBlock(script) }),
  createOutput(script, count) {
    const { searchQuery, repeatsToolName } = script
    const isCall = repeatsToolName || searchQuery !== null
    const texts = searchQuery === null ? Array.from({ length: count }, () => tokenText) : [JSON.stringify({ query: searchQuery })]
    return texts.map((text) => {
      const delta = isCall ? { type: 'input_json_delta', partial_json: text } : { type: 'text_delta', text }
      return toEvent({ type: 'content_block_delta', index: 0, delta })
    })
  },
  createEnd(script) {
    const isCall = script.repeatsToolName || script.searchQuery !== null
    const delta = { stop_reason: isCall ? 'tool_use' : 'end_turn', stop_sequence: null }
    return (
      toEvent({ type: 'content_block_stop', index: 0 }) +
      toEvent({ type: 'message_delta', delta, ...toUsageField(createMessageUsage(script, script.tokens)) }) +
      toEvent({ type: 'message_stop' })
    )
  },
  createDocument: (script) => ({
    ...message,
    content: [{ type: 'text', text: tokenText.repeat(script.tokens) }],
    stop_reason: 'end_turn',
    ...toUsageField(createMessageUsage(script, script.tokens)),
  }),
  errorEvent: toEvent({ type: 'error', error: { type: 'api_error', message: 'It rains.' } }),
  brokenEvent: 'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"del\n\n',
}

function toEvent(value: { readonly type: string; readonly [field: string]: unknown }): string {
  return `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`
}

function toBlock({ searchQuery, repeatsToolName }: PlayedScript): object {
  if (!repeatsToolName && searchQuery === null) return { type: 'text', text: '' }
  return { type: 'tool_use', id: 'toolu_1', name: repeatsToolName ? toolName : searchName, input: {} }
}

function createMessageUsage({ usage, inputTokens, cachedTokens }: Script, output: number): object | null {
  if (usage === 'missing') return null
  if (usage === 'zero') return { input_tokens: 0, output_tokens: 0 }
  // The parts of the prompt are added up, so none can be larger than the prompt.
  const cached = Math.min(cachedTokens ?? 0, inputTokens)
  return { input_tokens: inputTokens - cached, cache_read_input_tokens: cached, output_tokens: output }
}

function toUsageField(usage: object | null): object {
  return usage === null ? {} : { usage }
}
