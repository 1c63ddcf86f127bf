/** What the demonstration upstream saw and handed out. Its own count is what the gateway's ledger is checked against. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Script } from './script.ts'

/** One call as the demonstration upstream saw it. Its own count is what the gateway's ledger is checked against. */
export interface DemoCall {
  /** The incoming `x-request-id`. */
  readonly id: string | null
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** Names and values as received, for what a merged object hides. */
  readonly rawHeaders: readonly string[]
  /** The request's body, at most its first MiB. */
  rawBody: string
  model: string | null
  stream: boolean
  script: Script | null
  /** Tokens of answer handed to the connection so far. */
  tokens: number
  /** Streamed events handed to the connection so far. */
  events: number
  /** The whole answer, or the whole of its scripted fault, was sent. */
  finished: boolean
  readonly startedAt: number
  /** When the peer left before the end, in milliseconds since 1970; null where it did not. */
  abortedAt: number | null
  /** Resolves when the call is over, either way. */
  readonly ended: Promise<void>
}

export interface DemoStats {
  /** Requests whose head was parsed. */
  readonly requests: number
  /** Calls running now. */
  readonly open: number
  /** Connections open now. */
  readonly sockets: number
  /** Tokens handed to connections, over all calls. */
  readonly tokens: number
  readonly finished: number
  readonly aborted: number
}

/** Remembers the last `keep` calls and counts all of them. */
export class CallRecord {
  readonly calls: DemoCall[] = []
  requests = 0
  open = 0
  sockets = 0
  tokens = 0
  finished = 0
  aborted = 0
  readonly #keep: number
  readonly #now: () => number
  readonly #enders = new WeakMap<DemoCall, () => void>()
  #waiting: ((call: DemoCall) => void)[] = []

  constructor(keep: number, now: () => number) {
    this.#keep = keep
    this.#now = now
  }

  begin(req: IncomingMessage): DemoCall {
    const { promise, resolve } = Promise.withResolvers<void>()
    const id = req.headers['x-request-id']
    const call: DemoCall = {
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
    this.#enders.set(call, resolve)
    this.requests++
    this.open++
    this.calls.push(call)
    if (this.calls.length > this.#keep) this.calls.shift()
    return call
  }

  /** The request was read: those who wait for a call may look at it. */
  read(call: DemoCall): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const tell of waiting) tell(call)
  }

  next(): Promise<DemoCall> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  emit(call: DemoCall, tokens: number): void {
    call.tokens += tokens
    this.tokens += tokens
  }

  /** Ends a call once, whoever says so first. */
  end(call: DemoCall, finished: boolean): void {
    if (call.finished || call.abortedAt !== null) return
    this.open--
    if (finished) this.finished++
    else this.aborted++
    call.finished = finished
    call.abortedAt = finished ? null : this.#now()
    this.#enders.get(call)?.()
  }

  stats(): DemoStats {
    const { requests, open, sockets, tokens, finished, aborted } = this
    return { requests, open, sockets, tokens, finished, aborted }
  }
}
