/**
 * Finds new turns on PostgreSQL. Each node takes ids in blocks, so a turn may become visible after others with higher ids, and within a block
 * a node may use an id late: one of a refused hold is given to a later one. Each block has a position of its own, and blocks that can still
 * change are searched for late turns too.
 */
import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import type { TurnHistoryBlockTable } from '../../schema/history-schema.ts'
import type { Schema } from '../../schema/schema.ts'
import type { CollectedTurn } from './ended-turn.ts'
import { selectCollected } from './ended-turn.ts'
import type { NewTurns } from './find-new-turns.ts'
import { readEndedPending } from './find-in-order.ts'

const blockSize = 4096
/** Blocks that stay open whatever their owner does: a node that took one and has not committed a turn of it yet is not known. */
const newestBlocks = 64
const closeAfterMs = 3_600_000
const sweepAfterMs = 30_000
const maxSweepAfterMs = 600_000
const sweepsPerSearch = 4

type OpenBlock = TurnHistoryBlockTable & { readonly isKept: boolean }

export class BlockFinder {
  /** When each block was searched for late turns. */
  readonly #sweptAt = new Map<number, number>()

  async find(read: Kysely<Schema>, at: number, limit: number): Promise<NewTurns> {
    const { rows: endedTurns } = await readEndedPending(read, limit)
    const changedBlocks = new Map<number, TurnHistoryBlockTable>()
    const newBlocks = await findNewBlocks(read, at)
    for (const block of newBlocks) changedBlocks.set(block.first_turn, block)
    const open = await readOpenBlocks(read, at)
    const room = limit - endedTurns.length
    const later = room === 0 ? [] : await readLaterTurns(read, room)
    for (const [first, turns] of Map.groupBy(later, ({ block }) => block)) {
      const block = open.find(({ first_turn: firstTurn }) => firstTurn === first)
      const newestTurn = turns.reduce((max, turn) => (turn.id > max.id ? turn : max))
      if (block !== undefined)
        changedBlocks.set(first, { ...toRow(block), newest_turn: newestTurn.id, owner: newestTurn.owner_process, changed_at: at })
    }
    const lateTurns: CollectedTurn[] = []
    const sweeps = later.length === room ? [] : this.#chooseSweeps(open, at)
    for (const block of sweeps) {
      // The rest is found by the next search, because the block stays due.
      const remainingRoom = room - later.length - lateTurns.length
      if (remainingRoom <= 0) break
      const turnsOfBlock = await readLateTurns(read, block, remainingRoom)
      lateTurns.push(...turnsOfBlock)
      if (turnsOfBlock.length < remainingRoom) this.#sweptAt.set(block.first_turn, at)
      if (turnsOfBlock.length > 0)
        changedBlocks.set(block.first_turn, { ...(changedBlocks.get(block.first_turn) ?? toRow(block)), changed_at: at })
      else if (!block.isKept && !changedBlocks.has(block.first_turn)) {
        changedBlocks.set(block.first_turn, { ...toRow(block), is_closed: 1 })
        this.#sweptAt.delete(block.first_turn)
      }
    }
    return {
      turns: [...endedTurns.filter(({ account }) => account !== null), ...later, ...lateTurns],
      wasPending: endedTurns.map(({ pending }) => pending),
      newestTurn: 0,
      blocks: [...changedBlocks.values()],
      isMore: newBlocks.length > 0 || room === 0 || later.length + lateTurns.length === room,
    }
  }

  /** The longer nothing has changed, the rarer. */
  #chooseSweeps(open: readonly OpenBlock[], at: number): readonly OpenBlock[] {
    return open
      .filter((block) => {
        const pauseMs = Math.min(maxSweepAfterMs, Math.max(sweepAfterMs, (at - block.changed_at) / 2))
        return at - (this.#sweptAt.get(block.first_turn) ?? 0) >= pauseMs
      })
      .slice(0, sweepsPerSearch)
  }
}

/** Blocks that were taken since, which the sequence shows. */
async function findNewBlocks(read: Kysely<Schema>, at: number): Promise<readonly TurnHistoryBlockTable[]> {
  const { rows } = await sql<{ readonly known: number | null; readonly taken: number; readonly oldest: number | null }>`
    select (select max(end_turn) from turn_history_block) as known,
      (select case when is_called then last_value + ${blockSize}::bigint else last_value end from turn_block) as taken,
      (select min(id) from turn) as oldest`.execute(read)
  const { known = null, taken = 1, oldest = null } = rows[0] ?? {}
  const from = known ?? Math.max(1, (oldest ?? taken) - newestBlocks * blockSize)
  const blocks: TurnHistoryBlockTable[] = []
  for (let end = taken; end > from; end -= blockSize) {
    const first = known === null ? Math.max(1, end - blockSize) : Math.max(from, end - blockSize)
    blocks.push({ first_turn: first, end_turn: end, newest_turn: first - 1, owner: 0, changed_at: at, is_closed: 0 })
  }
  return blocks.toReversed()
}

async function readOpenBlocks(read: Kysely<Schema>, at: number): Promise<readonly OpenBlock[]> {
  const { rows } = await sql<TurnHistoryBlockTable & { readonly is_newest: boolean; readonly is_last: boolean }>`
    select block.*,
      first_turn > (select max(first_turn) from turn_history_block) - ${newestBlocks * blockSize}::bigint as is_newest,
      exists (select from process where process.id = block.owner and alive_until >= clock_timestamp())
        and not exists (select from turn_history_block as later where later.owner = block.owner and later.first_turn > block.first_turn)
        as is_last
    from turn_history_block as block where is_closed = 0 order by first_turn`.execute(read)
  return rows.map(({ is_newest: isNewest, is_last: isLast, ...block }) => ({
    ...block,
    isKept: isNewest || isLast || at - block.changed_at < closeAfterMs,
  }))
}

function readLaterTurns(read: Kysely<Schema>, limit: number) {
  return sql<CollectedTurn & { readonly block: number }>`
    select b.first_turn as block, t.* from (select * from turn_history_block where is_closed = 0 order by first_turn) as b
    cross join lateral (
      select ${selectCollected} from turn as t where t.id > b.newest_turn and t.id < b.end_turn order by t.id limit ${limit}
    ) as t limit ${limit}`
    .execute(read)
    .then(({ rows }) => rows)
}

function readLateTurns(read: Kysely<Schema>, block: TurnHistoryBlockTable, limit: number) {
  return sql<CollectedTurn>`
    select ${selectCollected} from turn as t
    where t.id >= ${block.first_turn} and t.id <= ${block.newest_turn}
      and not exists (select from turn_search as s where s.id = t.id)
      and not exists (select from turn_history_pending as p where p.turn = t.id)
      and t.started_at >= (select kept_from from turn_history)
    order by t.id limit ${limit}`
    .execute(read)
    .then(({ rows }) => rows)
}

function toRow({
  first_turn,
  end_turn,
  newest_turn,
  owner,
  changed_at,
  is_closed,
}: TurnHistoryBlockTable): TurnHistoryBlockTable {
  return { first_turn, end_turn, newest_turn, owner, changed_at, is_closed }
}
