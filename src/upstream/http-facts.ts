/** An HTTP answer that is no success, and a line that broke, as the facts that the table of failures judges. */
import type { UpstreamFacts } from '../exchange/upstream-failure.ts'

export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>

/** As much of a refusal's body as is kept to classify it. */
export const refusalBytes = 64 * 1024

export function refusalFacts(status: number, headers: AnswerHeaders, body: string): UpstreamFacts {
  const contentType = headerOf(headers, 'content-type') ?? ''
  return { kind: 'status', status, contentType, retryAfter: headerOf(headers, 'retry-after'), body }
}

/** A connection that was not made, or did not hold, by the name that Node or undici gives it. */
export function brokenFacts(error: unknown): UpstreamFacts {
  const { code, name, cause } = error as { code?: unknown; name?: unknown; cause?: { code?: unknown } }
  if (name === 'TimeoutError') return { kind: 'timeout', phase: 'total' }
  const known = [code, cause?.code, name].find((word) => typeof word === 'string') ?? 'unknown'
  if (known === 'UND_ERR_CONNECT_TIMEOUT') return { kind: 'timeout', phase: 'connect' }
  if (known === 'UND_ERR_HEADERS_TIMEOUT') return { kind: 'timeout', phase: 'first_byte' }
  return { kind: 'network', code: String(known) }
}

/** The first of a header that may have come more than once. */
export function headerOf(headers: AnswerHeaders, name: string): string | null {
  const value = headers[name]
  return (Array.isArray(value) ? value[0] : value) ?? null
}
