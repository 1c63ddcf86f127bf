/** The failure of an upstream as it travels: what was observed, before anyone judged it. What it means for the caller, `upstream/failure.ts` says. */

export type UpstreamFacts =
  /** There is no target, address, key or model to call. `reason` is for the log; `product` is what nobody can serve. */
  | { readonly kind: 'unconfigured'; readonly reason: string; readonly product?: string }
  /** No answer, or a broken one: the code of the Node or undici error, e.g. `ECONNREFUSED`. */
  | { readonly kind: 'network'; readonly code: string }
  /** As many calls run as it may have, and no place came free in time. */
  | { readonly kind: 'full' }
  /** One of the gateway's own limits ran out. */
  | { readonly kind: 'timeout'; readonly phase: 'connect' | 'first_byte' | 'idle' | 'total' }
  /** A whole answer with a status that is no success; `body` is at most its first 64 KiB. */
  | {
      readonly kind: 'status'
      readonly status: number
      readonly contentType: string
      readonly retryAfter: string | null
      readonly body: string
      /** A field that we added or changed and that it refuses: then it is no fault of the caller's. */
      readonly ours?: string
    }
  /** A success that was none. `error` is the error object found inside, if there was one. */
  | {
      readonly kind: 'in_band'
      readonly status: number
      readonly reason: 'error_object' | 'bad_finish' | 'no_finish' | 'empty' | 'not_json' | 'not_sse' | 'too_large'
      readonly error?: unknown
    }

/** Thrown by whatever calls the upstream. Its message is for the log and carries nothing the upstream wrote. */
export class UpstreamFailure extends Error {
  readonly facts: UpstreamFacts
  /** Host name of the target, null where none was chosen. */
  readonly upstreamHost: string | null

  constructor(facts: UpstreamFacts, upstreamHost: string | null = null, options?: ErrorOptions) {
    super(summary(facts), options)
    this.name = 'UpstreamFailure'
    this.facts = facts
    this.upstreamHost = upstreamHost
  }
}

function summary(facts: UpstreamFacts): string {
  switch (facts.kind) {
    case 'unconfigured':
      return `upstream not configured: ${facts.reason}`
    case 'network':
      return `upstream connection failed: ${facts.code}`
    case 'full':
      return 'upstream is full: no place for another call came free in time'
    case 'timeout':
      return `upstream timed out: ${facts.phase}`
    case 'status':
      return `upstream answered ${facts.status}`
    case 'in_band':
      return `upstream answered ${facts.status} and failed: ${facts.reason}`
  }
}
