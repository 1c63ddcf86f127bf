/**
 * Deadlines of one call: first byte, idle time, slow reader and total; and when a silent stream needs a keep-alive comment.
 *
 * Pure: it receives events with their times and reports what is due. It has no timer, clock or socket. The dispatcher enforces the connect
 * timeout, because only it knows whether a call had to open a connection.
 */
import { ClientPace } from './client-pace.ts'

interface Timeouts {
  /** Maximum time before the answer begins. */
  readonly firstByteMs: number
  /** Maximum time between two signs of life of the upstream, and of its silence at the total time. */
  readonly idleMs: number
  readonly totalMs: number
  /** A client that reads nothing for this long counts as disconnected. */
  readonly slowReaderMs: number
  /** Silence after which a stream is opened with a comment, and the interval of further comments. */
  readonly heartbeatAfterMs: number
  readonly heartbeatEveryMs: number
}

/** What each of them means for the turn is in `call-ending.ts`. */
export type DueDeadline = 'first_byte' | 'idle' | 'total' | 'slow_reader' | 'heartbeat'

/** All times are `activeMs` of a clock. */
export class Deadlines {
  readonly #timeouts: Timeouts
  readonly #startedAt: number
  readonly #pace = new ClientPace()
  /** Last sign of life of the upstream; null before the first. */
  #lastActivityAt: number | null = null
  /** Bytes of the answer have come, and not only its head. */
  #hasBegun = false
  /** Since when the client has read and no output came. */
  #silentSince: number
  /** When anything was last sent to the client. */
  #lastSendAt: number
  /** Since when the client has not drained; null while it reads. */
  #blockedAt: number | null = null

  constructor(timeouts: Timeouts, startedAt: number) {
    this.#timeouts = timeouts
    this.#startedAt = startedAt
    this.#silentSince = startedAt
    this.#lastSendAt = startedAt
  }

  /** The upstream sent the head of its answer: many send it at once, and the first token much later. */
  recordHead(now: number): void {
    this.#lastActivityAt = now
  }

  /** The upstream sent a part of its answer, or a comment. */
  recordActivity(now: number): void {
    this.#lastActivityAt = now
    this.#hasBegun = true
  }

  /** The upstream sent text, reasoning or a part of a call. */
  recordOutput(now: number): void {
    this.#silentSince = now
  }

  /** The upstream was paused and may continue: its silence until now was not its fault. */
  recordResume(now: number): void {
    if (this.#lastActivityAt !== null) this.#lastActivityAt = now
    this.#silentSince = now
  }

  recordSend(now: number): void {
    this.#lastSendAt = now
  }

  /** The client applies backpressure. */
  recordBlocked(now: number): void {
    this.#blockedAt ??= now
    this.#pace.recordBlocked(now)
  }

  /** The client has drained. */
  recordDrain(now: number): void {
    this.#blockedAt = null
    this.#pace.recordDrain(now)
  }

  get isBlocked(): boolean {
    return this.#blockedAt !== null
  }

  /** Whether the client is the slow side. */
  isClientSlow(now: number): boolean {
    return this.#pace.isSlow(now)
  }

  /** Whether no output came during the last `idleMs` while the client was reading. */
  isUpstreamSilent(now: number): boolean {
    return this.#blockedAt === null && now - this.#silentSince >= this.#timeouts.idleMs
  }

  /**
   * @param options.turnMs how long the turn has lasted over all its targets, pauses included, because its hold lasts no longer
   * @param options.isStreamOpen whether the client's stream is open
   */
  findDue(
    now: number,
    { turnMs, isStreamOpen }: { readonly turnMs: number; readonly isStreamOpen: boolean },
  ): DueDeadline | null {
    const { firstByteMs, idleMs, totalMs, slowReaderMs, heartbeatAfterMs, heartbeatEveryMs } = this.#timeouts
    if (turnMs >= totalMs) return 'total'
    if (this.#lastActivityAt === null) {
      if (now - this.#startedAt >= firstByteMs) return 'first_byte'
    } else if (this.#blockedAt !== null) {
      // The client is the slow side: the upstream is paused, so its silence means nothing.
      return now - this.#blockedAt >= slowReaderMs ? 'slow_reader' : null
    } else if (now - this.#lastActivityAt >= idleMs) {
      if (this.#hasBegun) return 'idle'
      if (now - this.#startedAt >= firstByteMs) return 'first_byte'
    }
    return now - this.#lastSendAt >= (isStreamOpen ? heartbeatEveryMs : heartbeatAfterMs) ? 'heartbeat' : null
  }
}
