/** An upstream's failure as observed. `src/upstream/errors/classify-failure.ts` decides what it means for the client. */

export type FailureFacts =
  /** No target, address, key or model is configured. `reason` is for the log; `product` is the product that cannot be served. */
  | { readonly kind: 'unconfigured'; readonly reason: string; readonly product?: string }
  /** No response, or an interrupted one: the code of the Node or undici error, e.g. `ECONNREFUSED`. */
  | {
      readonly kind: 'network'
      readonly code: string
      /** A kept connection was lost soon after the request and before any byte of a response: the upstream had closed it already. */
      readonly staleConnection?: true
    }
  /** All slots were taken, and none became free in time. */
  | { readonly kind: 'queue_full' }
  /** No call was made, because the target keeps failing. `cause`: the facts of its last failure, if there was one. */
  | { readonly kind: 'resting'; readonly cause: FailureFacts | null }
  /** One of the gateway's deadlines was exceeded. */
  | {
      readonly kind: 'timeout'
      readonly phase: 'connect' | 'first_byte' | 'idle' | 'total'
      /** The upstream was producing until then: only the limit ended the call. */
      readonly isOwnLimit?: true
    }
  /** A response with an error status; `body` is at most its first 64 KiB. */
  | {
      readonly kind: 'status'
      readonly status: number
      readonly contentType: string
      readonly retryAfter: string | null
      readonly body: string
      /** A field that the gateway added or changed and that the upstream rejects: the client is not at fault. */
      readonly addedField?: string
    }
  /** A 200 that is no success. `error` is the error object found inside, if any. */
  | {
      readonly kind: 'in_band'
      readonly status: number
      readonly reason:
        | 'error_object'
        | 'bad_finish'
        | 'unusable_output'
        | 'no_finish'
        | 'empty'
        | 'not_json'
        | 'not_sse'
        | 'too_large'
        | 'too_many_calls'
        | 'too_long'
      readonly error?: unknown
    }

/** Thrown by upstream calls. Its message is for the log and contains no text of the upstream. */
export class UpstreamFailure extends Error {
  readonly facts: FailureFacts
  /** Host name of the target, null if none was chosen. */
  readonly upstreamHost: string | null
  /** Seconds after which clients should retry, from the target's health; null if it says nothing. */
  retryAfterSeconds: number | null = null
  /** Whether the target rests after this failure, so that its health decides when clients should retry. */
  isTargetResting = false
  /** Secrets and names of the target that no message to a client may contain. */
  redact: readonly string[] = []

  constructor(facts: FailureFacts, upstreamHost: string | null = null, options?: ErrorOptions) {
    super(summarize(facts), options)
    this.name = 'UpstreamFailure'
    this.facts = facts
    this.upstreamHost = upstreamHost
  }
}

function summarize(facts: FailureFacts): string {
  switch (facts.kind) {
    case 'unconfigured':
      return `upstream not configured: ${facts.reason}`
    case 'network':
      return `upstream connection failed: ${facts.code}`
    case 'queue_full':
      return 'upstream queue full: no slot became free in time'
    case 'resting':
      return `upstream not called because it keeps failing${facts.cause === null ? '' : ` (last: ${summarize(facts.cause)})`}`
    case 'timeout':
      return `upstream timed out: ${facts.phase}`
    case 'status':
      return `upstream answered ${facts.status}`
    case 'in_band':
      return `upstream answered ${facts.status} and failed: ${facts.reason}`
  }
}
