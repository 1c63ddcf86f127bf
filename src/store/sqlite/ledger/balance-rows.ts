/** The balance rows, and the watermark after which they may be behind their turns. */
import type { Statement } from 'better-sqlite3'
import type { ReplayTurn } from '../../ledger/account-balance.ts'
import { bucketValueColumns, replayColumns, AccountBalance } from '../../ledger/account-balance.ts'
import type { Connection } from '../connection/connection.ts'

/** The watermark's new position once all dirty balances are written. */
export interface Watermark {
  readonly turn: number
  /** JSON: ids of the turns held at that moment. */
  readonly holds: string
}

/** Receives the changes of cached balances. */
export interface BalanceListener {
  onTurn(balance: CachedBalance, startedTurnId: number): void
  requireWrite(balance: CachedBalance): void
}

/** A balance with its write-behind state. */
export class CachedBalance extends AccountBalance {
  readonly #listener: BalanceListener
  isNew = false
  /** Differs from its row. */
  isDirty = false
  /** Must be written before the transaction is committed. */
  isDue = false
  /** Changes by turns since its row was written. */
  turnChanges = 0

  constructor(listener: BalanceListener, ...row: ConstructorParameters<typeof AccountBalance>) {
    super(...row)
    this.#listener = listener
  }

  override recordTurn(startedTurnId = 0): void {
    super.recordTurn(startedTurnId)
    this.#listener.onTurn(this, startedTurnId)
  }

  override requireWrite(): void {
    this.#listener.requireWrite(this)
  }
}

type BalanceRow = [seq: number, hash: Uint8Array, lastTurn: number, ...cells: number[]]

export class BalanceRows {
  readonly #select: Statement<unknown[], BalanceRow>
  readonly #insert: Statement<unknown[]>
  readonly #update: Statement<unknown[]>
  readonly #selectEpoch: Statement<unknown[], number>
  readonly #updateEpoch: Statement<unknown[]>
  readonly #updateNewest: Statement<unknown[]>
  readonly #selectExpectedCount: Statement<unknown[], number>
  readonly #selectStarted: Statement<unknown[], ReplayTurn>
  readonly #selectHeldAtWatermark: Statement<unknown[], ReplayTurn>
  readonly #selectCurrent: Statement<unknown[], Watermark>
  readonly #updateWatermark: Statement<unknown[]>
  readonly #deleteHolds: Statement<unknown[]>
  readonly #insertHolds: Statement<unknown[]>

  constructor(db: Connection) {
    const columns = ['seq', 'hash', 'last_turn', ...bucketValueColumns]
    const replayColumnList = replayColumns.join(', ')
    this.#select = db.prepare<unknown[], BalanceRow>(`select ${columns.join(', ')} from balance where account = ?`).raw()
    this.#insert = db.prepare(
      `insert into balance (${columns.join(', ')}, account) values (${columns.map(() => '?').join(', ')}, ?)`,
    )
    this.#update = db.prepare(`update balance set ${columns.map((name) => `${name} = ?`).join(', ')} where account = ?`)
    this.#selectEpoch = db.prepare<unknown[], number>('select epoch from balance_watermark').pluck()
    this.#updateEpoch = db.prepare('update balance_watermark set epoch = ?')
    this.#updateNewest = db.prepare('update balance_watermark set newest_turn = ?')
    this.#selectExpectedCount = db.prepare<unknown[], number>('select newest_turn - turn from balance_watermark').pluck()
    this.#selectStarted = db.prepare<unknown[], ReplayTurn>(
      `select ${replayColumnList} from turn where id > (select turn from balance_watermark)`,
    )
    this.#selectHeldAtWatermark = db.prepare<unknown[], ReplayTurn>(
      `select ${replayColumnList} from turn where id in (select turn from balance_watermark_hold)`,
    )
    this.#selectCurrent = db.prepare<unknown[], Watermark>(`
      select (select newest_turn from balance_watermark) as turn,
        (select json_group_array(id) from turn where state = 'held') as holds`)
    this.#updateWatermark = db.prepare('update balance_watermark set turn = ?')
    this.#deleteHolds = db.prepare('delete from balance_watermark_hold')
    this.#insertHolds = db.prepare('insert into balance_watermark_hold (turn) select value from json_each(?)')
  }

  read(account: string, listener: BalanceListener): CachedBalance {
    const row = this.#select.get(account)
    if (row === undefined) {
      const balance = new CachedBalance(listener, account)
      balance.isNew = true
      return balance
    }
    const [seq, hash, lastTurn, ...cells] = row
    return new CachedBalance(listener, account, seq, hash, lastTurn, cells)
  }

  write(balance: CachedBalance): void {
    const statement = balance.isNew ? this.#insert : this.#update
    const { changes } = statement.run(balance.seq, balance.hash, balance.lastTurn, ...balance.bucketValues, balance.account)
    if (changes !== 1) throw new Error(`the balance of ${balance.account} is missing`)
    balance.isNew = false
    balance.isDirty = false
    balance.isDue = false
    balance.turnChanges = 0
  }

  get epoch(): number {
    const epoch = this.#selectEpoch.get()
    if (epoch === undefined) throw new Error('the balance watermark is missing')
    return epoch
  }

  set epoch(epoch: number) {
    this.#updateEpoch.run(epoch)
  }

  setNewestTurn(turn: number): void {
    this.#updateNewest.run(turn)
  }

  /**
   * The turns that balance rows may not include, by account.
   * @throws if one that began after the watermark is missing
   */
  readTurnsSinceWatermark(): Map<string, ReplayTurn[]> {
    const byAccount = new Map<string, ReplayTurn[]>()
    const startedTurns = this.#selectStarted.all()
    if (startedTurns.length !== this.#selectExpectedCount.get())
      throw new Error('turns are missing that the balances do not include yet')
    for (const turn of [...startedTurns, ...this.#selectHeldAtWatermark.all()]) {
      const turns = byAccount.get(turn.account)
      if (turns === undefined) byAccount.set(turn.account, [turn])
      else turns.push(turn)
    }
    return byAccount
  }

  /** The watermark of this moment. */
  readCurrentWatermark(): Watermark {
    const watermark = this.#selectCurrent.get()
    if (watermark === undefined) throw new Error('the turn table returned no row')
    return watermark
  }

  writeWatermark({ turn, holds }: Watermark): void {
    this.#updateWatermark.run(turn)
    this.#deleteHolds.run()
    this.#insertHolds.run(holds)
  }
}
