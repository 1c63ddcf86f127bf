/**
 * Forgetting what is old, so that the file stops growing: an account's chain is cut off after its last old link, and a sealed checkpoint
 * of all balances takes the place of what stood before. Reckoned from a snapshot beside the writer, which then only deletes. A chain that
 * does not add up is not cut: what is wrong with it must stay to be seen.
 */
import { Books } from './books.ts'
import type { BucketTable, CheckpointTable, EntryTable, PackTable } from './schema.ts'
import type { EndedTurn } from './turn-columns.ts'

/** What cutting reads, all of one snapshot. */
export interface CutRows {
  /** The oldest by id, held ones too, but never the newest turn there is: the next id is counted from it. */
  oldestTurns(limit: number): Iterable<EndedTurn>
  /** Accounts that have entries older than this. */
  accountsWithEntries(before: number, limit: number): readonly string[]
  checkpoint(account: string): CheckpointTable | undefined
  /** By place in the chain. */
  entries(account: string): readonly EntryTable[]
  /** Those that have left the purse. */
  buckets(account: string): readonly BucketTable[]
  packs(account: string): readonly PackTable[]
}

/** What the writer does at once for one account. */
export interface Cut {
  readonly account: string
  /** Where the checkpoint stood until now, 0 where there was none. */
  readonly after: number
  readonly checkpoint: CheckpointTable
  readonly turns: readonly number[]
  /** Of periods and packs long over, and what they were settled for. */
  readonly buckets: readonly (readonly [id: number, settled: number])[]
  readonly packs: readonly (readonly [id: string, settled: number])[]
}

/** The writer serves nobody else meanwhile. */
const turnsAtOnce = 1000

/** Members see their last thirty days, also where turns are kept for fewer. */
const balancesKeptMs = 31 * 86_400_000

export function reckonCuts(rows: CutRows, before: number, limit: number): readonly Cut[] {
  const ended = new Map<string, EndedTurn[]>()
  for (const account of rows.accountsWithEntries(before, limit)) ended.set(account, [])
  for (const turn of rows.oldestTurns(limit)) {
    if (turn.ended_at === null || turn.ended_at >= before) continue
    const known = ended.get(turn.account)
    if (known === undefined) ended.set(turn.account, [turn])
    else known.push(turn)
  }
  return [...ended].flatMap(([account, turns]) => cutsOf(account, turns, rows, before))
}

function cutsOf(account: string, turns: EndedTurn[], rows: CutRows, before: number): readonly Cut[] {
  let inOrder = true
  const books = new Books(account, () => (inOrder = false))
  const last = rows.checkpoint(account)
  if (last !== undefined) books.resume(last)
  let after = books.seq
  const entries = rows.entries(account)
  turns.sort((one, other) => one.seq - other.seq)

  const cuts: Cut[] = []
  let gone: number[] = []
  const cut = (buckets: Cut['buckets'] = [], packs: Cut['packs'] = []): void => {
    cuts.push({ account, after, checkpoint: books.checkpoint(), turns: gone, buckets, packs })
    after = books.seq
    gone = []
  }
  // Link by link, as far as the next one is here and old. What is missing here is a turn that began later: the next time has it.
  for (let turn = 0, entry = 0; ;) {
    const nextTurn = turns[turn]
    const nextEntry = entries[entry]
    if (nextEntry !== undefined && nextEntry.seq === books.seq + 1 && nextEntry.at < before) {
      books.enter(nextEntry)
      entry += 1
    } else if (nextTurn !== undefined && nextTurn.seq === books.seq + 1) {
      books.end(nextTurn)
      gone.push(nextTurn.id)
      turn += 1
    } else break
    if (!inOrder) return []
    if (gone.length === turnsAtOnce) cut()
  }
  if (books.seq === after && cuts.length === 0) return []
  cut(...closedIn(books, rows, before - balancesKeptMs))
  return cuts
}

/** Takes out of the books what was over long ago and has not moved after the cut. */
function closedIn(books: Books, rows: CutRows, before: number): [buckets: Cut['buckets'], packs: Cut['packs']] {
  const buckets = rows.buckets(books.account).filter(({ id, ends_at: end, granted, reserved, settled, debt }) => {
    const sums = books.buckets.get(id)
    const same = sums?.granted === granted && sums.settled === settled && sums.debt === debt
    return same && end < before && reserved === 0
  })
  const packs = rows
    .packs(books.account)
    .filter((pack) => books.packs.get(pack.id)?.settled === pack.settled && pack.expires_at < before && pack.reserved === 0)
  for (const { id } of buckets) books.buckets.delete(id)
  for (const { id } of packs) books.packs.delete(id)
  return [buckets.map(({ id, settled }) => [id, settled] as const), packs.map(({ id, settled }) => [id, settled] as const)]
}
