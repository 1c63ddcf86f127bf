/** Calls `/v1/chat/completions` with the site's cookie and streams the answer. */
import type { ChatModel } from '../../page-data.ts'
import type { RequestMessage } from './conversations/open-conversation.ts'
import { readEvents } from './event-stream.ts'
import { ApiError, toApiError, isErrorEnvelope } from '../api-client.ts'
import type { Completion, CompletionChunk, ErrorEnvelope, TokenUsage } from '../api-types.ts'

interface Delta {
  readonly content: string
  readonly reasoning: string
}

export interface CompletionEnd {
  readonly reason: string | null
  readonly usage: TokenUsage | null
}

/** The turn as the service counts it, known once the answer begins. */
export interface StartedTurn {
  readonly requestId: string | null
}

interface CompletionRequest {
  readonly model: Pick<ChatModel, 'id' | 'capabilities'>
  readonly messages: readonly RequestMessage[]
  /** Null leaves it to the model. */
  readonly temperature: number | null
  readonly signal: AbortSignal
  /** The HTTP status of each code of the catalogue. */
  readonly statuses: Readonly<Record<string, number>>
}

/**
 * Passes each piece of the answer to `take`. Returns null where the stream ended early without an error.
 * @throws {ApiError} as the service reported it, also in mid-stream
 */
export async function requestCompletion(
  { model, messages, temperature, signal, statuses }: CompletionRequest,
  onDelta: (delta: Delta) => void,
  onStart: (turn: StartedTurn) => void,
): Promise<CompletionEnd | null> {
  // A search has nothing to show before its end.
  const isBuffered = model.capabilities.includes('search') && !model.capabilities.includes('chat')
  const response = await fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: model.id,
      messages,
      ...(temperature === null || isBuffered ? {} : { temperature }),
      stream: !isBuffered,
      ...(isBuffered ? {} : { stream_options: { include_usage: true } }),
    }),
    signal,
  }).catch((error: unknown) => {
    throw signal.aborted ? error : new ApiError(0, null)
  })
  onStart({ requestId: response.headers.get('x-request-id') })
  if (!response.ok) throw toApiError(response, await response.json().catch(() => null))
  const streamed = (response.headers.get('content-type') ?? '').startsWith('text/event-stream')
  return streamed ? readStream(response, statuses, onDelta) : readBuffered(await response.json(), onDelta)
}

function readBuffered({ choices, usage }: Completion, onDelta: (delta: Delta) => void): CompletionEnd {
  const [choice] = choices
  onDelta({ content: choice?.message.content ?? '', reasoning: '' })
  return { reason: choice?.finish_reason ?? null, usage: usage ?? null }
}

async function readStream(
  { body, status }: Response,
  statuses: CompletionRequest['statuses'],
  onDelta: (delta: Delta) => void,
): Promise<CompletionEnd | null> {
  if (body === null) return null
  let reason: string | null = null
  let usage: TokenUsage | null = null
  for await (const event of readEvents<CompletionChunk | ErrorEnvelope>(body)) {
    // After the first byte a failure can only come as an event; its status is the one its code has in the catalogue.
    if (isErrorEnvelope(event)) throw new ApiError(statuses[event.code] ?? status, event)
    const choice = event.choices[0]
    usage = event.usage ?? usage
    reason = choice?.finish_reason ?? reason
    const { content, reasoning_content: thought } = choice?.delta ?? {}
    const reasoning = typeof thought === 'string' ? thought : ''
    if (content || reasoning) onDelta({ content: content ?? '', reasoning })
  }
  return reason === null ? null : { reason, usage }
}
