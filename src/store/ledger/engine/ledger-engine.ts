/**
 * Every decision of the ledger about an account, written once for all stores. The store calls each operation inside one of its transactions.
 * What can be refused is refused before anything is written; after that only a bug or a broken disk can throw, and the store rolls the
 * transaction back.
 */
import { windows } from '../../../domain/billing/catalog/plan.ts'
import { allocateSettlement } from './allocation.ts'
import type { Allocation } from './allocation.ts'
import { ChainWriter } from './chain-writer.ts'
import type {
  AccountOperation,
  AdjustOperation,
  ChangePackOperation,
  AccountResult,
  CountResult,
  GrantOperation,
  OpenWithUsageOperation,
  PackResult,
} from '../operations.ts'
import { PeriodBuckets } from './period-buckets.ts'
import type { LedgerStorage } from './ledger-storage.ts'
import { TurnEngine } from './turn-engine.ts'

export class LedgerEngine {
  readonly #storage: LedgerStorage
  readonly #chain: ChainWriter
  readonly #buckets: PeriodBuckets
  readonly #turnEngine: TurnEngine

  constructor(storage: LedgerStorage) {
    this.#storage = storage
    this.#chain = new ChainWriter(storage)
    this.#buckets = new PeriodBuckets(storage, this.#chain)
    this.#turnEngine = new TurnEngine(storage, this.#chain, this.#buckets)
  }

  apply(operation: AccountOperation): AccountResult {
    switch (operation.kind) {
      case 'reserve':
        return this.#turnEngine.reserve(operation)
      case 'settle':
      case 'refund':
        return this.#turnEngine.endTurn(operation)
      case 'grant':
        return this.#grantPack(operation)
      case 'adjust':
        return this.#adjust(operation)
      case 'changePack':
        return this.#changePack(operation)
      case 'openWithUsage':
        return this.#openWithUsage(operation)
    }
  }

  /** Releases holds that no process will end. Returns how many were still open. */
  expire(holds: readonly number[], at: number): number {
    return this.#turnEngine.expire(holds, at)
  }

  #grantPack({ id, account, packKind: kind, pool, credits, at, expiresAt }: GrantOperation): PackResult {
    const isNew = this.#storage.insertPack({
      id,
      account,
      kind,
      pool,
      granted: credits,
      reserved: 0,
      settled: 0,
      expires_at: expiresAt,
      created_at: at,
    })
    if (isNew) this.#chain.append(this.#storage.getBalance(account), 'grant', at, [id, kind, pool, credits, expiresAt])
    return this.#findPack(account, id)
  }

  #findPack(account: string, id: string): PackResult {
    const { expires_at: expiresAt, created_at: createdAt, ...pack } = this.#storage.getPack(account, id)
    if (pack.account !== account) throw new Error(`pack ${id} belongs to another account`)
    return { kind: 'pack', pack: { ...pack, expiresAt, createdAt } }
  }

  /** The pack marks the correction as made, so it also exists, without credits, where credits are taken. */
  #adjust({ id, account, pool, credits, reason, at, expiresAt, periods, limits }: AdjustOperation): PackResult {
    const granted = Math.max(0, credits)
    const pack = { id, account, kind: 'grant' as const, pool, granted, reserved: 0, settled: 0 }
    if (!this.#storage.insertPack({ ...pack, expires_at: expiresAt, created_at: at })) return this.#findPack(account, id)
    const balance = this.#storage.getBalance(account)
    const detail = [id, 'grant', pool, credits, expiresAt, reason]
    if (credits > 0) {
      this.#chain.append(balance, 'adjust', at, detail)
      return this.#findPack(account, id)
    }
    const buckets = windows.map((window) => this.#buckets.rollTo(balance, pool, window, periods[window], limits[window], at))
    const nothingHeld = { fromPlan: 0, fromPacks: [] }
    const { fromPlan, fromPacks, debt, windowDebts } = allocateSettlement(-credits, nothingHeld, buckets, () =>
      this.#storage.listOpenPacks(account, pool, at),
    )
    const charged = fromPlan + debt
    const ids = buckets.map((bucket) => bucket.get('id'))
    this.#chain.append(balance, 'adjust', at, [...detail, charged, ids, windowDebts, fromPacks])
    for (const [index, bucket] of buckets.entries()) bucket.applyDelta(0, charged, windowDebts[index] ?? 0)
    for (const [other, share] of fromPacks) this.#storage.applyPackDelta(account, other, 0, share)
    if (!balance.isValid(pool)) throw new Error(`the balance of ${account} would be overdrawn`)
    return this.#findPack(account, id)
  }

  /**
   * A correction of one pack, so a chain that has one can be replayed by a version without this operation. The pack of its id, without credits,
   * marks it as made.
   */
  #changePack({ id, account, pack, credits, reason, at }: ChangePackOperation): CountResult {
    const storedPack = this.#storage.findPack(account, pack)
    if (storedPack === undefined) return { kind: 'count', count: 0 }
    const { pool, granted, reserved, settled, expires_at: expiresAt } = storedPack
    const isMade = this.#storage.findPack(account, id) !== undefined
    if (isMade) return { kind: 'count', count: 1 }
    const isPossible = credits < 0 ? granted - reserved - settled >= -credits : settled >= credits
    if (!isPossible) return { kind: 'count', count: 0 }
    const mark = { id, account, kind: 'grant' as const, pool, granted: 0, reserved: 0, settled: 0 }
    this.#storage.insertPack({ ...mark, expires_at: expiresAt, created_at: at })
    const changes: readonly Allocation[] = [[pack, -credits]]
    const detail = [id, 'grant', pool, Math.min(0, credits), expiresAt, reason, 0, [], [], changes]
    this.#chain.append(this.#storage.getBalance(account), 'adjust', at, detail)
    this.#storage.applyPackDelta(account, pack, 0, -credits)
    return { kind: 'count', count: 1 }
  }

  #openWithUsage({ account, pool, at, periods }: OpenWithUsageOperation): CountResult {
    const balance = this.#storage.getBalance(account)
    let count = 0
    for (const window of windows) {
      const { start, end, used } = periods[window]
      const bucket = balance.bucket(pool, window)
      if (used === 0 || bucket.get('id') !== 0) continue
      // The first turn raises the limit to the plan's.
      this.#buckets.openBucket(balance, bucket, pool, window, { start, end }, used, used, at)
      count += 1
    }
    return { kind: 'count', count }
  }
}
