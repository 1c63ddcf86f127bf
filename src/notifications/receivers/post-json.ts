/** One POST request to a receiver: bounded in time and answer, and without redirects. */
import { systemClock } from '../../system/clock.ts'
import type { Dispatcher } from 'undici'
import { AddressNotAllowedError } from '../../access/ssrf-guard.ts'
import { readBounded } from '../../upstream/bounded-body.ts'

export interface OutgoingRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Answer {
  readonly status: number
  /** Null if it is longer than is read. */
  readonly text: string | null
  readonly retryAfterMs: number | null
}

const maxAnswerBytes = 64 * 1024

/** @throws if no whole answer came within the time */
export async function postJson({ url, headers, body }: OutgoingRequest, options: PostOptions): Promise<Answer> {
  const { timeoutMs, signal, dispatcher } = options
  // Loaded with the first notification: a start need not wait for it.
  const { request } = await import('undici')
  const {
    statusCode: status,
    headers: answerHeaders,
    body: answerBody,
  } = await request(url, {
    method: 'POST',
    headers: { 'user-agent': 'svc-gateway', 'content-type': 'application/json', ...headers },
    body,
    dispatcher,
    signal: AbortSignal.any([signal, systemClock.deadline(timeoutMs)]),
  })
  const bytes = await readBounded(answerBody, maxAnswerBytes)
  return {
    status,
    text: bytes === null ? null : bytes.toString('utf8'),
    retryAfterMs: parseRetryAfter(answerHeaders['retry-after']),
  }
}

export interface PostOptions {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly dispatcher: Dispatcher
}

function parseRetryAfter(header: string | string[] | undefined): number | null {
  return typeof header === 'string' && /^\d{1,6}$/.test(header) ? Number(header) * 1000 : null
}

export const privateAddressReason = 'its address is one of a private network; allow it with allowPrivate: true'

/** Why no answer came, without the address, which may contain a key. */
export function describeRequestError(error: unknown): string {
  if (error instanceof AddressNotAllowedError) return privateAddressReason
  const { name, code, cause } = error as { readonly name?: unknown; readonly code?: unknown; readonly cause?: unknown }
  if (name === 'TimeoutError') return 'no answer in time'
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code)) return code
  return cause === undefined ? 'no answer' : describeRequestError(cause)
}
