/**
 * The ledger's rows as they were loaded for a batch, and what its decisions change of them. What was not loaded is told by `NotLoaded`: the
 * account's operations are undone here, and decided again once it is.
 */
import type { Pool } from '../../membership/product.ts'
import type { Window } from '../../membership/plan.ts'
import { Bucket } from '../bucket.ts'
import type { EarlierTurn, LedgerRows } from '../ledger/rows.ts'
import { Purse } from '../purse.ts'
import type { EntryTable, PackTable } from '../schema.ts'
import { bucketFields } from '../schema.ts'
import type { OpenPack } from '../shares.ts'
import type { EndedValues, EndingTurn, LinkValues, NotedValues, ReportedValues, SealedValues } from '../turn-columns.ts'

/** All that is rare about an account: its packs, and the buckets whose period is over. */
export class NotLoaded extends Error {
  readonly account: string

  constructor(account: string) {
    super(`the rows of ${account} are not loaded`)
    this.account = account
  }
}

/** A purse as its row has it. */
export interface PurseRow {
  readonly version: number
  readonly running: number
  readonly seq: number
  readonly hash: Uint8Array
  /** How many packs it was ever granted. */
  readonly packs: number
  readonly cells: readonly number[]
  /** How many times in a row it was found as this node had left it. */
  readonly unmoved: number
}

/** A bucket that is put away. */
export interface AwayBucket {
  readonly pool: Pool
  readonly window: Window
  /** In the order of a bucket's columns. */
  readonly figures: readonly number[]
}

export interface RareRows {
  readonly packs: readonly PackTable[]
  readonly buckets: readonly AwayBucket[]
}

export interface HeldRow {
  readonly id: number
  readonly owner: number
  readonly until: number
  readonly sealed: SealedValues
  readonly hash: Uint8Array
}

export interface EndedRow {
  readonly turn: EndingTurn
  readonly reported: ReportedValues
  readonly ended: EndedValues
  readonly link: LinkValues
}

/** What has become of one account's rows. */
export class Changes {
  readonly held: HeldRow[] = []
  /** The held ones again, as their ending will want them. */
  readonly begun: EndingTurn[] = []
  readonly ended: EndedRow[] = []
  readonly noted: { readonly turn: EndingTurn; readonly noted: NotedValues }[] = []
  readonly entries: EntryTable[] = []
  readonly newPacks: PackTable[] = []
  /** By pack: what is reserved and settled more than before. */
  readonly movedPacks = new Map<string, [reserved: number, settled: number]>()
  /** By bucket: as it was put away or saved; null where it was taken out. */
  readonly away = new Map<number, AwayBucket | null>()
  running = 0
}

/** One account's rows: as they are in the database, and as they will be. */
export class AccountPage {
  readonly account: string
  readonly row: PurseRow
  readonly keys = new Map<string, EarlierTurn>()
  /** Those that are to end, as they were read. */
  readonly read = new Map<number, EndingTurn>()
  rare: RareRows | undefined
  purse: Purse
  changes: Changes
  turns: Map<number, EndingTurn>
  #packs = new Map<string, PackTable>()
  #away = new Map<number, AwayBucket>()

  constructor(account: string, row: PurseRow) {
    this.account = account
    this.row = row
    this.purse = purseOf(account, row)
    this.changes = new Changes()
    this.turns = new Map()
  }

  /** Forgets what was decided. */
  reset(): void {
    this.purse = purseOf(this.account, this.row)
    this.changes = new Changes()
    this.turns = new Map(this.read)
    this.#packs = new Map(this.rare?.packs.map((pack) => [pack.id, { ...pack }]))
    this.#away = new Map(this.rare?.buckets.map((bucket) => [bucket.figures[0] ?? 0, bucket]))
  }

  get isChanged(): boolean {
    const { purse, row } = this
    if (this.changes.running !== 0 || purse.seq !== row.seq) return true
    return purse.cells.some((value, index) => value !== row.cells[index])
  }

  /** Whether it is changed, and only by turns of this period, paid from the plan. */
  get isPlain(): boolean {
    const { away, newPacks, movedPacks, noted, entries } = this.changes
    return this.isChanged && away.size + newPacks.length + movedPacks.size + noted.length + entries.length === 0
  }

  /** The purse as it is to be written. */
  get written(): Omit<PurseRow, 'version' | 'unmoved'> {
    const { row, changes } = this
    const { seq, hash, cells } = this.purse
    return { running: row.running + changes.running, seq, hash, packs: row.packs + changes.newPacks.length, cells }
  }

  get packs(): Map<string, PackTable> {
    if (this.row.packs > 0) this.#mustBeLoaded()
    return this.#packs
  }

  get away(): Map<number, AwayBucket> {
    this.#mustBeLoaded()
    return this.#away
  }

  /** Where packs are not loaded, only how they move is known. */
  movePack(id: string, reserved: number, settled: number): void {
    const pack = this.#packs.get(id)
    if (pack !== undefined) {
      pack.reserved += reserved
      pack.settled += settled
    }
    const moved = this.changes.movedPacks.get(id)
    if (moved === undefined) {
      this.changes.movedPacks.set(id, [reserved, settled])
      return
    }
    moved[0] += reserved
    moved[1] += settled
  }

  keep(id: number, bucket: AwayBucket | null): void {
    this.changes.away.set(id, bucket)
    if (bucket === null) this.#away.delete(id)
    else this.#away.set(id, bucket)
  }

  #mustBeLoaded(): void {
    if (this.rare === undefined) throw new NotLoaded(this.account)
  }
}

export class Page implements LedgerRows {
  readonly #accounts: ReadonlyMap<string, AccountPage>
  readonly #accountOf = new Map<number, AccountPage>()
  readonly #owner: number
  /** The id of the hold that is decided on now. */
  nextHold = 0

  constructor(accounts: ReadonlyMap<string, AccountPage>, owner: number) {
    this.#accounts = accounts
    this.#owner = owner
    for (const page of accounts.values()) for (const id of page.read.keys()) this.#accountOf.set(id, page)
  }

  purse(account: string): Purse {
    return this.#of(account).purse
  }

  running(account: string): number {
    const { row, changes } = this.#of(account)
    return row.running + changes.running
  }

  earlier(account: string, key: string): EarlierTurn | undefined {
    return this.#of(account).keys.get(key)
  }

  turn(id: number): EndingTurn {
    const turn = this.#accountOf.get(id)?.turns.get(id)
    if (turn === undefined) throw new Error(`there is no hold ${id}`)
    return turn
  }

  turnNow(id: number): EndingTurn {
    return this.turn(id)
  }

  hold(purse: Purse, until: number, sealed: SealedValues, hash: Uint8Array): number {
    const [, , , , , , , , , , reserved, reservedPlan] = sealed
    mustBeAmounts(reserved, reservedPlan)
    this.#of(purse.account).changes.held.push({ id: this.nextHold, owner: this.#owner, until, sealed, hash })
    return this.nextHold
  }

  held(turn: EndingTurn): void {
    const { changes } = this.#of(turn.account)
    changes.begun.push(turn)
    changes.running += 1
  }

  /** What is remembered may have changed since; the statement that writes it refuses the whole batch then. */
  end(turn: EndingTurn, reported: ReportedValues, ended: EndedValues, link: LinkValues): boolean {
    const { changes, turns } = this.#of(turn.account)
    if (turns.get(turn.id)?.state !== 'held') return false
    const [, credits, inputTokens, outputTokens] = reported
    const [state, debt] = ended
    mustBeAmounts(credits, inputTokens, outputTokens, debt)
    if (state !== 'settled' && credits + debt > 0) throw new RangeError(`a turn that was ${state} costs nothing`)
    changes.ended.push({ turn, reported, ended, link })
    // Whoever ends it again in the same batch is told so.
    turns.set(turn.id, { ...turn, state: ended[0], credits: reported[1], debt: ended[1] })
    return true
  }

  ended(turn: EndingTurn): void {
    const { row, changes } = this.#of(turn.account)
    changes.running -= 1
    mustBeAmounts(row.running + changes.running)
  }

  note(turn: EndingTurn, noted: NotedValues): void {
    this.#of(turn.account).changes.noted.push({ turn, noted })
  }

  addEntry(entry: EntryTable): void {
    this.#of(entry.account).changes.entries.push(entry)
  }

  bucket(account: string, id: number): number[] | undefined {
    const away = this.#of(account).away.get(id)
    return away === undefined ? undefined : [...away.figures]
  }

  lastBucket(account: string, pool: Pool, window: Window, at: number): number[] | undefined {
    const startOf = ({ figures }: AwayBucket): number => new Bucket([...figures], 0).get('startsAt')
    const [last] = [...this.#of(account).away.values()]
      .filter((bucket) => bucket.pool === pool && bucket.window === window && startOf(bucket) <= at)
      .toSorted((one, other) => startOf(other) - startOf(one))
    return last === undefined ? undefined : [...last.figures]
  }

  putAway(account: string, pool: Pool, window: Window, figures: readonly number[]): void {
    this.#of(account).keep(figures[0] ?? 0, { pool, window, figures })
  }

  takeOut(account: string, id: number): void {
    this.#of(account).keep(id, null)
  }

  saveBucket(account: string, bucket: Bucket): void {
    const page = this.#of(account)
    const id = bucket.get('id')
    const known = page.away.get(id)
    if (known === undefined) throw new Error(`bucket ${id} of ${account} is gone`)
    const figures = [...known.figures]
    for (const [name, field] of saved) figures[bucketFields.indexOf(field)] = bucket.get(name)
    page.keep(id, { ...known, figures })
  }

  openPacks(account: string, pool: Pool, at: number): readonly OpenPack[] {
    return [...this.#of(account).packs.values()]
      .filter((pack) => pack.pool === pool && pack.expires_at > at && pack.settled < pack.granted)
      .toSorted((one, other) => one.expires_at - other.expires_at || (one.id < other.id ? -1 : 1))
      .map(({ id, granted, reserved, settled }) => ({ id, left: granted - reserved - settled, reserved }))
  }

  movePack(account: string, id: string, reserved: number, settled: number): void {
    this.#of(account).movePack(id, reserved, settled)
  }

  addPack(pack: PackTable): boolean {
    const { packs, changes } = this.#of(pack.account)
    if (packs.has(pack.id)) return false
    packs.set(pack.id, { ...pack })
    changes.newPacks.push(pack)
    return true
  }

  pack(account: string, id: string): PackTable {
    const pack = this.#of(account).packs.get(id)
    if (pack === undefined) throw new Error(`pack ${id} is gone`)
    return pack
  }

  #of(account: string): AccountPage {
    const page = this.#accounts.get(account)
    if (page === undefined) throw new Error(`there is no account ${account}`)
    return page
  }
}

/** As SQLite's tables demand it of their rows. */
function mustBeAmounts(...values: readonly number[]): void {
  for (const value of values) if (!(value >= 0)) throw new RangeError(`${value} is no amount`)
}

const saved = [
  ['reserved', 'reserved'],
  ['settled', 'settled'],
  ['debt', 'debt'],
] as const

/** Which turn is an account's newest is found by an index here. */
function purseOf(account: string, { seq, hash, cells }: PurseRow): Purse {
  return new Purse(account, seq, hash, 0, [...cells])
}
