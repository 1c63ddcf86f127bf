/** The client's side of a streamed call: when its stream is opened, backpressure, and keep-alive comments. */
import type { Exchange } from '../exchange/exchange.ts'
import type { CallContext } from '../exchange/plugins/plugin-chain.ts'
import { createHeartbeat, openStream } from '../exchange/response-headers.ts'
import type { Clock } from '../system/clock.ts'
import type { Deadlines } from './deadlines.ts'

interface ClientStreamOptions {
  readonly x: Exchange
  readonly callContext: CallContext
  readonly clock: Clock
  /** Records sends and backpressure. */
  readonly deadlines: Deadlines
  /** Pauses the upstream. */
  readonly pause: () => void
  /** Resumes the upstream. */
  readonly resume: () => void
  /** False once the call has failed. */
  readonly isActive: () => boolean
  /** A plugin refused the response at its head, or set a header that cannot be sent. */
  readonly onRejected: (error: unknown) => void
  /** Frames held for a plugin's `onResponse` hook have been sent. */
  readonly onReleased: () => void
}

export class ClientStream {
  readonly #options: ClientStreamOptions
  #headersHandled = false
  /** Frames held while a plugin's asynchronous `onResponse` hook runs. */
  #held: string | null = null

  constructor(options: ClientStreamOptions) {
    this.#options = options
  }

  get isHolding(): boolean {
    return this.#held !== null
  }

  /** The first frames open the stream after the `onResponse` hooks have run; later frames pass directly. */
  write(frames: string): void {
    if (this.#held !== null) {
      this.#held += frames
      return
    }
    if (this.#headersHandled) return this.#send(frames)
    this.#headersHandled = true
    const hookResult = this.#options.callContext.onUpstreamHeaders({ status: 200, stream: true })
    if (!(hookResult instanceof Promise)) return void this.#open(frames)
    this.#held = frames
    this.#options.pause()
    hookResult
      .then(() => {
        const heldFrames = this.#held ?? ''
        this.#held = null
        if (!this.#options.isActive() || !this.#open(heldFrames)) return
        // If the held frames caused backpressure, the drain listener resumes the upstream instead.
        if (!this.#options.deadlines.isBlocked) this.#options.resume()
        this.#options.onReleased()
      })
      .catch(this.#options.onRejected)
  }

  /**
   * Proxies drop a silent stream. A comment keeps it open, and clients' parsers ignore it. A client that does not read gets none: what it has
   * not read keeps the stream open, and more would only be held in memory.
   */
  keepAlive(): void {
    const { callContext, deadlines } = this.#options
    if (this.#held !== null || deadlines.isBlocked || callContext.client.disconnected || !this.#tryOpenStream()) return
    try {
      this.#send(createHeartbeat(callContext))
    } catch (error) {
      this.#options.onRejected(error)
    }
  }

  /** Returns false if the stream cannot be opened. */
  #open(frames: string): boolean {
    const { x, clock } = this.#options
    if (!this.#tryOpenStream()) return false
    x.firstTokenMonotonicMs ??= clock.monotonicMs()
    this.#send(frames)
    return true
  }

  /** A plugin may have set an invalid header. Thrown here, the error would end the process or count as the upstream's. */
  #tryOpenStream(): boolean {
    try {
      openStream(this.#options.callContext)
      return true
    } catch (error) {
      this.#options.onRejected(error)
      return false
    }
  }

  #send(frames: string): void {
    const { clock, callContext, deadlines } = this.#options
    const now = clock.activeMs()
    deadlines.recordSend(now)
    if (callContext.client.disconnected || callContext.client.write(frames) || deadlines.isBlocked) return
    deadlines.recordBlocked(now)
    this.#options.pause()
    callContext.client.onDrain(() => {
      deadlines.recordDrain(clock.activeMs())
      this.#options.resume()
    })
  }
}
