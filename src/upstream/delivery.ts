/** The client's side of a streamed call: when its stream is opened, how fast it takes what it is sent, and what keeps it while nothing comes. */
import type { GatewayConfig } from '../config/config.ts'
import type { Clock } from '../system/clock.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { Wire } from '../exchange/run.ts'

export interface DeliveryOptions {
  readonly x: Exchange
  readonly wire: Wire
  readonly clock: Clock
  readonly config: GatewayConfig
  /** The upstream is to wait. */
  readonly pause: () => void
  /** The upstream may go on. */
  readonly resume: () => void
  /** Whether the call has not failed meanwhile. */
  readonly isWanted: () => boolean
  /** A plugin has refused the answer at its head. */
  readonly refused: (error: unknown) => void
  /** What was held for a plugin's look is on its way. */
  readonly released: () => void
}

export class Delivery {
  readonly #options: DeliveryOptions
  /** When the client was last sent anything. */
  #sentAt: number
  /** When the client stopped taking; null while it takes. */
  #blockedAt: number | null = null
  /** How long it did not take before that, in all. */
  #blockedMs = 0
  #accepted = false
  /** Frames that wait for a plugin's asynchronous look at the head. */
  #held: string | null = null

  constructor(options: DeliveryOptions) {
    this.#options = options
    this.#sentAt = options.clock.ticks()
  }

  get isHolding(): boolean {
    return this.#held !== null
  }

  get blockedAt(): number | null {
    return this.#blockedAt
  }

  /** How long the client has kept the upstream waiting, in all. */
  blockedMs(now: number): number {
    return this.#blockedMs + (this.#blockedAt === null ? 0 : now - this.#blockedAt)
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
    if (!(looking instanceof Promise)) return this.#open(frames)
    this.#held = frames
    this.#options.pause()
    looking.then(() => {
      const held = this.#held ?? ''
      this.#held = null
      if (!this.#options.isWanted()) return
      this.#open(held)
      this.#options.resume()
      this.#options.released()
    }, this.#options.refused)
  }

  /** Proxies between us and the client drop a silent stream; a comment keeps it, and is nothing to the client's parser. */
  heartbeat(now: number): void {
    const { wire, config } = this.#options
    if (this.#held !== null) return
    const { client } = wire
    const wait = client.opened ? config.timeouts.heartbeatEveryMs : config.timeouts.heartbeatAfterMs
    if (now - this.#sentAt < wait || client.left) return
    openStream(wire)
    this.#send(': keep-alive\n\n')
  }

  #open(frames: string): void {
    const { wire, x, clock } = this.#options
    openStream(wire)
    x.firstTokenTicks ??= clock.ticks()
    this.#send(frames)
  }

  #send(frames: string): void {
    const { clock, wire } = this.#options
    this.#sentAt = clock.ticks()
    if (wire.client.left || wire.client.write(frames, 'utf8') || this.#blockedAt !== null) return
    const blockedAt = this.#sentAt
    this.#blockedAt = blockedAt
    this.#options.pause()
    wire.client.onDrain(() => {
      this.#blockedAt = null
      this.#blockedMs += clock.ticks() - blockedAt
      this.#options.resume()
    })
  }
}

/** Opens the client's stream unless it is open. */
export function openStream(wire: Wire): void {
  if (!wire.client.opened && !wire.client.left) wire.client.open(200, { ...wire.headers(), ...streamHeaders })
}

/** Of a stream of events. */
export const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}
