/**
 * Executes one batch of ledger operations as one transaction in two round trips: lock the accounts' balances in the order of
 * their ids and read them, let the ledger engine decide, write the changes and commit. If no other node writes to these accounts,
 * the decision uses cached balances and takes one round trip; the writing statement verifies their versions.
 */
import type { QueryResult } from 'pg'
import { listPartKeys } from '../../../domain/billing/ledger.ts'
import { LedgerEngine } from '../../ledger/engine/ledger-engine.ts'
import type { AccountOperation, AccountResult } from '../../ledger/operations.ts'
import type { IdempotentTurn } from '../../ledger/engine/ledger-storage.ts'
import { bucketFields } from '../../schema/schema.ts'
import type { SettlementTurn } from '../../ledger/turn-columns.ts'
import { isWriteConflict } from '../connection/errors.ts'
import type { ArchivedBucket, BalanceRow, LoadedPack } from './unit-of-work.ts'
import { AccountState, NotLoaded, UnitOfWork } from './unit-of-work.ts'
import type { BucketTable } from '../../schema/schema.ts'
import type { Statement } from './ledger-sql.ts'
import * as sql from './ledger-sql.ts'
import { toColdStatements, toTurnRows } from './write-set.ts'

/** An operation of the ledger queue: one of the ledger engine's, or the release of holds that no owner will end. */
export type LedgerQueueOp = AccountOperation | ReleaseOperation

interface ReleaseOperation {
  readonly kind: 'release'
  readonly account: string
  readonly holds: readonly number[]
  readonly at: number
}

export interface BatchOperation {
  readonly op: LedgerQueueOp
  readonly account: string
  /** Id of the hold that it makes, assigned by this node, so that sending the operation twice makes one hold; 0 if it makes none. */
  holdId: number
  /** It may have been committed: the answer was lost. */
  outcomeUnknown: boolean
}

/** The part of a connection that a batch needs. */
interface BatchConnection {
  begin(): Promise<unknown>
  query(statement: Statement | string): Promise<QueryResult>
  /** Runs the statement as a transaction by itself. */
  runAlone(statement: Statement): Promise<QueryResult>
}

/** What a node remembers of its last batches. Verified against the versions in the database. */
export interface BatchCache {
  readonly balances: Map<string, BalanceRow>
  /** Turns that this node holds, as they were when held. */
  readonly heldTurns: Map<number, SettlementTurn>
}

/** After so many reads in a row that found a balance as this node had written it, the cached one is used without reading. */
const stableReads = 4

/** Accounts without a balance row. */
export class MissingBalance extends Error {
  readonly accounts: readonly string[]

  constructor(accounts: readonly string[]) {
    super(`no balance for ${accounts.length} accounts`)
    this.accounts = accounts
  }
}

type AccountOperations = readonly [account: string, operations: readonly BatchOperation[]]

type StoredTurn = SettlementTurn & { readonly reserved: number; readonly owner: number; readonly ended_at: number | null }

/** Result of an operation, or the reason of its failure, which concerns only this operation. */
export type Outcome = AccountResult | Error

export class Batch {
  readonly #connection: BatchConnection
  readonly #cache: BatchCache
  readonly #owner: number
  readonly #operations: readonly BatchOperation[]
  readonly #byAccount = new Map<string, BatchOperation[]>()
  readonly #states = new Map<string, AccountState>()
  readonly #stored = new Map<number, StoredTurn>()
  readonly #outcomes = new Map<BatchOperation, Outcome>()
  /** Whether the changes were sent: from then on only the database knows the outcome. */
  isCommitSent = false

  constructor(connection: BatchConnection, cache: BatchCache, owner: number, operations: readonly BatchOperation[]) {
    this.#connection = connection
    this.#cache = cache
    this.#owner = owner
    this.#operations = operations
    for (const operation of operations) {
      const others = this.#byAccount.get(operation.account)
      if (others === undefined) this.#byAccount.set(operation.account, [operation])
      else others.push(operation)
    }
  }

  /**
   * Returns the outcomes in the order of the operations. @throws what rolled the transaction back; the connection may still be in
   * it
   */
  async run(): Promise<readonly Outcome[]> {
    if (!(await this.#tryInOneRoundTrip())) {
      await this.#read()
      await this.#decide()
      await this.#write()
    }
    this.#updateCache()
    return this.#operations.map((operation) => this.#outcomes.get(operation) ?? new Error('no outcome'))
  }

  /**
   * Writes without reading first. Returns false, with nothing written, if something must be read or another node has written
   * meanwhile.
   */
  async #tryInOneRoundTrip(): Promise<boolean> {
    if (!this.#isCached()) return false
    const states = this.#loadCached()
    const touchOnlyPlan = this.#decideAll([...this.#byAccount]).length === 0 && states.every((state) => state.touchesOnlyPlan)
    if (touchOnlyPlan && (await this.#tryWrite(states))) return true
    this.#states.clear()
    this.#outcomes.clear()
    return false
  }

  /** Whether nothing must be read for these operations, and no other node is known to write to their accounts. */
  #isCached(): boolean {
    for (const account of this.#byAccount.keys())
      if ((this.#cache.balances.get(account)?.unchangedReads ?? 0) < stableReads) return false
    return this.#operations.every(
      (operation) =>
        !operation.outcomeUnknown && this.#getTurnsToRead(operation).length === 0 && getIdempotencyKey(operation.op) === null,
    )
  }

  #loadCached(): readonly AccountState[] {
    // Balances are locked in this order.
    for (const account of [...this.#byAccount.keys()].toSorted()) {
      const row = this.#cache.balances.get(account)
      if (row !== undefined) this.#states.set(account, new AccountState(account, row))
    }
    this.#recallHolds()
    return [...this.#states.values()]
  }

  /** Whether the cached balances were current. */
  async #tryWrite(states: readonly AccountState[]): Promise<boolean> {
    this.isCommitSent = true
    try {
      await this.#connection.runAlone(sql.writeTurns(toTurnRows(states)))
      return true
    } catch (error) {
      if (!isWriteConflict(error)) throw error
      this.isCommitSent = false
      for (const { account } of states) this.#cache.balances.delete(account)
      return false
    }
  }

  async #read(): Promise<void> {
    const accounts = [...this.#byAccount.keys()].toSorted()
    const locks = accounts.map((account) => [account, this.#cache.balances.get(account)?.version ?? -1])
    const turns = this.#operations.flatMap((operation) => this.#getTurnsToRead(operation).map((id) => [operation.account, id]))
    const keys = this.#operations.flatMap(({ op, account }) => listKeysToRead(op).map((key) => [account, key]))
    const transactionStart = this.#connection.begin()
    // Awaited last, because all statements leave together.
    transactionStart.catch(() => undefined)
    const [balances = emptyResult, storedTurns = emptyResult, earlierTurns = emptyResult] = await this.#sendAll(
      sql.lockBalances(locks),
      turns.length === 0 ? undefined : sql.readTurns(turns),
      keys.length === 0 ? undefined : sql.readIdempotencyKeys(keys),
    )
    await transactionStart
    const changedAccounts = new Set<string>()
    for (const row of balances.rows as LockedBalance[]) {
      const cachedBalance = row.cells === null ? this.#cache.balances.get(row.account) : undefined
      if (cachedBalance === undefined) changedAccounts.add(row.account)
      this.#states.set(row.account, new AccountState(row.account, cachedBalance ?? toBalanceRow(row)))
    }
    const missingAccounts = accounts.filter((account) => !this.#states.has(account))
    if (missingAccounts.length > 0) throw new MissingBalance(missingAccounts)

    this.#addStoredTurns(storedTurns.rows as StoredTurn[])
    for (const row of earlierTurns.rows as (IdempotentTurn & { account: string; idempotency_key: string })[])
      this.#states.get(row.account)?.keys.set(row.idempotency_key, row)
    const staleHolds = this.#recallHolds(changedAccounts)
    if (staleHolds.length === 0) return
    // The current rows.
    const [current = emptyResult] = await this.#sendAll(sql.readTurns(staleHolds))
    this.#addStoredTurns(current.rows as StoredTurn[])
  }

  /** Loads turns from this node's cache. Returns those of accounts that other nodes have written since. */
  #recallHolds(changed: ReadonlySet<string> = noneChanged): readonly (readonly [account: string, id: number])[] {
    const staleHolds: (readonly [account: string, id: number])[] = []
    for (const { op, account } of this.#operations) {
      for (const id of getHoldIds(op)) {
        const cachedTurn = this.#stored.has(id) ? undefined : this.#cache.heldTurns.get(id)
        if (cachedTurn === undefined) continue
        if (changed.has(account)) staleHolds.push([account, id])
        else this.#states.get(account)?.loadedTurns.set(id, cachedTurn)
      }
    }
    return staleHolds
  }

  #addStoredTurns(turns: readonly StoredTurn[]): void {
    for (const turn of turns) {
      this.#stored.set(turn.id, turn)
      this.#states.get(turn.account)?.loadedTurns.set(turn.id, turn)
    }
  }

  #getTurnsToRead({ op, holdId, outcomeUnknown }: BatchOperation): readonly number[] {
    if (op.kind === 'reserve') return outcomeUnknown ? [holdId] : []
    return getHoldIds(op).filter((id) => outcomeUnknown || !this.#cache.heldTurns.has(id))
  }

  async #decide(): Promise<void> {
    let remainingOperations = this.#decideAll([...this.#byAccount])
    while (remainingOperations.length > 0) {
      await this.#readColdRows(remainingOperations)
      remainingOperations = this.#decideAll(remainingOperations)
    }
  }

  /** Decides on all accounts; returns those that need more rows first. */
  #decideAll(accounts: readonly AccountOperations[]): readonly AccountOperations[] {
    const unitOfWork = new UnitOfWork(this.#states, this.#owner)
    const engine = new LedgerEngine(unitOfWork)
    return accounts.filter(([account, operations]) => !this.#tryDecide(account, operations, unitOfWork, engine))
  }

  /** False if rows must be read first: then nothing was decided for this account. */
  #tryDecide(account: string, operations: readonly BatchOperation[], unitOfWork: UnitOfWork, engine: LedgerEngine): boolean {
    let validOperations = operations
    for (;;) {
      this.#states.get(account)?.reset()
      const failedOperation = this.#decideEach(validOperations, unitOfWork, engine)
      if (failedOperation === 'not loaded') return false
      if (failedOperation === undefined) return true
      // Changes of a failed operation must not stay: the others are decided again without it.
      validOperations = validOperations.filter((operation) => operation !== failedOperation)
    }
  }

  #decideEach(
    operations: readonly BatchOperation[],
    unitOfWork: UnitOfWork,
    engine: LedgerEngine,
  ): BatchOperation | 'not loaded' | undefined {
    for (const operation of operations) {
      try {
        this.#outcomes.set(
          operation,
          (operation.outcomeUnknown ? this.#findCommittedResult(operation) : undefined) ??
            applyOperation(operation, unitOfWork, engine),
        )
      } catch (error) {
        if (error instanceof NotLoaded) return 'not loaded'
        this.#outcomes.set(operation, error instanceof Error ? error : new Error(String(error)))
        return operation
      }
    }
    return undefined
  }

  /** The result of an operation that was committed before its connection was lost. */
  #findCommittedResult({ op, holdId }: BatchOperation): AccountResult | undefined {
    if (op.kind === 'reserve') {
      const turn = this.#stored.get(holdId)
      return turn === undefined ? undefined : { kind: 'held', hold: { id: turn.id, credits: turn.reserved } }
    }
    if (op.kind !== 'settle' && op.kind !== 'refund') return undefined
    const turn = this.#stored.get(op.hold)
    const state = op.kind === 'settle' ? 'settled' : 'refunded'
    // Another node ends a turn only as expired.
    if (turn?.state !== state || turn.ended_at !== op.usage.ended_at || turn.credits !== op.usage.credits) return undefined
    return { kind: 'ended', applied: true, state, credits: turn.credits, debt: turn.debt }
  }

  async #readColdRows(unread: readonly AccountOperations[]): Promise<void> {
    const accounts = unread.map(([account]) => account)
    const packIds = unread.flatMap(([, operations]) =>
      operations.flatMap(({ op }) => {
        if (op.kind === 'changePack') return [op.id, op.pack]
        return op.kind === 'grant' || op.kind === 'adjust' ? [op.id] : []
      }),
    )
    const [buckets = emptyResult, packs = emptyResult] = await this.#sendAll(
      sql.readBuckets(accounts.map((account) => [account])),
      sql.readPacks(accounts, packIds),
    )
    for (const account of accounts) {
      const mine = (row: { readonly account: string }): boolean => row.account === account
      const state = this.#states.get(account)
      if (state === undefined) continue
      state.coldRows = {
        packs: (packs.rows as LoadedPack[]).filter(mine),
        buckets: (buckets.rows as BucketTable[]).filter(mine).map(toArchivedBucket),
      }
    }
  }

  async #write(): Promise<void> {
    const states = [...this.#states.values()]
    const turns = toTurnRows(states)
    const statements = [turns.balances.length === 0 ? undefined : sql.writeTurns(turns), ...toColdStatements(states)]
    this.isCommitSent = true
    const answers = await this.#sendAll(...statements, 'commit')
    if (answers.at(-1)?.command !== 'COMMIT') throw new Error('the transaction was rolled back')
  }

  #updateCache(): void {
    const { balances, heldTurns } = this.#cache
    for (const state of this.#states.values()) {
      const { account, row, changes } = state
      // The newest last: the least recently used are evicted first.
      balances.delete(account)
      balances.set(
        account,
        state.isChanged
          ? { ...row, ...state.nextRow, version: row.version + 1, unchangedReads: row.unchangedReads + 1 }
          : // An unwritten balance is read again each time.
            { ...row, unchangedReads: 0 },
      )
      for (const turn of changes.begunTurns) heldTurns.set(turn.id, turn)
      for (const { turn } of changes.endedTurns) heldTurns.delete(turn.id)
    }
    for (const turn of this.#stored.values()) {
      const isOpen = turn.state === 'held' && turn.owner === this.#owner
      if (isOpen && this.#states.get(turn.account)?.turns.get(turn.id)?.state === 'held') heldTurns.set(turn.id, turn)
      else heldTurns.delete(turn.id)
    }
  }

  /** Sends all statements together. Throws the first failure; the others follow from it. */
  async #sendAll(...statements: readonly (Statement | string | undefined)[]): Promise<readonly QueryResult[]> {
    const answers = await Promise.allSettled(
      statements.map((statement) => (statement === undefined ? emptyResult : this.#connection.query(statement))),
    )
    const rejection = answers.find((answer) => answer.status === 'rejected')
    if (rejection !== undefined) throw rejection.reason
    return answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : emptyResult))
  }
}

interface LockedBalance {
  readonly account: string
  readonly version: number
  readonly running: number
  readonly seq: number
  readonly hash: Uint8Array
  readonly packs: number
  readonly cells: string | null
}

const noneChanged: ReadonlySet<string> = new Set()

const emptyResult = { rows: [], command: '' } as unknown as QueryResult

/** The key of a reservation and those of the request's later parts, whose charges a repeated request reports. */
function listKeysToRead(op: LedgerQueueOp): readonly string[] {
  const key = getIdempotencyKey(op)
  return key === null ? [] : [key, ...listPartKeys(key)]
}

/** Idempotency key of a reservation. */
function getIdempotencyKey(op: LedgerQueueOp): string | null {
  return op.kind === 'reserve' ? op.request.idempotency_key : null
}

function toBalanceRow({ version, running, seq, hash, packs, cells }: LockedBalance): BalanceRow {
  return { version, running, seq, hash, packs, cells: (cells ?? '{}').slice(1, -1).split(',').map(Number), unchangedReads: 0 }
}

function toArchivedBucket(row: BucketTable): ArchivedBucket {
  return { pool: row.pool, window: row.window, values: bucketFields.map((field) => row[field]) }
}

function applyOperation({ op, holdId }: BatchOperation, unitOfWork: UnitOfWork, engine: LedgerEngine): AccountResult {
  if (op.kind === 'release') return { kind: 'count', count: engine.expire(op.holds, op.at) }
  unitOfWork.nextHoldId = holdId
  return engine.apply(op)
}

function getHoldIds(op: LedgerQueueOp): readonly number[] {
  if (op.kind === 'release') return op.holds
  return op.kind === 'settle' || op.kind === 'refund' ? [op.hold] : []
}
