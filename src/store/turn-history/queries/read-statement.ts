/**
 * A member's statement, newest first: each link of the account's chain with the balance after it. The balances of now are known, so what later
 * links changed is taken back from them. The ledger's own rows are read, because the lists begin with a whole day, and lag.
 */
import type { Kysely, Selectable } from 'kysely'
import { windows } from '../../../domain/billing/catalog/plan.ts'
import type { Pool } from '../../../domain/billing/catalog/product.ts'
import type { StatementLine, StatementPage } from '../../../domain/turn-history/turn-history.ts'
import { parseJson } from '../../../system/parse-json.ts'
import type { AccountBalance } from '../../ledger/account-balance.ts'
import { toBucketRows } from '../../ledger/account-balance.ts'
import { getBucketIds } from '../../ledger/balance-replay.ts'
import type { Allocation } from '../../ledger/engine/allocation.ts'
import { parseAllocations, sumAllocations } from '../../ledger/engine/allocation.ts'
import { selectTurnsByChain, selectTurnsByIndex } from '../../repositories/billing/turns.ts'
import type { BucketTable, EntryTable, PackTable, Schema, TurnTable } from '../../schema/schema.ts'
import type { Database } from '../../database.ts'
import { toEnding } from '../collector/ended-turn.ts'

export interface StatementQuery {
  readonly account: string
  readonly page: { readonly before?: number; readonly limit: number }
}

/** Turns between now and a page, whose changes are taken back. */
const maxTurnsToPage = 100_000
/** Turns that ended before others which began earlier: at first this many are expected. */
const turnsBegunBefore = 50

/** What a link changed. */
interface Effect {
  /** Charged to these buckets alike. */
  readonly buckets: readonly number[]
  readonly charged: number
  readonly debts: readonly number[]
  readonly packs: readonly Allocation[]
}

interface Link extends Omit<StatementLine, 'ending' | 'planLeft' | 'packsLeft'> {
  readonly ending: string | null
  readonly effect: Effect | null
}

const turnColumns = [
  'turn.id',
  'turn.seq',
  'turn.pool',
  'turn.model',
  'turn.state',
  'turn.code',
  'turn.ended_at',
  'turn.started_at',
  'turn.credits',
  'turn.day_bucket',
  'turn.week_bucket',
  'turn.month_bucket',
  'turn.window_debts',
  'turn.settled_packs',
] as const

type TurnRow = Pick<
  Selectable<TurnTable>,
  (typeof turnColumns)[number] extends `turn.${infer Name}` ? Extract<Name, keyof TurnTable> : never
>

/** `balance`: of the same snapshot as `read`, or known to be unchanged at the end; null if it was not. */
export async function readHistoryStatement(
  read: Kysely<Schema>,
  kind: Database['kind'],
  balance: AccountBalance | undefined,
  { page }: StatementQuery,
): Promise<StatementPage | null> {
  if (balance === undefined) return { lines: [], next: null }
  const { limit } = page
  // A cursor may be of another account, or beyond the newest link.
  const before = Math.min(page.before ?? Infinity, balance.seq + 1)
  const state = await readBalances(read, balance)
  const lowest = Math.max(state.firstSeq, before - limit)
  if (lowest >= before) return { lines: [], next: null }
  const entries = state.entries.filter(({ seq }) => seq >= lowest)
  const turns = await readNewestTurns(read, kind, balance, { lowest, count: balance.seq - lowest + 1 - entries.length })
  if (turns === null) return null
  const links = [...turns.map(toTurnLink), ...entries.map((entry) => toEntryLink(entry, state.pools))].toSorted(
    (one, other) => other.seq - one.seq,
  )
  const lines: StatementLine[] = []
  for (const link of links) {
    const { effect, ...shown } = link
    if (link.seq < before) lines.push({ ...shown, ...state.getLeft(link) })
    state.takeBack(effect)
  }
  return { lines, next: lowest > state.firstSeq ? lowest : null }
}

/** As many turns as end an account's chain from `lowest` on; null if some of them have ended since the balance was read. */
async function readNewestTurns(
  read: Kysely<Schema>,
  kind: Database['kind'],
  { account, seq: head }: AccountBalance,
  { lowest, count }: { readonly lowest: number; readonly count: number },
): Promise<readonly TurnRow[] | null> {
  const select = kind === 'sqlite' ? selectTurnsByChain : selectTurnsByIndex
  // Turns are found in the order in which they began, and a chain has them as they ended.
  for (let limit = count + turnsBegunBefore; ; limit *= 4) {
    const rows = await select(read, account).select(turnColumns).limit(Math.min(limit, maxTurnsToPage)).execute()
    const turns = rows.filter(({ seq, state }) => state !== 'held' && seq >= lowest && seq <= head)
    if (turns.length === count) return turns
    if (rows.length < limit || limit >= maxTurnsToPage) return null
  }
}

function toTurnLink(row: TurnRow): Link {
  const packs = parseAllocations(row.settled_packs)
  return {
    seq: row.seq,
    at: row.ended_at ?? row.started_at,
    kind: 'turn',
    pool: row.pool,
    // Not -0, which JSON and comparisons treat unlike 0.
    credits: 0 - row.credits,
    turn: row.id,
    pack: null,
    reason: null,
    product: row.model,
    ending: toEnding(row),
    effect:
      row.credits === 0
        ? null
        : {
            buckets: getBucketIds(row),
            charged: row.credits - sumAllocations(packs),
            debts: row.window_debts === null ? [] : (parseJson(row.window_debts) as readonly number[]),
            packs,
          },
  }
}

/** `pools`: of each bucket, by its id. */
function toEntryLink({ seq, at, kind, detail }: EntryTable, pools: ReadonlyMap<number, Pool>): Link {
  const link = { seq, at, kind, turn: null, reason: null, product: null, ending: null, pack: null, credits: 0, effect: null }
  switch (kind) {
    case 'open': {
      const [, pool] = parseJson(detail) as readonly [number, Pool]
      return { ...link, pool }
    }
    case 'limit': {
      const [bucket] = parseJson(detail) as readonly [number, number]
      return { ...link, pool: pools.get(bucket) ?? 'fast' }
    }
    case 'grant': {
      const [pack, , pool, credits] = parseJson(detail) as readonly [string, string, Pool, number]
      return { ...link, pool, pack, credits }
    }
    case 'adjust': {
      type Adjusted = readonly [string, string, Pool, number, number, string, number?, number[]?, number[]?, Allocation[]?]
      const [id, , pool, credits, , reason, charged = 0, buckets = [], debts = [], packs = []] = parseJson(detail) as Adjusted
      const [firstPack] = packs
      return {
        ...link,
        pool,
        pack: credits > 0 ? id : (firstPack?.[0] ?? null),
        reason,
        credits: credits > 0 ? credits : 0 - charged - sumAllocations(packs),
        effect: { buckets, charged, debts, packs },
      }
    }
  }
}

async function readBalances(read: Kysely<Schema>, balance: AccountBalance): Promise<StatementState> {
  const { account } = balance
  const entries = await read.selectFrom('entry').selectAll().where('account', '=', account).orderBy('seq').execute()
  const archivedBuckets = await read.selectFrom('bucket').selectAll().where('account', '=', account).execute()
  const packs = await read.selectFrom('pack').selectAll().where('account', '=', account).execute()
  const checkpoint = await read.selectFrom('checkpoint').select('seq').where('account', '=', account).executeTakeFirst()
  return new StatementState([...toBucketRows(balance), ...archivedBuckets], packs, entries, (checkpoint?.seq ?? 0) + 1)
}

class StatementState {
  readonly entries: readonly EntryTable[]
  /** The first link that was not pruned. */
  readonly firstSeq: number
  readonly pools: ReadonlyMap<number, Pool>
  readonly #buckets: readonly BucketTable[]
  readonly #bucketById: ReadonlyMap<number, { settled: number; debt: number }>
  readonly #packs: readonly (PackTable & { readonly seq: number })[]
  readonly #settledByPack: Map<string, number>
  /** What each bucket was granted from which link on, oldest first. */
  readonly #grants = new Map<number, (readonly [seq: number, granted: number])[]>()

  constructor(buckets: readonly BucketTable[], packs: readonly PackTable[], entries: readonly EntryTable[], firstSeq: number) {
    this.entries = entries
    this.firstSeq = firstSeq
    this.#buckets = buckets.toSorted((one, other) => other.id - one.id)
    this.#bucketById = new Map(buckets.map(({ id, settled, debt }) => [id, { settled, debt }]))
    this.pools = new Map(buckets.map(({ id, pool }) => [id, pool]))
    const packSeqs = new Map<string, number>()
    for (const { seq, kind, detail } of entries) {
      if (kind === 'grant' || kind === 'adjust') packSeqs.set((parseJson(detail) as readonly [string])[0], seq)
      if (kind !== 'open' && kind !== 'limit') continue
      const values = parseJson(detail) as readonly number[]
      const [id = 0, granted = 0] = kind === 'open' ? [values[0], values[5]] : values
      const grants = this.#grants.get(id) ?? []
      grants.push([seq, granted])
      this.#grants.set(id, grants)
    }
    this.#packs = packs.map((pack) => ({ ...pack, seq: packSeqs.get(pack.id) ?? 0 }))
    this.#settledByPack = new Map(packs.map(({ id, settled }) => [id, settled]))
  }

  takeBack(effect: Effect | null): void {
    if (effect === null) return
    for (const [index, id] of effect.buckets.entries()) {
      const bucket = this.#bucketById.get(id)
      if (bucket === undefined) continue
      bucket.settled -= effect.charged
      bucket.debt -= effect.debts[index] ?? 0
    }
    for (const [pack, share] of effect.packs) this.#settledByPack.set(pack, (this.#settledByPack.get(pack) ?? 0) - share)
  }

  /** What is left after this link, as far as later ones are taken back. A bucket's id is the link that opened it. */
  getLeft({ seq, at, pool }: Link): { readonly planLeft: number; readonly packsLeft: number } {
    const remainingByWindow = windows.flatMap((window) => {
      const bucket = this.#buckets.find((each) => each.pool === pool && each.window === window && each.id <= seq)
      if (bucket === undefined) return []
      const granted = this.#grants.get(bucket.id)?.findLast(([from]) => from <= seq)?.[1] ?? bucket.granted
      const bucketUse = this.#bucketById.get(bucket.id)
      const isOver = at >= bucket.ends_at
      return [isOver || bucketUse === undefined ? granted : granted - bucketUse.settled + bucketUse.debt]
    })
    const packsLeft = this.#packs
      .filter((pack) => pack.pool === pool && pack.seq <= seq && pack.expires_at > at)
      .reduce((sum, { id, granted }) => sum + granted - (this.#settledByPack.get(id) ?? 0), 0)
    return { planLeft: remainingByWindow.length === 0 ? 0 : Math.max(0, Math.min(...remainingByWindow)), packsLeft }
  }
}
