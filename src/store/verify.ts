/**
 * Rebuilds every balance from the accounts' chains alone and compares: whatever wrote to the database, a promise that is broken is named.
 * Runs on one snapshot, account by account, so its memory does not grow with the ledger.
 */
import type { Mismatch, Verification } from '../membership/ledger.ts'
import type { Sums } from './books.ts'
import { Books, bucketIdentity, bucketsOf, packIdentity } from './books.ts'
import { bucketsIn } from './buckets.ts'
import { chainStart, heldHashOf, rosterHash, sameHash } from './chain.ts'
import type { MovedTurn } from './purse.ts'
import { Purse } from './purse.ts'
import type { BucketTable, CheckpointTable, EntryTable, PackTable, PurseTable, RosterEndTable, RosterTable } from './schema.ts'
import { sharesIn } from './shares.ts'
import type { EndedTurn } from './turn-columns.ts'
import { endedColumns, reportedColumns, valuesOf } from './turn-columns.ts'

/** What verification reads; each database gives it its own way. All of one snapshot. */
export interface LedgerRows {
  /** How many accounts there are, with books or without. */
  accountCount(): number
  /** By number. */
  roster(): Iterable<RosterTable>
  rosterEnd(): RosterEndTable | undefined
  /** Every account that stands in any table of the ledger but the turn log, in the order of their ids. */
  accounts(): readonly { readonly account: string; readonly onRoster: boolean }[]
  /** The whole log, by account in the same order, then by place in the chain. */
  turns(): Iterable<EndedTurn>
  checkpoint(account: string): CheckpointTable | undefined
  /** By place in the chain. */
  entries(account: string): readonly EntryTable[]
  mark(): PurseMark
  /** As it was written last. */
  purse(account: string): PurseTable | undefined
  /** Those that have left the purse. */
  buckets(account: string): readonly BucketTable[]
  packs(account: string): readonly PackTable[]
}

/** From where on purses may be behind, and what there is after it. */
export interface PurseMark {
  readonly turn: number
  readonly holds: ReadonlySet<number>
  readonly newest: number
  /** How many turns there are after it, and the newest of the log. */
  readonly turnsAfter: number
  readonly newestTurn: number
}

type Report = (rule: string, account: string, detail: string) => void

/** What a held turn says of its ending, in the order of the columns. */
const noEnding = JSON.stringify([null, 0, 0, 0, 0, null, null, null, 'held', 0, null, null])

/** More findings than this say nothing new. */
const reportLimit = 1000

export function verifyLedger(rows: LedgerRows): Verification {
  const mismatches: Mismatch[] = []
  const report: Report = (rule, account, detail) => {
    if (mismatches.length < reportLimit) mismatches.push({ rule, account, detail })
  }
  verifyRoster(rows, report)
  const log = new Log(rows.turns())
  try {
    verifyAccounts(rows, log, report)
  } finally {
    log.close()
  }
  return {
    ok: mismatches.length === 0,
    accounts: rows.accountCount(),
    turns: log.turns,
    holdsOpen: log.held,
    mismatches,
  }
}

function verifyAccounts(rows: LedgerRows, log: Log, report: Report): void {
  const mark = rows.mark()
  for (const { account, onRoster } of rows.accounts()) {
    for (const stray of log.before(account)) report('every turn belongs to books', stray.account, `turn ${stray.id}`)
    if (!onRoster) report('every account with books is on the roster', account, 'it is not')
    new AccountProof(account, rows, mark, report).verify(log.of(account))
  }
  for (const stray of log.rest()) report('every turn belongs to books', stray.account, `turn ${stray.id}`)
  if (mark.newestTurn !== mark.newest || mark.turnsAfter !== mark.newest - mark.turn)
    report(
      'no turn goes missing before purses are written',
      '',
      `after turn ${mark.turn} there are ${mark.turnsAfter}, the last is ${mark.newestTurn}; begun were those up to ${mark.newest}`,
    )
}

/** Nobody's books are gone: not one account's in the midst, and not the last one's. */
function verifyRoster(rows: LedgerRows, report: Report): void {
  const rule = 'no account’s books go missing'
  let last = 0
  let hash = chainStart
  for (const row of rows.roster()) {
    if (row.number !== last + 1) report(rule, row.account, `before it, ${row.number - last - 1} are gone from the roster`)
    else if (!sameHash(rosterHash(hash, row.number, row.account), row.hash))
      report(rule, row.account, `number ${row.number} on the roster is not who was written there`)
    last = row.number
    hash = row.hash
  }
  const end = rows.rosterEnd()
  if (end === undefined) report(rule, '', 'the end of the roster is gone')
  else if (end.number !== last || !sameHash(end.hash, hash))
    report(rule, '', `${end.number} accounts were opened, the roster ends at ${last}`)
}

/** The turn log, read once from its beginning to its end. */
class Log {
  readonly #turns: Iterator<EndedTurn>
  #next: EndedTurn | undefined
  turns = 0
  held = 0

  constructor(turns: Iterable<EndedTurn>) {
    this.#turns = turns[Symbol.iterator]()
    this.#advance()
  }

  *of(account: string): Iterable<EndedTurn> {
    while (this.#next?.account === account) yield this.#take(this.#next)
  }

  /** Those of accounts that come before this one. */
  *before(account: string): Iterable<EndedTurn> {
    while (this.#next !== undefined && this.#next.account < account) yield this.#take(this.#next)
  }

  *rest(): Iterable<EndedTurn> {
    while (this.#next !== undefined) yield this.#take(this.#next)
  }

  close(): void {
    this.#turns.return?.()
  }

  #take(turn: EndedTurn): EndedTurn {
    this.turns += 1
    if (turn.state === 'held') this.held += 1
    this.#advance()
    return turn
  }

  #advance(): void {
    const { done, value } = this.#turns.next()
    this.#next = done === true ? undefined : value
  }
}

class AccountProof {
  readonly #account: string
  readonly #rows: LedgerRows
  readonly #books: Books
  readonly #broken: (rule: string, detail: string) => void
  /** By bucket and by pack. */
  readonly #reserved = new Map<number | string, number>()
  readonly #mark: PurseMark
  readonly #purse: Purse | undefined
  /** What the purse's row does not have yet. */
  readonly #lacking: MovedTurn[] = []

  constructor(account: string, rows: LedgerRows, mark: PurseMark, report: Report) {
    this.#account = account
    this.#rows = rows
    this.#mark = mark
    const row = rows.purse(account)
    this.#purse = row === undefined ? undefined : Purse.from(row)
    const broken = (rule: string, detail: string): void => report(rule, account, detail)
    this.#broken = broken
    this.#books = new Books(account, broken)
  }

  verify(turns: Iterable<EndedTurn>): void {
    const books = this.#books
    const checkpoint = this.#rows.checkpoint(this.#account)
    if (checkpoint !== undefined) books.resume(checkpoint)
    const entries = this.#rows.entries(this.#account)
    let next = 0
    const enterBefore = (seq: number): void => {
      for (let entry = entries[next]; entry !== undefined && entry.seq < seq; entry = entries[++next]) {
        books.enter(entry)
        this.#compareWritten()
      }
    }
    this.#compareWritten()
    for (const turn of turns) {
      if (this.#purse?.lacks(turn) === true) this.#lacks(turn)
      if (turn.state === 'held') {
        this.#hold(turn)
        continue
      }
      enterBefore(turn.seq)
      books.end(turn)
      this.#compareWritten()
    }
    enterBefore(Number.POSITIVE_INFINITY)
    this.#compare()
  }

  #hold(turn: EndedTurn): void {
    if (turn.seq !== 0) this.#broken('a held turn is not in the chain yet', `turn ${turn.id} stands at ${turn.seq}`)
    const { window_debts: debts } = turn
    const ended = valuesOf(endedColumns, { ...turn, window_debts: debts?.trim() === '' ? null : debts })
    const ending = JSON.stringify([...valuesOf(reportedColumns, turn), ...ended])
    if (ending !== noEnding) this.#broken('a held turn has no ending yet', `turn ${turn.id} has ${ending}`)
    if (!sameHash(heldHashOf(turn), turn.hash)) this.#broken('a held turn stays what it was held as', `turn ${turn.id}`)
    const add = (what: number | string, credits: number): void => {
      this.#reserved.set(what, (this.#reserved.get(what) ?? 0) + credits)
    }
    for (const bucket of bucketsOf(turn)) add(bucket, turn.reserved_plan)
    this.#books.legibly(`turn ${turn.id}`, () => {
      for (const [pack, credits] of sharesIn(turn.reserved_packs)) add(pack, credits)
    })
  }

  /** Whoever takes in what purses lack would not find it. */
  #lacks(turn: MovedTurn): void {
    this.#lacking.push(turn)
    if (turn.id <= this.#mark.turn && !this.#mark.holds.has(turn.id))
      this.#broken('what a purse lacks stands after the mark', `turn ${turn.id} does not`)
  }

  /** The purse was written as its chain stood there. */
  #compareWritten(): void {
    const { seq, hash } = this.#books
    if (this.#purse?.seq === seq && !sameHash(this.#purse.hash, hash))
      this.#broken('a chain has no holes', `the purse, written at ${seq}, is of another chain`)
  }

  #compare(): void {
    const { buckets, packs, seq } = this.#books
    const purse = this.#purse
    if (purse === undefined) this.#broken('every balance is stored', 'the purse is gone')
    else {
      if (purse.lastTurn > this.#mark.newest)
        this.#broken('a purse lacks no later turn', `the purse has turn ${purse.lastTurn}, the newest is ${this.#mark.newest}`)
      this.#books.legibly('the purse', () => purse.takeIn(this.#lacking))
      if (purse.seq !== seq) this.#broken('a chain has no holes', `the purse stands at ${purse.seq}, the chain ends at ${seq}`)
    }

    const stored = new Set<number | string>()
    for (const row of [...this.#rows.buckets(this.#account), ...(purse === undefined ? [] : bucketsIn(purse))]) {
      const identity = bucketIdentity(row.pool, row.window, row.starts_at, row.ends_at)
      this.#compareOne(`bucket ${row.id}`, row.id, identity, row, buckets.get(row.id))
      stored.add(row.id)
    }
    for (const row of this.#rows.packs(this.#account)) {
      const identity = packIdentity(row.kind, row.pool, row.expires_at)
      this.#compareOne(`pack ${row.id}`, row.id, identity, { ...row, debt: 0 }, packs.get(row.id))
      stored.add(row.id)
    }
    for (const id of new Set([...buckets.keys(), ...packs.keys(), ...this.#reserved.keys()])) {
      if (!stored.has(id)) this.#broken('every balance is stored', `${id} is in the chain only`)
    }
  }

  #compareOne(
    what: string,
    id: number | string,
    identity: string,
    row: Pick<BucketTable, 'granted' | 'reserved' | 'settled' | 'debt'>,
    sums: Sums | undefined,
  ): void {
    if (sums === undefined) {
      this.#broken('every balance is in the chain', `${what} is not`)
      return
    }
    if (identity !== sums.identity)
      this.#broken('a balance stays what it was made as', `${what} is ${identity}, was made as ${sums.identity}`)
    for (const part of ['granted', 'settled', 'debt'] as const) {
      if (row[part] !== sums[part])
        this.#broken('balances follow from the chain', `${what} has ${part} ${row[part]}, by the chain ${sums[part]}`)
    }
    const reserved = this.#reserved.get(id) ?? 0
    if (row.reserved !== reserved)
      this.#broken('what is reserved is held by turns', `${what} has reserved ${row.reserved}, by the held turns ${reserved}`)
    if (row.granted - row.reserved - row.settled + row.debt < 0 || row.debt > row.settled) {
      this.#broken('granted = remaining + reserved + settled - debt', `${what} is overdrawn: ${JSON.stringify(row)}`)
    }
  }
}
