/**
 * Settlements and refunds on their way to the ledger. One that the database cannot take at present is *pending*: it is written to
 * the journal, so that it survives the process, and retried until the ledger has it. A retry is safe even if the outcome of a
 * commit is unknown, because a hold ends only once.
 */
import { systemClock } from '../../system/clock.ts'
import type { Clock, Timer } from '../../system/clock.ts'
import { GatewayError } from '../../errors.ts'
import type { LedgerResult } from '../ledger/operations.ts'
import type { EndingOrder } from '../ledger/orders.ts'
import { toEndingOperation, toExpectedEnding } from '../ledger/orders.ts'
import type { SettlementJournal } from './process/settlement-journal.ts'
import type { Writer } from './writer/writer.ts'
import { isSyncFailure, isRetryable } from './writer/database-error.ts'

/** With more pending settlements no new turn is accepted: each would add another one. */
export const maxPending = 1_000
/** A settlement that the writer has had for this long also goes to the journal: the delay may last. */
const journalAfterMs = 1_000
/**
 * A caller whose settlement neither the ledger nor the journal has accepted gets an error after this time. The settlement stays
 * pending.
 */
const defaultResponseTimeoutMs = 5_000
const pollMs = 100
const minBackoffMs = 100
const maxBackoffMs = 5_000
/** Settlements per retry: one commit's worth. */
const maxRetryBatch = 512

/** Messages for the operator. */
export interface SettlementLog {
  info(facts: object, text: string): void
  error(facts: object, text: string): void
  fatal(facts: object, text: string): void
}

type Journal = Pick<SettlementJournal, 'append' | 'clear' | 'close'>

interface PendingSettlement {
  readonly order: EndingOrder
  /** What the caller of `end` got. */
  readonly outcome: Promise<LedgerResult | 'journaled'>
  /** Active time of its start. */
  readonly startedMs: number
  readonly resolve: (result: LedgerResult | 'journaled') => void
  readonly reject: (error: unknown) => void
  /** Position in the list; removing an entry moves the last one to its place. */
  index: number
  /** How often the writer has refused it. */
  attempts: number
  isInFlight: boolean
  isPending: boolean
  journal: 'none' | 'writing' | 'written'
  /** The caller has its answer. */
  isAcknowledged: boolean
  lastError: unknown
}

export class PendingSettlements {
  readonly #writer: Writer
  readonly #journal: Journal
  readonly #log: SettlementLog
  readonly #responseTimeoutMs: number
  /** Everything that the ledger does not have yet. An array, because entries come and go with every turn. */
  readonly #settlements: PendingSettlement[] = []
  readonly #clock: Clock
  readonly #timer: Timer
  #pendingCount = 0
  /**
   * Number of failed flushes of the WAL. After one, holds may be missing on disk until the ledger has committed an operation
   * submitted later: it repairs the WAL first.
   */
  #syncFailures = 0
  /** The failures up to this one have been repaired. */
  #repairedSyncFailures = 0
  /** Settlements written since the first pending one. */
  #settledCount = 0
  #isRetrying = false
  #isClosed = false
  #backoffMs = 0
  #nextRetryMs = 0

  constructor(
    writer: Writer,
    journal: Journal,
    log: SettlementLog,
    { responseTimeoutMs = defaultResponseTimeoutMs, clock = systemClock } = {},
  ) {
    this.#responseTimeoutMs = responseTimeoutMs
    this.#writer = writer
    this.#journal = journal
    this.#log = log
    this.#clock = clock
    this.#timer = clock.every(pollMs, () => this.#poll()).unref()
  }

  /** Logs the settlements of a dead process that a sweep has written. */
  recovered(count: number): void {
    if (count > 0) this.#log.info({ written: count }, 'the pending settlements of a dead process were written to the ledger')
  }

  get count(): number {
    return this.#pendingCount
  }

  /** When the oldest pending one became known. */
  get oldestAt(): number | null {
    if (this.#pendingCount === 0) return null
    return this.#settlements.reduce((since, { isPending, order }) => (isPending && order.at < since ? order.at : since), Infinity)
  }

  /** Holds whose outcome is known. */
  listHolds(): readonly number[] {
    return this.#settlements.map(({ order }) => order.hold)
  }

  /**
   * Resolves once the settlement is durable: in the ledger, or in the journal with its hold on disk. While one is on its way, another
   * for the same hold gets the outcome of the first, as from the ledger, and cannot overtake it.
   * @throws if it is in neither after some seconds (it stays pending), or if the settlement itself is faulty
   */
  end(order: EndingOrder): Promise<LedgerResult | 'journaled'> {
    if (this.#isClosed) {
      this.#log.fatal({ lost: [order] }, 'a settlement arrived after the store was closed and is lost')
      return Promise.reject(createClosedError())
    }
    const earlierSettlement = this.#settlements.find(({ order: { hold } }) => hold === order.hold)
    if (earlierSettlement !== undefined) return this.#endAfter(earlierSettlement, order)
    const { promise, resolve, reject } = Promise.withResolvers<LedgerResult | 'journaled'>()
    const settlement: PendingSettlement = {
      order,
      outcome: promise,
      startedMs: this.#clock.activeMs(),
      resolve,
      reject,
      index: this.#settlements.length,
      attempts: 0,
      isInFlight: false,
      isPending: false,
      journal: 'none',
      isAcknowledged: false,
      lastError: undefined,
    }
    this.#settlements.push(settlement)
    void this.#submit(settlement)
    // The last commit was refused, so this one may be as well; the client does not wait for that.
    if (!this.#writer.writable) this.#markPending(settlement)
    return promise
  }

  async #endAfter(earlier: PendingSettlement, order: EndingOrder): Promise<LedgerResult | 'journaled'> {
    try {
      const result = await earlier.outcome
      const ending = result === 'journaled' ? { kind: 'ended' as const, ...toExpectedEnding(earlier.order) } : result
      return ending.kind === 'ended' ? { ...ending, applied: false } : ending
    } catch (error) {
      if (this.#settlements.includes(earlier)) throw error
      // The first one was refused for good, so the hold is still open.
      return this.end(order)
    }
  }

  /** Retries until nothing is pending or the time is over. */
  async drain(timeoutMs: number): Promise<void> {
    const deadline = this.#clock.deadline(timeoutMs)
    while (this.#settlements.length > 0 && !deadline.aborted) {
      this.#nextRetryMs = 0
      this.#poll()
      await this.#clock.wait(Math.min(pollMs, timeoutMs))
    }
  }

  /** Call after the writer is closed. Pending settlements stay in the journal for the next start. */
  async close(): Promise<void> {
    this.#timer.cancel()
    this.#isClosed = true
    const remainingSettlements = [...this.#settlements]
    for (const settlement of remainingSettlements) this.#writeToJournal(settlement)
    await this.#journal.close(remainingSettlements.length > 0)
    if (remainingSettlements.length === 0) return
    // Callers whose settlement the journal has already have their answer; the others get an error.
    for (const settlement of remainingSettlements) settlement.reject(settlement.lastError ?? createClosedError())
    const lostOrders = remainingSettlements.filter(({ journal }) => journal !== 'written').map(({ order }) => order)
    if (lostOrders.length === 0)
      this.#log.error(
        { pending: remainingSettlements.length },
        'settlements are pending; the next start writes them from the journal',
      )
    else
      this.#log.fatal(
        { pending: remainingSettlements.length, lost: lostOrders },
        'settlements are lost: neither the ledger nor the journal could be written',
      )
  }

  async #submit(settlement: PendingSettlement): Promise<void> {
    settlement.isInFlight = true
    const syncFailures = this.#syncFailures
    try {
      const result = await this.#writer.apply(toEndingOperation(settlement.order), true)
      this.#repairedSyncFailures = Math.max(this.#repairedSyncFailures, syncFailures)
      this.#remove(settlement)
      settlement.resolve(result)
    } catch (error) {
      settlement.isInFlight = false
      settlement.attempts += 1
      settlement.lastError = error
      if (isSyncFailure(error)) this.#syncFailures += 1
      if (isRetryable(error)) return this.#markPending(settlement)
      // The database is writable but refused this settlement, so a retry would fail as well.
      if (settlement.isPending)
        this.#log.fatal({ err: error, lost: [settlement.order] }, 'a pending settlement cannot be written and is lost')
      this.#remove(settlement)
      settlement.reject(error)
    }
  }

  #markPending(settlement: PendingSettlement): void {
    if (!settlement.isPending) {
      settlement.isPending = true
      this.#pendingCount += 1
      if (this.#pendingCount === 1) {
        this.#settledCount = 0
        this.#log.error(
          { err: getCause(settlement.lastError) },
          'settlements are pending: the ledger cannot be written; retrying until it can',
        )
      }
    }
    this.#writeToJournal(settlement)
  }

  #writeToJournal(settlement: PendingSettlement): void {
    if (settlement.journal !== 'none') return
    settlement.journal = 'writing'
    this.#journal.append(settlement.order).then(
      (isHoldDurable) => {
        settlement.journal = 'written'
        if (!isHoldDurable) this.#syncFailures += 1
        if (this.#syncFailures > this.#repairedSyncFailures) return
        settlement.isAcknowledged = true
        settlement.resolve('journaled')
      },
      (error: unknown) => {
        settlement.journal = 'none'
        settlement.lastError ??= error
      },
    )
  }

  /** The ledger has it, or never will. */
  #remove(settlement: PendingSettlement): void {
    const last = this.#settlements.pop()
    if (last !== undefined && last !== settlement) {
      this.#settlements[settlement.index] = last
      last.index = settlement.index
    }
    if (!settlement.isPending) return
    this.#pendingCount -= 1
    this.#settledCount += 1
    if (this.#pendingCount > 0) return
    this.#journal.clear()
    this.#log.info({ written: this.#settledCount }, 'the pending settlements were written to the ledger')
  }

  #poll(): void {
    if (this.#settlements.length === 0) return
    const now = this.#clock.activeMs()
    for (const settlement of this.#settlements) {
      const waitedMs = now - settlement.startedMs
      if (settlement.isPending || waitedMs >= journalAfterMs) this.#markPending(settlement)
      if (settlement.isPending && !settlement.isAcknowledged && waitedMs >= this.#responseTimeoutMs)
        settlement.reject(
          settlement.lastError ?? new GatewayError('internal_error', { cause: new Error('the ledger does not respond') }),
        )
    }
    if (this.#pendingCount > 0 && !this.#isRetrying && now >= this.#nextRetryMs) void this.#retry()
  }

  /** Retries those with the fewest attempts first, so that one that always fails does not block the others. */
  async #retry(): Promise<void> {
    this.#isRetrying = true
    const waitingSettlements = this.#settlements.filter(({ isInFlight }) => !isInFlight)
    const batch = waitingSettlements.toSorted((one, other) => one.attempts - other.attempts).slice(0, maxRetryBatch)
    await Promise.all(batch.map((settlement) => this.#submit(settlement)))
    const progress = batch.length === 0 || batch.some(({ isInFlight }) => isInFlight)
    this.#backoffMs = progress ? 0 : Math.min(Math.max(minBackoffMs, this.#backoffMs * 2), maxBackoffMs)
    this.#nextRetryMs = this.#clock.activeMs() + this.#backoffMs
    this.#isRetrying = false
  }
}

function createClosedError(): GatewayError {
  return new GatewayError('internal_error', { cause: new Error('the store is closed') })
}

/** The database's own error, without our wrapper. */
function getCause(error: unknown): unknown {
  return error instanceof GatewayError ? (error.cause ?? error) : error
}
