/**
 * Whether a call continues after its client has disconnected. If output is visible while it is produced, the call is aborted at once, and
 * what was produced is charged. If it may be produced unseen, the call continues as if the client had stayed until the response shows its
 * usage.
 */
import type { ResponseReader, ResponseReaderOptions } from './response/response-reader.ts'

/** How long output is observed to tell a response that grows from one that arrives all at once. */
const disconnectGraceMs = 100

type DisconnectedCallOptions = Pick<
  ResponseReaderOptions<unknown>,
  'route' | 'requestMode' | 'capabilities' | 'candidate' | 'upstream'
> & { readonly responseMode: Pick<ResponseReaderOptions<unknown>['responseMode'], 'fromStream'> }

type ObservedReader = Pick<ResponseReader<unknown>, 'isVisible' | 'firstOutputAt'> | null

export class DisconnectedCall {
  readonly #options: DisconnectedCallOptions
  /** When the client disconnected while the call continued. */
  #continuedSince: number | null = null

  constructor(options: DisconnectedCallOptions) {
    this.#options = options
  }

  /** Call it when the client disconnects. False: the call is to be aborted. */
  continueUnseen(reader: ObservedReader, monotonicMs: number): boolean {
    if (!this.#mayProduceUnseen(reader)) return false
    this.#continuedSince = monotonicMs
    return true
  }

  /** The client has disconnected, and output turns out to be visible. */
  canStop(reader: ObservedReader, monotonicMs: number): boolean {
    const { capabilities, candidate, upstream } = this.#options
    const firstOutputAt = reader?.firstOutputAt ?? null
    if (this.#continuedSince === null || firstOutputAt === null) return false
    if (monotonicMs - Math.max(this.#continuedSince, firstOutputAt) < disconnectGraceMs) return false
    return capabilities.getVisibility(candidate, upstream) !== 'hidden'
  }

  #mayProduceUnseen(reader: ObservedReader): boolean {
    const { route, requestMode, responseMode, capabilities, candidate, upstream } = this.#options
    if (!requestMode.stream) return true
    if (route.stream && responseMode.fromStream !== null) return false
    return reader?.isVisible === false || capabilities.getVisibility(candidate, upstream) !== 'visible'
  }
}
