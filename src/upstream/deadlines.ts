/**
 * How long a call may go on: until its first byte, between two words, with a client that takes nothing, and in all; and when a quiet client is
 * to be kept with a comment.
 *
 * Pure: told what happened and when, it says what is due. It has no timer and no clock, and knows no socket. Connecting alone is watched
 * elsewhere, by the dispatcher, because only that knows whether a call had to wait for a connection at all.
 */

export interface Timeouts {
  readonly firstByteMs: number
  /** Between two words of the upstream's. */
  readonly idleMs: number
  readonly totalMs: number
  /** A client that takes nothing for so long has left. */
  readonly slowReaderMs: number
  /** Silence after which a stream is opened with a comment, and the time between comments. */
  readonly heartbeatAfterMs: number
  readonly heartbeatEveryMs: number
}

/** `slow_reader` is the client's doing, `heartbeat` ends nothing; the others are the upstream's. */
export type Due = 'first_byte' | 'idle' | 'total' | 'slow_reader' | 'heartbeat'

/** All times are of the clock that never goes back. */
export class Deadlines {
  readonly #timeouts: Timeouts
  readonly #startedAt: number
  /** The total time is the turn's, whichever target it has come to: its hold lasts no longer. */
  readonly #turnStartedAt: number
  /** When the upstream last said something; null while it has not. */
  #heardAt: number | null = null
  /** When the client was last sent anything. */
  #sentAt: number
  /** When the client stopped taking; null while it takes. */
  #blockedAt: number | null = null
  /** How long it did not take before that, in all. */
  #blockedMs = 0

  constructor(timeouts: Timeouts, { startedAt, turnStartedAt }: { readonly startedAt: number; readonly turnStartedAt: number }) {
    this.#timeouts = timeouts
    this.#startedAt = startedAt
    this.#turnStartedAt = turnStartedAt
    this.#sentAt = startedAt
  }

  /** The upstream has said something that counts. */
  heard(now: number): void {
    this.#heardAt = now
  }

  /** The upstream was kept waiting, and may go on: that it was silent till now was no fault of its own. */
  resumed(now: number): void {
    if (this.#heardAt !== null) this.#heardAt = now
  }

  sent(now: number): void {
    this.#sentAt = now
  }

  /** The client takes no more for now. */
  blocked(now: number): void {
    this.#blockedAt ??= now
  }

  /** The client has taken what it was sent. */
  taken(now: number): void {
    if (this.#blockedAt === null) return
    this.#blockedMs += now - this.#blockedAt
    this.#blockedAt = null
  }

  get isBlocked(): boolean {
    return this.#blockedAt !== null
  }

  /** @param opened whether the client's stream is open */
  due(now: number, opened: boolean): Due | null {
    const { firstByteMs, idleMs, totalMs, slowReaderMs, heartbeatAfterMs, heartbeatEveryMs } = this.#timeouts
    if (now - this.#turnStartedAt >= totalMs) return this.#whoseTotal(now)
    if (this.#heardAt === null) {
      if (now - this.#startedAt >= firstByteMs) return 'first_byte'
    } else if (this.#blockedAt !== null) {
      // The client is the slow one: the upstream is paused, so its silence says nothing.
      return now - this.#blockedAt >= slowReaderMs ? 'slow_reader' : null
    } else if (now - this.#heardAt >= idleMs) return 'idle'
    return now - this.#sentAt >= (opened ? heartbeatEveryMs : heartbeatAfterMs) ? 'heartbeat' : null
  }

  /** Whoever took most of the time is the one who ran out of it: an answer read slowly to the end of all time is not free. */
  #whoseTotal(now: number): Due {
    const blockedMs = this.#blockedMs + (this.#blockedAt === null ? 0 : now - this.#blockedAt)
    return blockedMs > (now - this.#turnStartedAt) / 2 ? 'slow_reader' : 'total'
  }
}
