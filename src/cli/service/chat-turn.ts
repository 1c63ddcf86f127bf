/** One turn of a chat with the service, streamed or whole. Both forms end in the same result, or in the failure that the service told. */
import type { Context } from '../context.ts'
import { CommandFailure } from '../failure.ts'
import { isRecord } from '../record.ts'
import { call, open } from './client.ts'
import { eventData } from './server-sent-events.ts'
import { serviceFailure } from './service-failure.ts'
import type { Credential, Site } from './site.ts'

export interface Message {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

export interface TurnRequest {
  readonly model: string
  readonly messages: readonly Message[]
  readonly signal?: AbortSignal
}

/** A turn that came to its end. */
export interface TurnResult {
  readonly text: string
  readonly model: string
  readonly finish_reason: string
  readonly usage: unknown
  readonly request_id: string
}

/** Models think for a while before the first word, and images take longer than words. */
const turnTimeoutMs = 300_000

/**
 * One streamed turn; `onText` gets each piece of the answer as it arrives. Throws the failure that ends the stream, also one
 * that comes after the first words: a stream that stops without a finish reason was not an answer.
 */
export async function streamTurn(
  context: Context,
  site: Site,
  credential: Credential,
  { model, messages, signal }: TurnRequest,
  onText: (text: string) => void,
): Promise<TurnResult> {
  await using exchange = await open(
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
  const seen: { text: string; model: string; finish?: string; usage?: unknown } = { text: '', model }
  for await (const data of eventData(exchange.pieces())) {
    if (data === '[DONE]') break
    const event = parseEvent(data, exchange.requestId)
    if (isRecord(event['error'])) throw streamFailure(event, exchange.response, exchange.requestId)
    if (typeof event['model'] === 'string') seen.model = event['model']
    if (isRecord(event['usage'])) seen.usage = event['usage']
    const choice = firstChoice(event)
    const delta = isRecord(choice?.['delta']) ? choice['delta'] : undefined
    if (typeof choice?.['finish_reason'] === 'string') seen.finish = choice['finish_reason']
    if (typeof delta?.['content'] !== 'string' || delta['content'] === '') continue
    seen.text += delta['content']
    onText(delta['content'])
  }
  if (seen.finish === undefined) throw brokenStream(exchange.requestId)
  return {
    text: seen.text,
    model: seen.model,
    finish_reason: seen.finish,
    usage: seen.usage ?? null,
    request_id: exchange.requestId,
  }
}

/** One turn answered whole. */
export async function wholeTurn(
  context: Context,
  site: Site,
  credential: Credential,
  { model, messages, signal }: TurnRequest,
): Promise<TurnResult> {
  const { body, requestId } = await call(context, site, {
    method: 'POST',
    path: '/v1/chat/completions',
    body: { model, messages, stream: false },
    credential,
    timeoutMs: turnTimeoutMs,
    ...(signal === undefined ? {} : { signal }),
  })
  const choice = firstChoice(isRecord(body) ? body : {})
  const message = isRecord(choice?.['message']) ? choice['message'] : undefined
  if (!isRecord(body) || typeof message?.['content'] !== 'string') throw brokenStream(requestId)
  return {
    text: message['content'],
    model: typeof body['model'] === 'string' ? body['model'] : model,
    finish_reason: typeof choice?.['finish_reason'] === 'string' ? choice['finish_reason'] : 'stop',
    usage: body['usage'] ?? null,
    request_id: requestId,
  }
}

function parseEvent(data: string, requestId: string): Readonly<Record<string, unknown>> {
  try {
    const event: unknown = JSON.parse(data)
    if (isRecord(event)) return event
  } catch {
    // Said below.
  }
  throw brokenStream(requestId)
}

/** The envelope as the stream's last event. Its status stands in it, because HTTP said 200. */
function streamFailure(event: Readonly<Record<string, unknown>>, response: Response, requestId: string): CommandFailure {
  const status = typeof event['status'] === 'number' ? event['status'] : response.status
  return serviceFailure({ status, headers: response.headers, body: event, requestId })
}

function brokenStream(requestId: string): CommandFailure {
  return new CommandFailure(
    'answer_incomplete',
    { en: 'The answer ended before it was complete.', zh: '回答在完成之前中断。' },
    {
      exit: 'tryAgain',
      hints: [
        { en: `request id: ${requestId}`, zh: `请求 ID:${requestId}` },
        { en: 'try again later', zh: '请稍后重试' },
      ],
      details: { requestId },
    },
  )
}

function firstChoice(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined {
  const choice: unknown = Array.isArray(body['choices']) ? body['choices'][0] : undefined
  return isRecord(choice) ? choice : undefined
}
