/** Purses' rows, and the mark from which on they may be behind, in SQLite's words. */
import type { Statement } from 'better-sqlite3'
import type { MovedTurn } from '../purse.ts'
import { cellColumns, movedColumns, Purse } from '../purse.ts'
import type { Connection } from './connection.ts'

/** Where the mark is put once all purses that were behind have been written. */
export interface Mark {
  readonly turn: number
  /** JSON, the ids of turns that were held then. */
  readonly holds: string
}

/** Hears what becomes of the purses that it keeps in memory. */
export interface PurseKeeper {
  moved(purse: KeptPurse, begun: number): void
  mustWrite(purse: KeptPurse): void
}

/** A purse with what its writer has to know of it. */
export class KeptPurse extends Purse {
  readonly #keeper: PurseKeeper
  isNew = false
  /** Differs from its row. */
  isBehind = false
  /** To be written before the transaction is committed. */
  isDue = false
  /** By its turns, since it was written. */
  moves = 0

  constructor(keeper: PurseKeeper, ...row: ConstructorParameters<typeof Purse>) {
    super(...row)
    this.#keeper = keeper
  }

  override moved(begun = 0): void {
    super.moved(begun)
    this.#keeper.moved(this, begun)
  }

  override mustBeWritten(): void {
    this.#keeper.mustWrite(this)
  }
}

type PurseRow = [seq: number, hash: Uint8Array, lastTurn: number, ...cells: number[]]

export class PurseRows {
  readonly #select: Statement<unknown[], PurseRow>
  readonly #insert: Statement<unknown[]>
  readonly #update: Statement<unknown[]>
  readonly #round: Statement<unknown[], number>
  readonly #setRound: Statement<unknown[]>
  readonly #setNewest: Statement<unknown[]>
  readonly #expected: Statement<unknown[], number>
  readonly #begun: Statement<unknown[], MovedTurn>
  readonly #heldThen: Statement<unknown[], MovedTurn>
  readonly #here: Statement<unknown[], Mark>
  readonly #setMark: Statement<unknown[]>
  readonly #dropHolds: Statement<unknown[]>
  readonly #addHolds: Statement<unknown[]>

  constructor(db: Connection) {
    const columns = ['seq', 'hash', 'last_turn', ...cellColumns]
    const moved = movedColumns.join(', ')
    this.#select = db.prepare<unknown[], PurseRow>(`select ${columns.join(', ')} from written_purse where account = ?`).raw()
    this.#insert = db.prepare(
      `insert into written_purse (${columns.join(', ')}, account) values (${columns.map(() => '?').join(', ')}, ?)`,
    )
    this.#update = db.prepare(`update written_purse set ${columns.map((name) => `${name} = ?`).join(', ')} where account = ?`)
    this.#round = db.prepare<unknown[], number>('select round from purse_mark').pluck()
    this.#setRound = db.prepare('update purse_mark set round = ?')
    this.#setNewest = db.prepare('update purse_mark set newest = ?')
    this.#expected = db.prepare<unknown[], number>('select newest - turn from purse_mark').pluck()
    this.#begun = db.prepare<unknown[], MovedTurn>(`select ${moved} from turn where id > (select turn from purse_mark)`)
    this.#heldThen = db.prepare<unknown[], MovedTurn>(`select ${moved} from turn where id in (select turn from purse_mark_hold)`)
    this.#here = db.prepare<unknown[], Mark>(`
      select (select newest from purse_mark) as turn,
        (select json_group_array(id) from turn where state = 'held') as holds`)
    this.#setMark = db.prepare('update purse_mark set turn = ?')
    this.#dropHolds = db.prepare('delete from purse_mark_hold')
    this.#addHolds = db.prepare('insert into purse_mark_hold (turn) select value from json_each(?)')
  }

  read(account: string, keeper: PurseKeeper): KeptPurse {
    const row = this.#select.get(account)
    if (row === undefined) {
      const purse = new KeptPurse(keeper, account)
      purse.isNew = true
      return purse
    }
    const [seq, hash, lastTurn, ...cells] = row
    return new KeptPurse(keeper, account, seq, hash, lastTurn, cells)
  }

  write(purse: KeptPurse): void {
    const statement = purse.isNew ? this.#insert : this.#update
    const { changes } = statement.run(purse.seq, purse.hash, purse.lastTurn, ...purse.cells, purse.account)
    if (changes !== 1) throw new Error(`the purse of ${purse.account} is gone`)
    purse.isNew = false
    purse.isBehind = false
    purse.isDue = false
    purse.moves = 0
  }

  get round(): number {
    const round = this.#round.get()
    if (round === undefined) throw new Error('the mark of the purses is gone')
    return round
  }

  set round(round: number) {
    this.#setRound.run(round)
  }

  newest(turn: number): void {
    this.#setNewest.run(turn)
  }

  /**
   * The turns that purses may lack, by account.
   * @throws where one that began after the mark is missing
   */
  movedSinceMark(): Map<string, MovedTurn[]> {
    const byAccount = new Map<string, MovedTurn[]>()
    const begun = this.#begun.all()
    if (begun.length !== this.#expected.get()) throw new Error('turns are missing that purses were not written with yet')
    for (const turn of [...begun, ...this.#heldThen.all()]) {
      const known = byAccount.get(turn.account)
      if (known === undefined) byAccount.set(turn.account, [turn])
      else known.push(turn)
    }
    return byAccount
  }

  /** The mark as of this moment. */
  here(): Mark {
    const mark = this.#here.get()
    if (mark === undefined) throw new Error('the turn log gives no answer')
    return mark
  }

  putMark({ turn, holds }: Mark): void {
    this.#setMark.run(turn)
    this.#dropHolds.run()
    this.#addHolds.run(holds)
  }
}
