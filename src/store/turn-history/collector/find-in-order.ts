/** Finds new turns on SQLite: one writer gives ids in the order of its commits. */
import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import type { Schema } from '../../schema/schema.ts'
import type { CollectedTurn } from './ended-turn.ts'
import { selectCollected } from './ended-turn.ts'
import type { NewTurns } from './find-new-turns.ts'

export async function findInOrder(read: Kysely<Schema>, newestTurn: number, limit: number): Promise<NewTurns> {
  const { rows: endedTurns } = await readEndedPending(read, limit)
  const room = limit - endedTurns.length
  const { rows: turns } = await sql<CollectedTurn>`
    select ${selectCollected} from turn as t where t.id > ${newestTurn} order by t.id limit ${room}`.execute(read)
  return {
    turns: [...endedTurns.filter(({ account }) => account !== null), ...turns],
    wasPending: endedTurns.map(({ pending }) => pending),
    newestTurn: turns.at(-1)?.id ?? newestTurn,
    blocks: [],
    isMore: room === 0 || turns.length === room,
  }
}

/** Turns that were held when they were seen, and have ended since or are gone. */
export function readEndedPending(read: Kysely<Schema>, limit: number) {
  return sql<CollectedTurn & { readonly pending: number }>`
    select p.turn as pending, ${selectCollected} from turn_history_pending as p left join turn as t on t.id = p.turn
    where t.id is null or t.state <> 'held' limit ${limit}`.execute(read)
}
