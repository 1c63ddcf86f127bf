/** The client's side of a streamed call: when its stream is opened, whether it takes what it is sent, and what keeps it while nothing comes. */
import type { Exchange } from '../exchange/exchange.ts'
import type { Wire } from '../exchange/run.ts'
import { openStream } from '../exchange/stream.ts'
import type { Clock } from '../system/clock.ts'
import type { Deadlines } from './deadlines.ts'

export interface DeliveryOptions {
  readonly x: Exchange
  readonly wire: Wire
  readonly clock: Clock
  /** Told when the client is sent something, and when it takes nothing. */
  readonly deadlines: Deadlines
  /** The upstream is to wait. */
  readonly pause: () => void
  /** The upstream may go on. */
  readonly resume: () => void
  /** Whether the call has not failed meanwhile. */
  readonly isWanted: () => boolean
  /** A plugin has refused the answer at its head, or left a header there that none can be opened with. */
  readonly refused: (error: unknown) => void
  /** What was held for a plugin's look is on its way. */
  readonly released: () => void
}

export class Delivery {
  readonly #options: DeliveryOptions
  #accepted = false
  /** Frames that wait for a plugin's asynchronous look at the head. */
  #held: string | null = null

  constructor(options: DeliveryOptions) {
    this.#options = options
  }

  get isHolding(): boolean {
    return this.#held !== null
  }

  /** The first frames open the stream, after the plugins have seen the head; the rest just pass. */
  take(frames: string): void {
    if (this.#held !== null) {
      this.#held += frames
      return
    }
    if (this.#accepted) return this.#send(frames)
    this.#accepted = true
    const looking = this.#options.wire.accepted({ status: 200, stream: true })
    if (!(looking instanceof Promise)) return void this.#open(frames)
    this.#held = frames
    this.#options.pause()
    looking
      .then(() => {
        const held = this.#held ?? ''
        this.#held = null
        if (!this.#options.isWanted() || !this.#open(held)) return
        // Unless that was more than the client takes: then it goes on with what the client has taken.
        if (!this.#options.deadlines.isBlocked) this.#options.resume()
        this.#options.released()
      })
      .catch(this.#options.refused)
  }

  /** Proxies between us and the client drop a silent stream; a comment keeps it, and is nothing to the client's parser. */
  keepAlive(): void {
    const { wire } = this.#options
    if (this.#held !== null || wire.client.left || !this.#isOpened()) return
    this.#send(': keep-alive\n\n')
  }

  /** False where it cannot be. */
  #open(frames: string): boolean {
    const { x, clock } = this.#options
    if (!this.#isOpened()) return false
    x.firstTokenTicks ??= clock.ticks()
    this.#send(frames)
    return true
  }

  /** What a plugin has left for a header may be fit for none. Thrown from here it would end the process, or be taken for the upstream's. */
  #isOpened(): boolean {
    try {
      openStream(this.#options.wire)
      return true
    } catch (error) {
      this.#options.refused(error)
      return false
    }
  }

  #send(frames: string): void {
    const { clock, wire, deadlines } = this.#options
    const now = clock.ticks()
    deadlines.sent(now)
    if (wire.client.left || wire.client.write(frames) || deadlines.isBlocked) return
    deadlines.blocked(now)
    this.#options.pause()
    wire.client.onDrain(() => {
      deadlines.taken(clock.ticks())
      this.#options.resume()
    })
  }
}
