/** Converts an error response or a broken connection to the facts that `classify-failure.ts` judges. */
import type { FailureFacts } from '../../exchange/upstream-failure.ts'

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>

/** How much of an error body is kept to classify it. */
export const maxErrorBodyBytes = 64 * 1024

export function toStatusFacts(status: number, headers: ResponseHeaders, body: string): FailureFacts {
  const contentType = getHeader(headers, 'content-type') ?? ''
  return { kind: 'status', status, contentType, retryAfter: getHeader(headers, 'retry-after'), body }
}

/** A connection that failed, by the code that Node or undici gives it. */
export function toConnectionFacts(error: unknown): FailureFacts {
  const { code, name, cause } = error as { code?: unknown; name?: unknown; cause?: { code?: unknown } }
  if (name === 'TimeoutError') return { kind: 'timeout', phase: 'total' }
  const errorCode = [code, cause?.code, name].find((word) => typeof word === 'string') ?? 'unknown'
  if (errorCode === 'UND_ERR_CONNECT_TIMEOUT') return { kind: 'timeout', phase: 'connect' }
  if (errorCode === 'UND_ERR_HEADERS_TIMEOUT') return { kind: 'timeout', phase: 'first_byte' }
  return { kind: 'network', code: String(errorCode) }
}

/** The first value of a header that may occur more than once. */
export function getHeader(headers: ResponseHeaders, name: string): string | null {
  const value = headers[name]
  return (Array.isArray(value) ? value[0] : value) ?? null
}
