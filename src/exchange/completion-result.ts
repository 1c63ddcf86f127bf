/** Creates a chat completion for a generated message: whole, or as a stream with one content chunk. */
import type { AnswerEvent } from '../conversation/answer-event.ts'
import type { JsonObject } from './api-format/api-format.ts'
import type { CallResult, Exchange, Slots, Usage } from './exchange.ts'
import { jsonHeaders, doneEvent, openStream } from './response-headers.ts'
import type { CallContext } from './plugins/plugin-chain.ts'

interface GeneratedMessage {
  readonly content: string
  /** Citations in the content. */
  readonly annotations?: readonly JsonObject[]
}

interface ResultContext {
  readonly x: Exchange & Partial<Slots>
  readonly callContext: CallContext
  readonly usage: Usage
}

/** Opens the client's stream if one was requested; its frames are sent at the end, after the turn was settled. */
export function createCompletionResult(
  { content, annotations = [] }: GeneratedMessage,
  { x, callContext, usage }: ResultContext,
): CallResult {
  const model = x.route?.productId ?? x.product?.id ?? ''
  const createdSeconds = Math.floor(x.startedAt / 1000)
  const id = `chatcmpl-${x.id}`
  const extraFields = annotations.length === 0 ? {} : { annotations }
  const usageFields = {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
  }
  const { encoder, onEvent } = callContext
  const ending = { usage: usageFields, charge: callContext.describeCharge?.(usage) }
  const events: AnswerEvent[] = [
    { kind: 'text', text: content },
    ...annotations.map((annotation) => ({ kind: 'citation', annotation }) as const),
    { kind: 'finish', reason: 'stop' },
    { kind: 'usage', ...ending },
  ]
  if (x.chat?.stream !== true && encoder !== undefined)
    return { usage, final: { kind: 'reply', reply: { status: 200, headers: jsonHeaders, body: encoder.whole(events) } } }
  if (x.chat?.stream !== true) {
    const message = { role: 'assistant', content, refusal: null, ...extraFields }
    const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' }]
    const body = JSON.stringify({ id, object: 'chat.completion', created: createdSeconds, model, choices, usage: usageFields })
    return { usage, final: { kind: 'reply', reply: { status: 200, headers: jsonHeaders, body } } }
  }
  openStream(callContext)
  const head = { id, object: 'chat.completion.chunk', created: createdSeconds, model }
  const choice = (delta: object, finish: string | null) => [{ index: 0, delta, logprobs: null, finish_reason: finish }]
  const chunks: object[] = [
    { ...head, choices: choice({ role: 'assistant', content: '' }, null) },
    { ...head, choices: choice({ content, ...extraFields }, null) },
    { ...head, choices: choice({}, 'stop') },
  ]
  if (x.chat.includeUsage) chunks.push({ ...head, choices: [], ...ending })
  const texts = encoder === undefined || onEvent !== null ? chunks.map((chunk) => JSON.stringify(chunk)) : []
  if (onEvent !== null) for (const text of texts) onEvent(text)
  if (encoder === undefined)
    return { usage, final: { kind: 'trailer', frames: texts.map((text) => `data: ${text}\n\n`).join('') + doneEvent } }
  return { usage, final: { kind: 'trailer', frames: encoder.push(events) + encoder.end() } }
}
