/**
 * Deadlines of one call: first byte, idle time, slow reader and total; and when a silent stream needs a keep-alive comment.
 *
 * Pure: it receives events with their times and reports what is due. It has no timer, clock or socket. The dispatcher enforces the connect
 * timeout, because only it knows whether a call had to open a connection.
 */

interface Timeouts {
  readonly firstByteMs: number
  /** Maximum time between two events of the upstream. */
  readonly idleMs: number
  readonly totalMs: number
  /** A client that reads nothing for this long counts as disconnected. */
  readonly slowReaderMs: number
  /** Silence after which a stream is opened with a comment, and the interval of further comments. */
  readonly heartbeatAfterMs: number
  readonly heartbeatEveryMs: number
}

/** The client causes `slow_reader`, `heartbeat` ends nothing, the upstream causes the others. */
export type DueDeadline = 'first_byte' | 'idle' | 'total' | 'slow_reader' | 'heartbeat'

/** All times are monotonic milliseconds. */
export class Deadlines {
  readonly #timeouts: Timeouts
  readonly #startedAt: number
  /** The total timeout covers the turn over all its targets, because its hold lasts no longer. */
  readonly #turnStartedAt: number
  /** Last event of the upstream; null before the first. */
  #lastActivityAt: number | null = null
  /** When anything was last sent to the client. */
  #lastSendAt: number
  /** Since when the client has not drained; null while it reads. */
  #blockedAt: number | null = null
  /** Total of earlier times in which the client did not drain. */
  #blockedMs = 0

  constructor(timeouts: Timeouts, { startedAt, turnStartedAt }: { readonly startedAt: number; readonly turnStartedAt: number }) {
    this.#timeouts = timeouts
    this.#startedAt = startedAt
    this.#turnStartedAt = turnStartedAt
    this.#lastSendAt = startedAt
  }

  /** The upstream sent something that counts as an event. */
  recordActivity(now: number): void {
    this.#lastActivityAt = now
  }

  /** The upstream was paused and may continue: its silence until now was not its fault. */
  recordResume(now: number): void {
    if (this.#lastActivityAt !== null) this.#lastActivityAt = now
  }

  recordSend(now: number): void {
    this.#lastSendAt = now
  }

  /** The client applies backpressure. */
  recordBlocked(now: number): void {
    this.#blockedAt ??= now
  }

  /** The client has drained. */
  recordDrain(now: number): void {
    if (this.#blockedAt === null) return
    this.#blockedMs += now - this.#blockedAt
    this.#blockedAt = null
  }

  get isBlocked(): boolean {
    return this.#blockedAt !== null
  }

  /** @param isStreamOpen whether the client's stream is open */
  findDue(now: number, isStreamOpen: boolean): DueDeadline | null {
    const { firstByteMs, idleMs, totalMs, slowReaderMs, heartbeatAfterMs, heartbeatEveryMs } = this.#timeouts
    if (now - this.#turnStartedAt >= totalMs) return this.#attributeTotalTimeout(now)
    if (this.#lastActivityAt === null) {
      if (now - this.#startedAt >= firstByteMs) return 'first_byte'
    } else if (this.#blockedAt !== null) {
      // The client is the slow side: the upstream is paused, so its silence means nothing.
      return now - this.#blockedAt >= slowReaderMs ? 'slow_reader' : null
    } else if (now - this.#lastActivityAt >= idleMs) return 'idle'
    return now - this.#lastSendAt >= (isStreamOpen ? heartbeatEveryMs : heartbeatAfterMs) ? 'heartbeat' : null
  }

  /**
   * On total timeout the slower side decides: if client backpressure took most of the time, the output is charged; otherwise the turn is
   * refunded.
   */
  #attributeTotalTimeout(now: number): DueDeadline {
    const blockedMs = this.#blockedMs + (this.#blockedAt === null ? 0 : now - this.#blockedAt)
    return blockedMs > (now - this.#turnStartedAt) / 2 ? 'slow_reader' : 'total'
  }
}
