/** One chat turn with the service, streamed or whole. Both forms return the same result or throw the service's failure. */
import type { Context } from '../../context.ts'
import { CommandFailure } from '../../failure.ts'
import { isRecord } from '../../json.ts'
import { requestJson, openExchange } from '../client/service-client.ts'
import { parseEventData } from '../client/server-sent-events.ts'
import { toServiceFailure } from '../client/service-failure.ts'
import type { Credential, Site } from '../client/site.ts'
import { readChargeField, readChargeHeaders } from '../client/turn-charge.ts'
import type { TurnCharge } from '../client/turn-charge.ts'
import { parseJson } from '../../../system/parse-json.ts'

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

interface TurnRequest {
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly signal?: AbortSignal
}

/** Receives the pieces of an answer. */
interface TurnListener {
  readonly onText: (text: string) => void
  readonly onReasoning?: (text: string) => void
}

/** A completed turn, or one that the user stopped. */
export interface TurnResult {
  readonly text: string
  readonly model: string
  /** The service's, or `stopped`. */
  readonly finish_reason: string
  readonly usage: unknown
  /** What it cost and left; null for one that was stopped. */
  readonly charge: TurnCharge | null
  readonly request_id: string
}

/** Long, because models reason before the first token and images take longer than text. */
const turnTimeoutMs = 300_000

/**
 * Runs one streamed turn; the listener receives each chunk of the answer and of the reasoning before it. Throws the failure that ends the stream, also after the
 * first chunks: a stream that stops without a finish reason is not an answer. After `signal` the result is what has come, unless that is nothing.
 */
export async function streamTurn(
  context: Context,
  site: Site,
  credential: Credential,
  { model, messages, signal }: TurnRequest,
  { onText, onReasoning = () => {} }: TurnListener,
): Promise<TurnResult> {
  await using exchange = await openExchange(
    context,
    site,
    {
      method: 'POST',
      path: '/v1/chat/completions',
      body: { model, messages, stream: true, stream_options: { include_usage: true } },
      credential,
      timeoutMs: turnTimeoutMs,
      ...(signal === undefined ? {} : { signal }),
    },
    'text/event-stream',
  )
  const streamedTurn: { text: string; model: string; finish?: string; usage?: unknown; charge?: TurnCharge | null } = {
    text: '',
    model,
  }
  try {
    for await (const data of parseEventData(exchange.chunks())) {
      if (data === '[DONE]') break
      const event = parseEvent(data, exchange.requestId)
      if (isRecord(event['error'])) throw toStreamFailure(event, exchange.response, exchange.requestId)
      if (typeof event['model'] === 'string') streamedTurn.model = event['model']
      if (isRecord(event['usage'])) streamedTurn.usage = event['usage']
      streamedTurn.charge = readChargeField(event)
      const choice = getFirstChoice(event)
      const delta = isRecord(choice?.['delta']) ? choice['delta'] : undefined
      if (typeof choice?.['finish_reason'] === 'string') streamedTurn.finish = choice['finish_reason']
      if (typeof delta?.['reasoning_content'] === 'string' && delta['reasoning_content'] !== '')
        onReasoning(delta['reasoning_content'])
      if (typeof delta?.['content'] !== 'string' || delta['content'] === '') continue
      streamedTurn.text += delta['content']
      onText(delta['content'])
    }
  } catch (error) {
    if (signal?.aborted !== true || streamedTurn.text === '') throw error
    streamedTurn.finish = 'stopped'
  }
  if (streamedTurn.finish === undefined) throw createBrokenStreamFailure(exchange.requestId)
  return {
    text: streamedTurn.text,
    model: streamedTurn.model,
    finish_reason: streamedTurn.finish,
    usage: streamedTurn.usage ?? null,
    charge: streamedTurn.charge ?? null,
    request_id: exchange.requestId,
  }
}

/** Runs one turn whose answer arrives whole. */
export async function requestTurn(
  context: Context,
  site: Site,
  credential: Credential,
  { model, messages, signal }: TurnRequest,
): Promise<TurnResult> {
  const { body, requestId, headers } = await requestJson(context, site, {
    method: 'POST',
    path: '/v1/chat/completions',
    body: { model, messages, stream: false },
    credential,
    timeoutMs: turnTimeoutMs,
    ...(signal === undefined ? {} : { signal }),
  })
  const choice = getFirstChoice(isRecord(body) ? body : {})
  const message = isRecord(choice?.['message']) ? choice['message'] : undefined
  if (!isRecord(body) || typeof message?.['content'] !== 'string') throw createBrokenStreamFailure(requestId)
  return {
    text: message['content'],
    model: typeof body['model'] === 'string' ? body['model'] : model,
    finish_reason: typeof choice?.['finish_reason'] === 'string' ? choice['finish_reason'] : 'stop',
    usage: body['usage'] ?? null,
    charge: readChargeHeaders(site, headers),
    request_id: requestId,
  }
}

function parseEvent(data: string, requestId: string): Readonly<Record<string, unknown>> {
  try {
    const event: unknown = parseJson(data)
    if (isRecord(event)) return event
  } catch {
    // Reported below.
  }
  throw createBrokenStreamFailure(requestId)
}

/** The error envelope as the stream's last event. It carries the status, because the HTTP status was 200. */
function toStreamFailure(event: Readonly<Record<string, unknown>>, response: Response, requestId: string): CommandFailure {
  const status = typeof event['status'] === 'number' ? event['status'] : response.status
  return toServiceFailure({ status, headers: response.headers, body: event, requestId })
}

function createBrokenStreamFailure(requestId: string): CommandFailure {
  return new CommandFailure(
    'answer_incomplete',
    { en: 'The answer ended before it was complete.', zh: '回答在完成之前中断。' },
    {
      exit: 'tryAgain',
      hints: [
        { en: `request id: ${requestId}`, zh: `请求 ID：${requestId}` },
        { en: 'try again later', zh: '请稍后重试' },
      ],
      details: { requestId },
    },
  )
}

function getFirstChoice(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined {
  const choice: unknown = Array.isArray(body['choices']) ? body['choices'][0] : undefined
  return isRecord(choice) ? choice : undefined
}
