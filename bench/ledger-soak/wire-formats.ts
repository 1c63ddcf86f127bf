/** The answers of the run's upstream, in each API that an upstream can have. */
import { toolName } from './turn-plan.ts'
import type { Script } from './turn-plan.ts'

/** A turn's script for one call. */
export interface PlayedScript extends Script {
  /** The output is a call of the hosted search with this query. */
  readonly searchQuery: string | null
  /** The answer of a search, with its results. */
  readonly isSearchAnswer: boolean
}

/**
 * `messages` is the API of an upstream of `kind: 'anthropic'`, `gemini` that of `kind: 'gemini'`, and `responses` that of one with
 * `responses: true`.
 */
export type UpstreamApi = 'chat' | 'messages' | 'responses' | 'gemini'

export interface WireFormat {
  createStart(script: PlayedScript): string
  /** The first `count` events with output. */
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

const chatFormat: WireFormat = {
  createStart: () => '',
  createOutput(script, count) {
    if (script.searchQuery !== null) return [toChunk({ choices: [toChoice({ tool_calls: [toSearchCall(script.searchQuery)] })] })]
    return Array.from({ length: count }, (_, index) => createToken(script, index + 1))
  },
  createEnd(script) {
    const usage = createUsage(script)
    const inChoice = script.usage === 'in_choice'
    const choice = { index: 0, delta: {}, finish_reason: getFinishReason(script) }
    const finish = toChunk({ choices: [inChoice ? { ...choice, usage } : choice] })
    return `${finish}${usage === null || inChoice ? '' : createUsageChunk(script, usage)}data: [DONE]\n\n`
  },
  createDocument(script) {
    const usage = createUsage(script)
    const inChoice = script.usage === 'in_choice'
    const text = tokenText.repeat(script.tokens)
    const content = script.vendorForm === 'parts' ? [{ type: 'text', text }] : text
    const choice = { index: 0, message: { role: 'assistant', content }, finish_reason: getFinishReason(script) }
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

function getFinishReason(script: PlayedScript): string {
  const reason = isToolCall(script) ? 'tool_calls' : 'stop'
  return script.vendorForm === 'capitals' ? reason.toUpperCase() : reason
}

function createUsageChunk(script: PlayedScript, usage: object): string {
  if (script.vendorForm === 'x_groq') return toChunk({ choices: [], x_groq: { id: 'req_1', usage } })
  if (script.vendorForm !== 'repeated_end') return toChunk({ choices: [], usage })
  const message = { role: 'assistant', content: tokenText.repeat(script.tokens) }
  return `data: ${JSON.stringify({ ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }], usage })}\n\n`
}

const tokenChunk = toChunk({ choices: [toChoice({ content: tokenText })] })

function createToken(script: Script, tokensSoFar: number): string {
  if (script.repeatsToolName) {
    const call = { index: 0, id: 'call_1', type: 'function', function: { name: toolName, arguments: tokenText } }
    return toChunk({ choices: [toChoice({ tool_calls: [call] })] })
  }
  if (script.vendorForm === 'parts')
    return toChunk({ choices: [toChoice({ content: [{ type: 'text', text: toEventText(script) }] })] })
  if (script.usage !== 'every_chunk')
    return script.chunkTokens === 1 ? tokenChunk : toChunk({ choices: [toChoice({ content: toEventText(script) })] })
  return toChunk({ choices: [toChoice({ content: tokenText })], usage: createUsage({ ...script, tokens: tokensSoFar }) })
}

function toChunk(fields: object): string {
  return `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...fields })}\n\n`
}

function toEventText({ chunkTokens }: Script): string {
  return tokenText.repeat(chunkTokens)
}

function toChoice(delta: object): object {
  return { index: 0, delta, finish_reason: null }
}

function toSearchCall(query: string): object {
  return { index: 0, id: 'call_1', type: 'function', function: { name: searchName, arguments: JSON.stringify({ query }) } }
}

function createUsage({ usage, inputTokens, cachedTokens, tokens, reasoningTokens, vendorForm }: Script): object | null {
  if (usage === 'missing') return null
  const [input, output] = usage === 'zero' ? [0, 0] : [inputTokens, tokens]
  const cached =
    vendorForm === 'cache_hits'
      ? { prompt_cache_hit_tokens: cachedTokens }
      : { prompt_tokens_details: { cached_tokens: cachedTokens } }
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output + reasoningTokens,
    ...(cachedTokens === null ? {} : cached),
    ...(reasoningTokens === 0 ? {} : { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
  }
}

const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'big', stop_reason: null, stop_sequence: null }

/** An upstream of `kind: 'anthropic'`. It reports the prompt with its first event, and the output with its last. */
const messagesFormat: WireFormat = {
  createStart: (script) =>
    toEvent({ type: 'message_start', message: { ...message, content: [], ...toUsageField(createMessageUsage(script, 1)) } }) +
    toEvent({ type: 'content_block_start', index: 0, content_block: toBlock(script) }),
  createOutput(script, count) {
    const { searchQuery } = script
    const texts =
      searchQuery === null ? Array.from({ length: count }, () => toEventText(script)) : [JSON.stringify({ query: searchQuery })]
    return texts.map((text) => {
      const delta = isToolCall(script) ? { type: 'input_json_delta', partial_json: text } : { type: 'text_delta', text }
      return toEvent({ type: 'content_block_delta', index: 0, delta })
    })
  },
  createEnd(script) {
    const delta = { stop_reason: isToolCall(script) ? 'tool_use' : 'end_turn', stop_sequence: null }
    return (
      toEvent({ type: 'content_block_stop', index: 0 }) +
      toEvent({ type: 'message_delta', delta, ...toUsageField(createMessageUsage(script, getReportedOutput(script))) }) +
      toEvent({ type: 'message_stop' })
    )
  },
  createDocument: (script) => ({
    ...message,
    content: [{ type: 'text', text: tokenText.repeat(script.tokens) }],
    stop_reason: 'end_turn',
    ...toUsageField(createMessageUsage(script, getReportedOutput(script))),
  }),
  errorEvent: toEvent({ type: 'error', error: { type: 'api_error', message: 'It rains.' } }),
  brokenEvent: 'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"del\n\n',
}

/** An upstream with `responses: true`. It reports usage with its last event only. */
const responsesFormat: WireFormat = {
  createStart: (script) =>
    toEvent({ type: 'response.created', response: toResponse({ status: 'in_progress' }) }) +
    toEvent({ type: 'response.output_item.added', output_index: 0, item: toItem(script, '') }),
  createOutput(script, count) {
    const { searchQuery } = script
    const type = isToolCall(script) ? 'response.function_call_arguments.delta' : 'response.output_text.delta'
    const texts =
      searchQuery === null ? Array.from({ length: count }, () => toEventText(script)) : [JSON.stringify({ query: searchQuery })]
    return texts.map((delta) => toEvent({ type, item_id: 'item_1', output_index: 0, content_index: 0, delta }))
  },
  createEnd: (script) =>
    toEvent({ type: 'response.output_item.done', output_index: 0, item: toItem(script, getOutput(script)) }) +
    toEvent({ type: 'response.completed', response: toCompletedResponse(script) }),
  createDocument: (script) => toCompletedResponse(script),
  errorEvent: toEvent({ type: 'error', code: 'server_error', message: 'It rains.', param: null }),
  brokenEvent: 'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","del\n\n',
}

/** An upstream of `kind: 'gemini'`. It reports the prompt with each event and the output with its last, and a call is one event. */
const geminiFormat: WireFormat = {
  createStart: () => '',
  createOutput(script, count) {
    const { searchQuery } = script
    if (searchQuery === null) return Array.from({ length: count }, () => toGeminiEvent(script, [{ text: toEventText(script) }]))
    return [toGeminiEvent(script, [{ functionCall: { name: searchName, args: { query: searchQuery } } }])]
  },
  createEnd: (script) =>
    toGeminiEvent(script, [{ text: '' }], { finishReason: 'STOP', usage: createGeminiUsage(script, script.tokens) }),
  createDocument: (script) =>
    toGeminiAnswer([{ text: tokenText.repeat(script.tokens) }], {
      finishReason: 'STOP',
      usage: createGeminiUsage(script, script.tokens),
    }),
  errorEvent: 'data: {"error":{"code":500,"message":"It rains.","status":"INTERNAL"}}\n\n',
  brokenEvent: 'data: {"candidates":[{"content":{"par\n\n',
}

interface GeminiEnd {
  readonly finishReason?: string
  readonly usage?: object | null
}

function toGeminiEvent(script: PlayedScript, parts: readonly object[], end?: GeminiEnd): string {
  return `data: ${JSON.stringify(toGeminiAnswer(parts, end ?? { usage: createGeminiUsage(script, null) }))}\n\n`
}

function toGeminiAnswer(parts: readonly object[], { finishReason, usage = null }: GeminiEnd): object {
  return {
    candidates: [{ content: { role: 'model', parts }, ...(finishReason === undefined ? {} : { finishReason }), index: 0 }],
    ...(usage === null ? {} : { usageMetadata: usage }),
    modelVersion: 'big',
    responseId: 'gemini_1',
  }
}

function createGeminiUsage({ usage, inputTokens, cachedTokens, reasoningTokens }: Script, output: number | null): object | null {
  if (usage === 'missing') return null
  if (usage === 'zero') return { promptTokenCount: 0, candidatesTokenCount: 0 }
  return {
    promptTokenCount: inputTokens,
    ...(output === null ? {} : { candidatesTokenCount: output }),
    ...(output === null || reasoningTokens === 0 ? {} : { thoughtsTokenCount: reasoningTokens }),
    ...(cachedTokens === null ? {} : { cachedContentTokenCount: cachedTokens }),
  }
}

function toCompletedResponse(script: PlayedScript): object {
  const usage = toUsageField(createResponseUsage(script))
  return toResponse({ status: 'completed', output: [toItem(script, getOutput(script))], ...usage })
}

function toResponse(progress: object): object {
  return { id: 'resp_1', object: 'response', created_at: 1, model: 'big', output: [], error: null, usage: null, ...progress }
}

/** The only item of an answer. */
function toItem(script: PlayedScript, text: string): object {
  if (!isToolCall(script)) {
    const content = text === '' ? [] : [{ type: 'output_text', text, annotations: [], logprobs: [] }]
    return { id: 'item_1', type: 'message', role: 'assistant', status: 'completed', content }
  }
  return { id: 'item_1', type: 'function_call', call_id: 'call_1', name: getCalledName(script), arguments: text }
}

function getOutput({ searchQuery, tokens }: PlayedScript): string {
  return searchQuery === null ? tokenText.repeat(tokens) : JSON.stringify({ query: searchQuery })
}

/** With the hidden reasoning. */
function getReportedOutput({ tokens, reasoningTokens }: Script): number {
  return tokens + reasoningTokens
}

function createResponseUsage(script: Script): object | null {
  const { usage, inputTokens, cachedTokens } = script
  if (usage === 'missing') return null
  const [input, output] = usage === 'zero' ? [0, 0] : [inputTokens, getReportedOutput(script)]
  const details = cachedTokens === null ? {} : { input_tokens_details: { cached_tokens: cachedTokens } }
  return { input_tokens: input, output_tokens: output, total_tokens: input + output, ...details }
}

function isToolCall({ searchQuery, repeatsToolName }: PlayedScript): boolean {
  return repeatsToolName || searchQuery !== null
}

function getCalledName({ repeatsToolName }: PlayedScript): string {
  return repeatsToolName ? toolName : searchName
}

function toEvent(value: { readonly type: string; readonly [field: string]: unknown }): string {
  return `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`
}

function toBlock(script: PlayedScript): object {
  if (!isToolCall(script)) return { type: 'text', text: '' }
  return { type: 'tool_use', id: 'toolu_1', name: getCalledName(script), input: {} }
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

export const wireFormats: Readonly<Record<UpstreamApi, WireFormat>> = {
  chat: chatFormat,
  messages: messagesFormat,
  responses: responsesFormat,
  gemini: geminiFormat,
}
