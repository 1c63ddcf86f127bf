/**
 * Queue of this node's ledger operations, one transaction per batch. If a commit's outcome is unknown the batch is retried;
 * client-assigned ids make that idempotent.
 */
import { systemClock } from '../../../system/clock.ts'
import type { Clock, Timer } from '../../../system/clock.ts'
import type { PoolClient } from 'pg'
import type { AccountResult, EndingOperation } from '../../ledger/operations.ts'
import { expectResult } from '../../ledger/operations.ts'
import { zeroUsage } from '../../ledger/turn-columns.ts'
import type { LedgerQueueOp, BatchCache, Outcome, BatchOperation } from './batch.ts'
import { Batch, MissingBalance } from './batch.ts'
import { readCommitted } from '../connection/connections.ts'
import type { Connections } from '../connection/connections.ts'
import {
  isTransactionConflict,
  isPreparedStatementError,
  isDiskFull,
  isStatementError,
  isWriteConflict,
  toCallerError,
  createUnavailableError,
} from '../connection/errors.ts'
import type { LedgerQueueStats, LedgerQueueHandle } from './ledger-queue-connection.ts'
import * as sql from './ledger-sql.ts'
import { openAccounts } from './open-accounts.ts'

const maxBatchSize = 512
const maxQueued = 10_000
/** Balances cached between batches. */
const maxCachedBalances = 16_384
/** Hold ids are taken from the database in blocks of this size (the sequence's increment). */
const idBlockSize = 4_096
/** How long a caller waits for an unavailable database: for a hold, and for operations that must not be lost. */
const holdTimeoutMs = 3_000
const timeoutMs = 60_000
const pollMs = 250
const stuckAfterMs = 1_000
const retryDelayMs = 100
const maxAttempts = 20

interface QueuedOperation extends BatchOperation {
  /** Empty until the database has told which account the hold belongs to. */
  account: string
  /** Active time of its queueing. */
  readonly queuedMs: number
  readonly settle: (outcome: Outcome) => void
  /** The caller got an error because the database was unavailable. */
  isTimedOut: boolean
}

export class LedgerQueue implements LedgerQueueHandle {
  readonly #connections: Connections
  readonly #owner: () => number
  readonly #cache: BatchCache = { balances: new Map(), heldTurns: new Map() }
  /** Account of every hold of this node; never evicted. */
  readonly #accountByHold = new Map<number, string>()
  #queue: QueuedOperation[] = []
  /** Operations of the running batch. */
  #inFlight: readonly QueuedOperation[] = []
  #inFlightSince = 0
  #isRunning = false
  #isClosed = false
  readonly #idleWaiters: (() => void)[] = []
  readonly #clock: Clock
  readonly #overdueTimer: Timer
  #nextId = 0
  #idsLeft = 0
  /** The process that took the block: a block of ids is of one process, so that it is known when no turn of it can come any more. */
  #blockOwner = 0
  /** Assigned to holds that were then refused. */
  #spareIds: number[] = []
  #commits = 0
  #operations = 0
  #commitSeconds: number[] = []
  #unavailableSince: number | null = null
  #isDiskFull = false

  constructor(connections: Connections, owner: () => number, clock: Clock = systemClock) {
    this.#connections = connections
    this.#owner = owner
    this.#clock = clock
    this.#overdueTimer = clock.every(pollMs, () => this.#timeOutOverdue()).unref()
  }

  /**
   * `outcomeUnknown`: it may have been executed before. @throws `temporarily_unavailable` if the database is not available in
   * time; nothing is charged for a hold then
   */
  async submit(op: LedgerQueueOp, outcomeUnknown = false): Promise<AccountResult> {
    const account = this.#getAccount(op)
    if (this.#isClosed || (op.kind === 'reserve' && this.#queue.length >= maxQueued))
      throw createUnavailableError(undefined, this.#hasNoRoom)
    const outcome = await new Promise<Outcome>((settle) => {
      this.#queue.push({ op, account, holdId: 0, outcomeUnknown, queuedMs: this.#clock.activeMs(), settle, isTimedOut: false })
      this.#start()
    })
    if (outcome instanceof Error) throw toCallerError(outcome)
    return outcome
  }

  get #hasNoRoom(): boolean {
    return this.#unavailableSince !== null && this.#isDiskFull
  }

  /** Releases a node's holds, or those whose lease has ended by its own clock. Returns the number of turns. */
  async releaseHolds(owner: number, at: number, leaseUntil?: number): Promise<number> {
    const { text, values } = sql.findNodeHolds(owner, leaseUntil)
    const { rows } = await this.#connections.read(text, values)
    const holds = Map.groupBy(rows as { account: string; id: number }[], ({ account }) => account)
    const releaseResults = await Promise.all(
      [...holds].map(([account, turns]) => this.submit({ kind: 'release', account, holds: turns.map(({ id }) => id), at })),
    )
    return releaseResults.reduce((sum, result) => sum + expectResult(result, 'count').count, 0)
  }

  stats(): LedgerQueueStats {
    const commitSeconds = this.#commitSeconds
    this.#commitSeconds = []
    return {
      queue: this.#queue.length + this.#inFlight.length,
      commits: this.#commits,
      syncs: this.#commits,
      operations: this.#operations,
      commitSeconds,
      holdsOpen: this.#cache.heldTurns.size,
      writable: this.#unavailableSince === null && !this.#isStuck,
      isDiskFull: this.#hasNoRoom,
      pendingSettlements:
        this.#unavailableSince === null ? 0 : [...this.#queue, ...this.#inFlight].filter(({ op }) => isEnding(op)).length,
      pendingSince: this.#unavailableSince,
    }
  }

  get isBusy(): boolean {
    return this.#isRunning
  }

  /** The database has received a batch and does not answer. */
  get #isStuck(): boolean {
    return this.#inFlight.length > 0 && this.#clock.activeMs() - this.#inFlightSince > stuckAfterMs
  }

  /** Completes the pending operations, within the timeout. */
  async close(timeoutMs: number): Promise<void> {
    if (this.#queue.length + this.#inFlight.length > 0)
      await this.#clock.within(timeoutMs, new Promise<void>((done) => this.#idleWaiters.push(done))).catch(() => undefined)
    this.#isClosed = true
    this.#overdueTimer.cancel()
    for (const operation of [...this.#queue, ...this.#inFlight]) operation.settle(createUnavailableError())
    this.#queue = []
  }

  /** A settlement names its hold. This thread knows the account unless another one made the hold, or it has ended. */
  #getAccount(op: LedgerQueueOp): string {
    if (op.kind === 'reserve') return op.request.account
    return isEnding(op) ? (this.#accountByHold.get(op.hold) ?? '') : op.account
  }

  /** Reads the accounts of unknown holds; operations without a hold get an error. */
  async #resolveAccounts(operations: readonly QueuedOperation[]): Promise<readonly QueuedOperation[]> {
    const holds = operations.flatMap(({ op, account }) => (account === '' && isEnding(op) ? [[op.hold]] : []))
    if (holds.length === 0) return operations
    const { text, values } = sql.findHoldAccounts(holds)
    const { rows } = await this.#connections.read(text, values)
    const accounts = new Map((rows as { id: number; account: string }[]).map(({ id, account }) => [id, account]))
    return operations.filter((operation) => {
      if (operation.account !== '' || !isEnding(operation.op)) return true
      operation.account = accounts.get(operation.op.hold) ?? ''
      if (operation.account === '') this.#answer(operation, new Error(`there is no hold ${operation.op.hold}`))
      return operation.account !== ''
    })
  }

  #start(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    // Operations of one turn of the event loop leave together.
    setImmediate(() => void this.#run())
  }

  async #run(): Promise<void> {
    while ((this.#queue.length > 0 || this.#unavailableSince !== null) && !this.#isClosed) {
      const batch = this.#queue.splice(0, maxBatchSize)
      if (batch.length === 0) await this.#probeDatabase()
      else await this.#runBatch(batch)
      this.#inFlight = []
    }
    this.#isRunning = false
    for (const resolve of this.#idleWaiters.splice(0)) resolve()
  }

  /**
   * Probes the database while no operation waits for it: a node that reports itself unready gets no turns that could discover its
   * return.
   */
  async #probeDatabase(): Promise<void> {
    try {
      // A row lock is written like any change, and changes nothing.
      await this.#connections.write(readCommitted, 'select 1 from ledger_account_head for update', [])
      this.#unavailableSince = null
    } catch (error) {
      this.#isDiskFull = isDiskFull(error)
      await this.#clock.wait(retryDelayMs)
    }
  }

  /** Executes all together; if a constraint fails, each account separately, and then each operation. */
  async #runBatch(batch: readonly QueuedOperation[]): Promise<void> {
    let operations = batch
    for (let attempt = 1; operations.length > 0 && !this.#isClosed;) {
      this.#inFlight = operations
      this.#inFlightSince = this.#clock.activeMs()
      try {
        operations = await this.#resolveAccounts(operations)
        if (operations.length === 0) return
        const outcomes = await this.#transact(operations)
        this.#unavailableSince = null
        for (const [index, operation] of operations.entries()) this.#answer(operation, outcomes[index] ?? new Error('no outcome'))
        return
      } catch (error) {
        if (isTransactionConflict(error) && attempt < maxAttempts) {
          attempt += 1
          await this.#clock.wait(Math.random() * 2 ** Math.min(attempt, 6))
        } else if (isWriteConflict(error) && attempt < maxAttempts) {
          // Another node has ended a turn that this one took for held.
          attempt += 1
          for (const { op } of operations) if (isEnding(op)) this.#cache.heldTurns.delete(op.hold)
        } else if (isPreparedStatementError(error) && this.#connections.usesStatementNames) {
          // A fault of the connection, after which the same transaction is repeated.
          this.#connections.disableStatementNames()
        } else if (isStatementError(error)) {
          if (operations.length === 1) for (const operation of operations) this.#answer(operation, toError(error))
          else for (const group of splitOperations(operations)) await this.#runBatch(group)
          return
        } else {
          this.#markUnavailable(error)
          operations = operations.filter((operation) => !operation.isTimedOut || operation.outcomeUnknown)
          await this.#clock.wait(retryDelayMs)
        }
      }
    }
  }

  async #transact(operations: readonly QueuedOperation[]): Promise<readonly Outcome[]> {
    const client = await this.#connections.acquire()
    let batch: Batch | undefined
    try {
      await this.#assignHoldIds(client, operations)
      for (;;) {
        const startedMs = this.#clock.monotonicMs()
        batch = new Batch(
          {
            begin: () => this.#connections.begin(client),
            query: (statement) => this.#connections.query(client, statement),
            runAlone: (statement) => this.#connections.runAlone(client, statement),
          },
          this.#cache,
          this.#owner(),
          operations,
        )
        try {
          const outcomes = await batch.run()
          this.#connections.release(client)
          this.#commits += 1
          this.#operations += operations.length
          this.#commitSeconds.push((this.#clock.monotonicMs() - startedMs) / 1000)
          this.#evictOldBalances()
          return outcomes
        } catch (error) {
          if (!(error instanceof MissingBalance)) throw error
          await client.query('rollback')
          await openAccounts(this.#connections, client, error.accounts)
        }
      }
    } catch (error) {
      const isReusable = isStatementError(error) || isTransactionConflict(error)
      if (isReusable) await client.query('rollback').catch(() => undefined)
      // Only an error of the statement itself proves that nothing was committed.
      else if (batch?.isCommitSent === true && !isPreparedStatementError(error))
        for (const operation of operations) operation.outcomeUnknown = true
      this.#connections.release(client, isReusable ? undefined : error)
      throw error
    }
  }

  async #assignHoldIds(client: PoolClient, operations: readonly QueuedOperation[]): Promise<void> {
    const owner = this.#owner()
    if (this.#blockOwner !== owner) {
      this.#idsLeft = 0
      this.#spareIds = []
      this.#blockOwner = owner
    }
    for (const operation of operations) {
      if (operation.op.kind !== 'reserve' || operation.holdId !== 0) continue
      const spareId = this.#spareIds.pop()
      if (spareId !== undefined) {
        operation.holdId = spareId
        continue
      }
      if (this.#idsLeft === 0) {
        const { rows } = await client.query<{ first: number }>(`select nextval('turn_block') as first`)
        this.#nextId = rows[0]?.first ?? 0
        this.#idsLeft = idBlockSize
      }
      operation.holdId = this.#nextId
      this.#nextId += 1
      this.#idsLeft -= 1
    }
  }

  #answer(operation: QueuedOperation, outcome: Outcome): void {
    if (!(outcome instanceof Error)) {
      if (outcome.kind === 'held') {
        this.#accountByHold.set(outcome.hold.id, operation.account)
        if (operation.isTimedOut) this.#refund(outcome.hold.id)
      } else if (operation.holdId > 0) this.#spareIds.push(operation.holdId)
      if (outcome.kind === 'ended' && isEnding(operation.op)) this.#accountByHold.delete(operation.op.hold)
      if (operation.op.kind === 'release') for (const hold of operation.op.holds) this.#accountByHold.delete(hold)
    }
    operation.settle(outcome)
  }

  /** Refunds a hold that was made after its caller got an error. */
  #refund(holdId: number): void {
    const usage = { ...zeroUsage, ended_at: this.#clock.now(), code: 'temporarily_unavailable' }
    // If this fails, the hold ends with its lease.
    void this.submit({ kind: 'refund', hold: holdId, usage }).catch(() => undefined)
  }

  /** The connection failed, so the next one may reach another server with older data: the cache is discarded. */
  #markUnavailable(error?: unknown): void {
    this.#isDiskFull = isDiskFull(error)
    this.#unavailableSince ??= this.#clock.now()
    this.#cache.balances.clear()
    this.#cache.heldTurns.clear()
  }

  #timeOutOverdue(): void {
    const activeMs = this.#clock.activeMs()
    for (const operation of [...this.#inFlight, ...this.#queue]) {
      const maxWaitMs = operation.op.kind === 'reserve' ? holdTimeoutMs : timeoutMs
      if (operation.isTimedOut || activeMs - operation.queuedMs <= maxWaitMs) continue
      operation.isTimedOut = true
      operation.settle(createUnavailableError(undefined, this.#hasNoRoom))
    }
    // Drops unsent holds whose caller has given up. Settlements stay, with or without a caller.
    this.#queue = this.#queue.filter(
      (operation) => !operation.isTimedOut || operation.outcomeUnknown || operation.op.kind !== 'reserve',
    )
  }

  #evictOldBalances(): void {
    const { balances } = this.#cache
    for (const account of balances.keys()) {
      if (balances.size <= maxCachedBalances) return
      balances.delete(account)
    }
  }
}

function isEnding(op: LedgerQueueOp): op is EndingOperation {
  return op.kind === 'settle' || op.kind === 'refund'
}

function splitOperations(operations: readonly QueuedOperation[]): readonly (readonly QueuedOperation[])[] {
  const byAccount = [...Map.groupBy(operations, ({ account }) => account).values()]
  return byAccount.length > 1 ? byAccount : operations.map((operation) => [operation])
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
