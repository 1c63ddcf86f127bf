/** A model asked over `/v1/chat/completions` with the cookie of this site, and its answer as it comes. */
import type { ChatModel } from '../page-data.ts'
import { eventsOf } from './event-stream.ts'
import { CallFailure, failureOf, isEnvelope } from './service.ts'
import type { Completion, CompletionChunk, Envelope, TokenUsage } from './wire.ts'

export interface Delta {
  readonly content: string
  readonly reasoning: string
}

export interface Finish {
  readonly reason: string | null
  readonly usage: TokenUsage | null
}

export interface Question {
  readonly model: Pick<ChatModel, 'id' | 'capabilities'>
  readonly messages: readonly { readonly role: string; readonly content: string }[]
  readonly signal: AbortSignal
  /** The HTTP status of each code of the catalogue. */
  readonly statuses: Readonly<Record<string, number>>
}

/**
 * Hands each piece of the answer to `take`. Null: it broke off before its end, and nobody said why.
 * @throws {CallFailure} as the service told it, also in the middle of a stream
 */
export async function complete(
  { model, messages, signal, statuses }: Question,
  take: (delta: Delta) => void,
): Promise<Finish | null> {
  // A search has nothing to show before its end.
  const whole = model.capabilities.includes('search') && !model.capabilities.includes('chat')
  const response = await fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: model.id,
      messages,
      stream: !whole,
      ...(whole ? {} : { stream_options: { include_usage: true } }),
    }),
    signal,
  }).catch((error: unknown) => {
    throw signal.aborted ? error : new CallFailure(0, null)
  })
  if (!response.ok) throw failureOf(response, await response.json().catch(() => null))
  const streamed = (response.headers.get('content-type') ?? '').startsWith('text/event-stream')
  return streamed ? follow(response, statuses, take) : readWhole(await response.json(), take)
}

function readWhole({ choices, usage }: Completion, take: (delta: Delta) => void): Finish {
  const [choice] = choices
  take({ content: choice?.message.content ?? '', reasoning: '' })
  return { reason: choice?.finish_reason ?? null, usage: usage ?? null }
}

async function follow(
  { body, status }: Response,
  statuses: Question['statuses'],
  take: (delta: Delta) => void,
): Promise<Finish | null> {
  if (body === null) return null
  let reason: string | null = null
  let usage: TokenUsage | null = null
  for await (const event of eventsOf<CompletionChunk | Envelope>(body)) {
    // After the first byte a failure can only come as an event; its status is the one its code has in the catalogue.
    if (isEnvelope(event)) throw new CallFailure(statuses[event.code] ?? status, event)
    const choice = event.choices[0]
    usage = event.usage ?? usage
    reason = choice?.finish_reason ?? reason
    const { content, reasoning_content: thought } = choice?.delta ?? {}
    const reasoning = typeof thought === 'string' ? thought : ''
    if (content || reasoning) take({ content: content ?? '', reasoning })
  }
  return reason === null ? null : { reason, usage }
}
