/**
 * Rebuilds every balance from the entries alone and compares: whatever wrote to the database, a promise that is broken is named.
 * Runs on one snapshot, account by account, so its memory does not grow with the ledger.
 */
import type { Mismatch, Verification } from '../membership/ledger.ts'
import { windows } from '../membership/plan.ts'
import type { Pool } from '../membership/product.ts'
import { chainStart, entryHash, type HashedEntry } from './entry-hash.ts'
import type { BucketTable, PackTable, PurseTable } from './schema.ts'

/** What verification reads; each database gives it its own way. All of one snapshot. */
export interface LedgerRows {
  /** Every entry, by account and sequence. */
  entries(): Iterable<StoredEntry>
  purse(account: string): PurseTable | undefined
  /** Those that have left the purse. */
  buckets(account: string): readonly BucketTable[]
  packs(account: string): readonly PackTable[]
  turn(id: number): StoredTurn | undefined
  counts(): {
    readonly accounts: number
    readonly turns: number
    readonly held: number
    readonly purses: number
    readonly buckets: number
    readonly packs: number
  }
}

export type StoredEntry = HashedEntry & { readonly hash: Uint8Array }

export interface StoredTurn {
  readonly account: string
  readonly pool: string
  readonly state: string
  readonly reserved: number
  readonly reserved_plan: number
  readonly reserved_packs: string | null
  readonly credits: number
  readonly debt: number
}

const pools = ['fast', 'premium'] as const satisfies readonly Pool[]

type Share = readonly [pack: string, credits: number]

interface Hold {
  readonly plan: number
  readonly buckets: readonly number[]
  readonly packs: readonly Share[]
}

interface Sums {
  granted: number
  reserved: number
  settled: number
  debt: number
}

/** What one account's entries and rows add up to. */
interface AccountSums {
  readonly held: number
  readonly logged: number
  readonly purses: number
  readonly buckets: number
  readonly packs: number
}

/** How an ending entry's turn must look in the log. */
const stateAfter = { settle: 'settled', refund: 'refunded', expire: 'expired' } as const

/** More findings than this say nothing new. */
const reportLimit = 1000

export function verifyLedger(rows: LedgerRows): Verification {
  const mismatches: Mismatch[] = []
  const report = (rule: string, account: string, detail: string): void => {
    if (mismatches.length < reportLimit) mismatches.push({ rule, account, detail })
  }
  const seen = { held: 0, logged: 0, purses: 0, buckets: 0, packs: 0 }

  let current: AccountBooks | undefined
  const close = (): void => {
    if (current === undefined) return
    const sums = current.close()
    seen.held += sums.held
    seen.logged += sums.logged
    seen.purses += sums.purses
    seen.buckets += sums.buckets
    seen.packs += sums.packs
  }
  for (const entry of rows.entries()) {
    if (entry.account !== current?.account) {
      close()
      current = new AccountBooks(entry.account, rows, report)
    }
    current.add(entry)
  }
  close()

  const { accounts, turns, held, purses, buckets, packs } = rows.counts()
  if (purses !== seen.purses) report('every purse has entries', '', `${purses} purses stored, ${seen.purses} in the entries`)
  if (buckets !== seen.buckets)
    report('every bucket has entries', '', `${buckets} buckets stored, ${seen.buckets} in the entries`)
  if (packs !== seen.packs) report('every pack has an entry', '', `${packs} packs stored, ${seen.packs} in the entries`)
  if (turns !== seen.logged)
    report('every turn has entries', '', `${turns} turns in the log, ${seen.logged} of them in the entries`)
  if (held !== seen.held)
    report('each hold has exactly one ending', '', `${held} open holds in the log, ${seen.held} in the entries`)
  return { ok: mismatches.length === 0, accounts, turns, holdsOpen: held, mismatches }
}

/** One account's books, rebuilt entry by entry. */
class AccountBooks {
  readonly account: string
  readonly #rows: LedgerRows
  readonly #report: (rule: string, account: string, detail: string) => void
  readonly #buckets = new Map<number, Sums & { readonly identity: string }>()
  readonly #packs = new Map<string, Sums & { readonly identity: string }>()
  readonly #holds = new Map<number, Hold>()
  #seq = 0
  #hash = chainStart
  #logged = 0

  constructor(account: string, rows: LedgerRows, report: (rule: string, account: string, detail: string) => void) {
    this.account = account
    this.#rows = rows
    this.#report = report
  }

  add(entry: StoredEntry): void {
    const { seq, hash } = entry
    if (seq !== this.#seq + 1) this.#broken('the sequence of entries has no holes', `entry ${seq} follows ${this.#seq}`)
    this.#seq = seq
    const expected = entryHash(this.#hash, entry)
    if (!Buffer.from(expected).equals(hash)) {
      this.#broken('entries never change', `entry ${seq} (${entry.kind}) or the one before it is not what was written`)
    }
    // Chained to what is stored, so that one changed entry is reported once and not with every entry after it.
    this.#hash = hash
    try {
      this.#apply(entry)
    } catch (error) {
      this.#broken(
        'entries can be read',
        `entry ${seq} (${entry.kind}): ${error instanceof Error ? error.message : String(error)}`,
      )
    }
  }

  close(): AccountSums {
    for (const [id, hold] of this.#holds) this.#checkTurn(id, 'held', hold, 0, 0)
    const purse = this.#rows.purse(this.account)
    if (purse === undefined) this.#broken('every balance is stored', 'the purse is gone')
    else if (purse.seq !== this.#seq || !Buffer.from(purse.hash).equals(this.#hash)) {
      this.#broken(
        'the sequence of entries has no holes',
        `the purse stands at entry ${purse.seq}, the entries end at ${this.#seq}`,
      )
    }
    const away = this.#rows.buckets(this.account)
    const buckets = [...away, ...(purse === undefined ? [] : bucketsIn(purse))]
    for (const row of buckets) {
      const identity = [row.pool, row.window, row.starts_at, row.ends_at].join(' ')
      this.#compare(`bucket ${row.id}`, identity, row, this.#buckets.get(row.id))
    }
    const packs = this.#rows.packs(this.account)
    for (const row of packs) {
      const identity = [row.kind, row.pool, row.expires_at].join(' ')
      this.#compare(`pack ${row.id}`, identity, { ...row, debt: 0 }, this.#packs.get(row.id))
    }
    const stored = new Set([...buckets.map((row) => row.id), ...packs.map((row) => row.id)])
    for (const id of [...this.#buckets.keys(), ...this.#packs.keys()]) {
      if (!stored.has(id)) this.#broken('every balance is stored', `${id} is in the entries only`)
    }
    return {
      held: this.#holds.size,
      logged: this.#logged,
      purses: purse === undefined ? 0 : 1,
      buckets: away.length,
      packs: packs.length,
    }
  }

  #apply(entry: StoredEntry): void {
    switch (entry.kind) {
      case 'open': {
        const [id, pool, window, start, end, granted] = detailOf<[number, string, string, number, number, number]>(entry)
        if (id !== entry.seq) throw new Error(`it opens bucket ${id}`)
        this.#buckets.set(id, { identity: [pool, window, start, end].join(' '), granted, reserved: 0, settled: 0, debt: 0 })
        return
      }
      case 'limit': {
        const [id, granted] = detailOf<[number, number]>(entry)
        this.#bucket(id).granted = granted
        return
      }
      case 'grant': {
        const [id, kind, pool, granted, expiresAt] = detailOf<[string, string, string, number, number]>(entry)
        this.#packs.set(id, { identity: [kind, pool, expiresAt].join(' '), granted, reserved: 0, settled: 0, debt: 0 })
        return
      }
      case 'hold': {
        const [day, week, month, ...packs] = detailOf<[number, number, number, ...Share[]]>(entry)
        const turn = turnOf(entry)
        const hold = { plan: entry.plan, buckets: [day, week, month], packs }
        for (const id of hold.buckets) this.#move(this.#bucket(id), entry.plan, 0, 0, `bucket ${id}`)
        for (const [id, credits] of packs) this.#move(this.#pack(id), credits, 0, 0, `pack ${id}`)
        if (this.#holds.has(turn)) this.#broken('each hold has exactly one ending', `turn ${turn} was held twice`)
        this.#holds.set(turn, hold)
        return
      }
      case 'settle':
      case 'refund':
      case 'expire':
        this.#end(entry, stateAfter[entry.kind])
        return
      default:
        throw new Error('its kind is unknown')
    }
  }

  #end(entry: StoredEntry, state: 'settled' | 'refunded' | 'expired'): void {
    const turn = turnOf(entry)
    const hold = this.#holds.get(turn)
    if (hold === undefined) {
      this.#broken('each hold has exactly one ending', `turn ${turn} was ended (${entry.kind}) without an open hold`)
      return
    }
    this.#holds.delete(turn)
    const used = entry.detail === null ? [] : detailOf<Share[]>(entry)
    for (const id of hold.buckets) this.#move(this.#bucket(id), -hold.plan, entry.plan + entry.debt, entry.debt, `bucket ${id}`)
    for (const [id, credits] of hold.packs) this.#move(this.#pack(id), -credits, 0, 0, `pack ${id}`)
    for (const [id, credits] of used) this.#move(this.#pack(id), 0, credits, 0, `pack ${id}`)
    const credits = entry.plan + entry.debt + used.reduce((sum, [, share]) => sum + share, 0)
    this.#checkTurn(turn, state, hold, credits, entry.debt)
  }

  #move(sums: Sums, reserved: number, settled: number, debt: number, what: string): void {
    sums.reserved += reserved
    sums.settled += settled
    sums.debt += debt
    if (sums.reserved < 0)
      this.#broken('no balance is below zero', `${what} has ${sums.reserved} reserved after entry ${this.#seq}`)
  }

  /** The log forgets old turns; those it has must agree with the entries. */
  #checkTurn(id: number, state: string, hold: Hold, credits: number, debt: number): void {
    const turn = this.#rows.turn(id)
    if (turn === undefined) {
      if (state === 'held') this.#broken('each hold has exactly one ending', `turn ${id} is held but not in the log`)
      return
    }
    this.#logged += 1
    const reserved = hold.plan + hold.packs.reduce((sum, [, share]) => sum + share, 0)
    const packs = hold.packs.length === 0 ? null : JSON.stringify(hold.packs)
    const is = [turn.account, turn.state, turn.reserved, turn.reserved_plan, turn.reserved_packs, turn.credits, turn.debt]
    const should = [this.account, state, reserved, hold.plan, packs, credits, debt]
    if (is.some((value, index) => value !== should[index])) {
      this.#broken('the turn log agrees with the entries', `turn ${id} is ${is.join(' ')}, by the entries ${should.join(' ')}`)
    }
  }

  #compare(what: string, identity: string, row: Sums, sums: (Sums & { readonly identity: string }) | undefined): void {
    if (sums === undefined) {
      this.#broken('every balance has entries', `${what} is in no entry`)
      return
    }
    if (identity !== sums.identity)
      this.#broken('a balance stays what it was made as', `${what} is ${identity}, was made as ${sums.identity}`)
    for (const part of ['granted', 'reserved', 'settled', 'debt'] as const) {
      if (row[part] !== sums[part])
        this.#broken('balances follow from the entries', `${what} has ${part} ${row[part]}, by the entries ${sums[part]}`)
    }
    if (row.granted - row.reserved - row.settled + row.debt < 0 || row.debt > row.settled) {
      this.#broken('granted = remaining + reserved + settled - debt', `${what} is overdrawn: ${JSON.stringify(row)}`)
    }
  }

  #bucket(id: number): Sums {
    const bucket = this.#buckets.get(id)
    if (bucket === undefined) throw new Error(`bucket ${id} was never opened`)
    return bucket
  }

  #pack(id: string): Sums {
    const pack = this.#packs.get(id)
    if (pack === undefined) throw new Error(`pack ${id} was never granted`)
    return pack
  }

  #broken(rule: string, detail: string): void {
    this.#report(rule, this.account, detail)
  }
}

function bucketsIn(purse: PurseTable): readonly BucketTable[] {
  return pools
    .flatMap((pool) =>
      windows.map((window) => ({
        account: purse.account,
        pool,
        window,
        id: purse[`${pool}_${window}_id`],
        starts_at: purse[`${pool}_${window}_starts_at`],
        ends_at: purse[`${pool}_${window}_ends_at`],
        granted: purse[`${pool}_${window}_granted`],
        reserved: purse[`${pool}_${window}_reserved`],
        settled: purse[`${pool}_${window}_settled`],
        debt: purse[`${pool}_${window}_debt`],
      })),
    )
    .filter((bucket) => bucket.id !== 0)
}

function detailOf<Shape>(entry: StoredEntry): Shape {
  if (entry.detail === null) throw new Error('it has no detail')
  return JSON.parse(entry.detail) as Shape
}

function turnOf(entry: StoredEntry): number {
  if (entry.turn === null) throw new Error('it names no turn')
  return entry.turn
}
