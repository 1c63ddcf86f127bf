/** Records the demo upstream's calls. Tests compare the gateway's ledger with these counts. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Script } from './script.ts'

/** One call as the demo upstream received it. */
export interface FakeCall {
  /** The incoming `x-client-request-id`. */
  readonly id: string | null
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** Header names and values as received, because a merged object hides duplicates. */
  readonly rawHeaders: readonly string[]
  /** The request's body, at most its first MiB. */
  rawBody: string
  model: string | null
  stream: boolean
  script: Script | null
  /** Output tokens written so far. */
  tokens: number
  /** Streamed events written so far. */
  events: number
  /** The whole answer, or the whole scripted fault, was sent. */
  finished: boolean
  readonly startedAt: number
  /** When the client disconnected before the end, in milliseconds since 1970; else null. */
  abortedAt: number | null
  /** Resolves when the call has ended. */
  readonly ended: Promise<void>
}

export interface FakeStats {
  /** Requests whose head was parsed. */
  readonly requests: number
  /** Running calls. */
  readonly open: number
  /** Open connections. */
  readonly sockets: number
  /** Tokens written, over all calls. */
  readonly tokens: number
  readonly finished: number
  readonly aborted: number
}

/** Stores the last `keep` calls and counts all of them. */
export class CallLog {
  readonly calls: FakeCall[] = []
  requests = 0
  open = 0
  sockets = 0
  tokens = 0
  finished = 0
  aborted = 0
  readonly #maxCalls: number
  readonly #now: () => number
  readonly #endResolvers = new WeakMap<FakeCall, () => void>()
  #waiters: ((call: FakeCall) => void)[] = []

  constructor(maxCalls: number, now: () => number) {
    this.#maxCalls = maxCalls
    this.#now = now
  }

  begin(req: IncomingMessage): FakeCall {
    const { promise, resolve } = Promise.withResolvers<void>()
    const id = req.headers['x-client-request-id']
    const call: FakeCall = {
      id: typeof id === 'string' ? id : null,
      method: req.method ?? '',
      path: req.url ?? '',
      headers: req.headers,
      rawHeaders: req.rawHeaders,
      rawBody: '',
      model: null,
      stream: false,
      script: null,
      tokens: 0,
      events: 0,
      finished: false,
      startedAt: this.#now(),
      abortedAt: null,
      ended: promise,
    }
    this.#endResolvers.set(call, resolve)
    this.requests++
    this.open++
    this.calls.push(call)
    if (this.calls.length > this.#maxCalls) this.calls.shift()
    return call
  }

  /** The request was read: resolves the waiters for a call. */
  notifyRead(call: FakeCall): void {
    const waiters = this.#waiters
    this.#waiters = []
    for (const notify of waiters) notify(call)
  }

  next(): Promise<FakeCall> {
    return new Promise((resolve) => this.#waiters.push(resolve))
  }

  emit(call: FakeCall, tokens: number): void {
    call.tokens += tokens
    this.tokens += tokens
  }

  /** Ends a call once; later reports are ignored. */
  end(call: FakeCall, finished: boolean): void {
    if (call.finished || call.abortedAt !== null) return
    this.open--
    if (finished) this.finished++
    else this.aborted++
    call.finished = finished
    call.abortedAt = finished ? null : this.#now()
    this.#endResolvers.get(call)?.()
  }

  stats(): FakeStats {
    const { requests, open, sockets, tokens, finished, aborted } = this
    return { requests, open, sockets, tokens, finished, aborted }
  }
}
