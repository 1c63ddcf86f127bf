/** An answer of our own making in the form of a chat completion: whole, or as a stream of one piece. */
import type { Answer, Exchange, Slots, Usage } from './exchange.ts'
import { jsonHeaders } from './headers.ts'
import type { Wire } from './run.ts'
import { endMark, openStream } from './stream.ts'

export interface OwnMessage {
  readonly content: string
  /** More fields of the message (whole) or of the delta that carries the content (streamed). */
  readonly extras?: Readonly<Record<string, unknown>>
}

interface Frame {
  readonly x: Exchange & Partial<Slots>
  readonly wire: Wire
  readonly usage: Usage
}

/** Opens the client's stream where one was asked for; what it says is kept for the end, when the turn has been settled. */
export function completionAnswer({ content, extras = {} }: OwnMessage, { x, wire, usage }: Frame): Answer {
  const model = x.route?.productId ?? x.product?.id ?? ''
  const created = Math.floor(x.startedAt / 1000)
  const id = `chatcmpl-${x.id}`
  const counted = {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
  }
  if (x.chat?.stream !== true) {
    const message = { role: 'assistant', content, refusal: null, ...extras }
    const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' }]
    const body = JSON.stringify({ id, object: 'chat.completion', created, model, choices, usage: counted })
    return { usage, last: { kind: 'reply', reply: { status: 200, headers: jsonHeaders, body } } }
  }
  openStream(wire)
  const head = { id, object: 'chat.completion.chunk', created, model }
  const choice = (delta: object, finish: string | null) => [{ index: 0, delta, logprobs: null, finish_reason: finish }]
  const chunks: object[] = [
    { ...head, choices: choice({ role: 'assistant', content: '' }, null) },
    { ...head, choices: choice({ content, ...extras }, null) },
    { ...head, choices: choice({}, 'stop') },
  ]
  if (x.chat.includeUsage) chunks.push({ ...head, choices: [], usage: counted })
  const texts = chunks.map((chunk) => JSON.stringify(chunk))
  if (wire.event !== null) for (const text of texts) wire.event(text)
  return { usage, last: { kind: 'tail', frames: texts.map((text) => `data: ${text}\n\n`).join('') + endMark } }
}
