/** Upstreams as values: each call follows a script, in simulated time, without a socket. */
import type { Dispatcher } from 'undici'
import type { SimulatedClock } from '../../support/simulated-clock.ts'

/** What happens to a call, one step after the other. */
export type Step =
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'head'; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  | { readonly kind: 'data'; readonly text: string }
  | { readonly kind: 'end' }
  /** The connection is lost. */
  | { readonly kind: 'reset' }

/** A script that is over without `end` or `reset` stays silent. */
export type Script = readonly Step[]

export interface SimulatedCall {
  readonly host: string
  /** The id of the turn. */
  readonly turn: string
}

const event = (fields: object): string => `data: ${JSON.stringify({ id: 'c', created: 1, model: 'm', ...fields })}\n\n`
const delta = (fields: object, finish: string | null = null): string =>
  event({ choices: [{ index: 0, delta: fields, finish_reason: finish }] })

export const data = (text: string): Step => ({ kind: 'data', text })
export const wait = (ms: number): Step => ({ kind: 'wait', ms })
export const streamHead: Step = { kind: 'head', status: 200, headers: { 'content-type': 'text/event-stream' } }
export const word = data(delta({ content: 'word ' }))
export const finish = data(delta({}, 'stop'))
export const usage = (outputTokens: number): Step =>
  data(event({ choices: [], usage: { prompt_tokens: 7, completion_tokens: outputTokens, total_tokens: 7 + outputTokens } }))
export const done = data('data: [DONE]\n\n')
export const end: Step = { kind: 'end' }
export const reset: Step = { kind: 'reset' }

/** A whole answer of so many words, this long apart. */
export function answer(words: number, { firstMs = 0, betweenMs = 0 } = {}): Script {
  const stream = Array.from({ length: words }, () => [wait(betweenMs), word]).flat()
  return [wait(firstMs), streamHead, ...stream, finish, usage(words), done, end]
}

export function rejection(status: number, headers: Readonly<Record<string, string>> = {}): Script {
  const body = JSON.stringify({ error: { message: 'no', type: 'server_error' } })
  return [{ kind: 'head', status, headers: { 'content-type': 'application/json', ...headers } }, data(body), end]
}

export class SimulatedUpstream {
  readonly calls: SimulatedCall[] = []
  readonly #clock: SimulatedClock
  readonly #onCall: (call: SimulatedCall) => Script

  /** `onCall` is told of each call before anything of it is sent, and returns what happens to it. */
  constructor(clock: SimulatedClock, onCall: (call: SimulatedCall) => Script) {
    this.#clock = clock
    this.#onCall = onCall
  }

  /** In place of a connection pool. */
  readonly dispatcher = {
    dispatch: (options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean => {
      const headers = options.headers as Readonly<Record<string, string>>
      const call = { host: new URL(String(options.origin)).hostname, turn: headers['x-client-request-id'] ?? '' }
      this.calls.push(call)
      new RunningCall(this.#clock, this.#onCall(call), handler).start()
      return true
    },
    close: async () => undefined,
    destroy: async () => undefined,
  } as unknown as Dispatcher
}

class RunningCall implements Dispatcher.DispatchController {
  aborted = false
  paused = false
  reason: Error | null = null
  rawHeaders = null
  rawTrailers = null
  readonly #clock: SimulatedClock
  readonly #steps: Step[]
  readonly #handler: Dispatcher.DispatchHandler
  #isRunning = false

  constructor(clock: SimulatedClock, script: Script, handler: Dispatcher.DispatchHandler) {
    this.#clock = clock
    this.#steps = [...script]
    this.#handler = handler
  }

  start(): void {
    this.#handler.onRequestStart?.(this, {})
    this.#go()
  }

  pause(): void {
    this.paused = true
  }

  resume(): void {
    this.paused = false
    this.#go()
  }

  abort(reason: Error): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    this.#steps.length = 0
    this.#handler.onResponseError?.(this, reason)
  }

  /** Nothing is delivered in the same moment in which it was asked for, as with a socket. */
  #go(afterMs = 1): void {
    if (this.#isRunning || this.#steps.length === 0) return
    this.#isRunning = true
    this.#clock
      .after(afterMs, () => {
        this.#isRunning = false
        this.#next()
      })
      .unref()
  }

  #next(): void {
    while (!this.paused && !this.aborted) {
      const step = this.#steps.shift()
      switch (step?.kind) {
        case undefined:
          return
        case 'wait':
          if (step.ms > 0) return this.#go(step.ms)
          break
        case 'head':
          this.#handler.onResponseStart?.(this, step.status, { ...step.headers }, '')
          break
        case 'data':
          this.#handler.onResponseData?.(this, Buffer.from(step.text))
          break
        case 'end':
          this.#steps.length = 0
          return this.#handler.onResponseEnd?.(this, {})
        case 'reset':
          this.#steps.length = 0
          return this.#handler.onResponseError?.(this, Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }))
      }
    }
  }
}
