/**
 * Adds ended turns to lists and sums. It reads first and then writes in one transaction, which begins by moving the version that it has read:
 * of two collectors one fails there, and after a kill either everything of a batch is written or nothing.
 */
import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import type { CollectedTurns, CollectOrder } from '../../../domain/turn-history/turn-history-store.ts'
import type { Database } from '../../database.ts'
import type { Schema } from '../../schema/schema.ts'
import type { TurnGroupTable } from '../../schema/history-schema.ts'
import type { CollectedTurn, EndedTurn } from './ended-turn.ts'
import { toEnding } from './ended-turn.ts'
import { BlockFinder } from './find-in-blocks.ts'
import { findInOrder } from './find-in-order.ts'
import type { NewTurns } from './find-new-turns.ts'
import { addMoney, moneyColumns, sumMoney } from './money-sums.ts'
import type { JsonRow } from '../json-rows.ts'
import { insertRows, pickValue, selectRows } from '../json-rows.ts'
import type { SumKey, SumRow } from './turn-sums.ts'
import { sumColumns, sumKeyColumns, TurnSums } from './turn-sums.ts'

const blockColumns = {
  first_turn: 'whole',
  end_turn: 'whole',
  newest_turn: 'whole',
  owner: 'whole',
  changed_at: 'whole',
  is_closed: 'whole',
} as const
const groupColumns = { id: 'whole', product: 'text', target: 'text', ending: 'text', plan: 'text' } as const
const searchColumns = {
  id: 'whole',
  account: 'text',
  seq: 'whole',
  started_at: 'whole',
  group_id: 'whole',
  credential: 'text',
  request_id: 'text',
} as const

/** The plan of groups of sums of all accounts. */
const anyPlan = ''

interface Additions {
  readonly ended: readonly EndedTurn[]
  readonly sums: TurnSums
  readonly money: readonly JsonRow[]
}

export class TurnCollector {
  readonly #db: Database
  readonly #blocks = new BlockFinder()
  readonly #groups = new Map<string, number>()
  /** The version at which all groups were known. */
  #groupsVersion = -1

  constructor(db: Database) {
    this.#db = db
  }

  async collect({ at, keptFrom: requestedFrom, slots, limit }: CollectOrder): Promise<CollectedTurns> {
    const { read, kind } = this.#db
    const state = await read.selectFrom('turn_history').selectAll().executeTakeFirstOrThrow()
    const keptFrom = Math.max(state.kept_from, requestedFrom)
    const newTurns =
      kind === 'sqlite' ? await findInOrder(read, state.newest_turn, limit) : await this.#blocks.find(read, at, limit)
    const { isMore } = newTurns
    const isIdle = newTurns.turns.length + newTurns.wasPending.length + newTurns.blocks.length === 0
    if (isIdle && state.complete_at !== null && keptFrom === state.kept_from) return { added: 0, isMore }

    const endedTurns = await addPlans(
      read,
      newTurns.turns.filter(({ state: now, started_at: startedAt }) => now !== 'held' && startedAt >= keptFrom),
    )
    if (this.#groupsVersion !== state.version) await this.#loadGroups()
    const newGroups = this.#addGroups(endedTurns)
    const sums = new TurnSums()
    for (const turn of endedTurns)
      sums.add(turn, { group: this.#getGroup(turn), ofAllPlans: this.#getGroup({ ...turn, plan: anyPlan }) }, slots)
    const keys = sums.listKeys()
    sums.addStored(keys.length === 0 ? [] : await this.#readSums(keys))
    const money = sumMoney(endedTurns)
    // Groups that are not written yet are in the map: after a failure it is read anew.
    this.#groupsVersion = -1
    const isWritten = await this.#db.transact(async (transaction) => {
      const { numUpdatedRows } = await transaction
        .updateTable('turn_history')
        .set({
          version: state.version + 1,
          newest_turn: newTurns.newestTurn,
          kept_from: keptFrom,
          complete_at: isMore ? state.complete_at : at,
        })
        .where('version', '=', state.version)
        .executeTakeFirst()
      if (numUpdatedRows === 0n) return false
      await this.#write(transaction, newTurns, newGroups, { ended: endedTurns, sums, money })
      return true
    })
    if (isWritten) this.#groupsVersion = state.version + 1
    return { added: isWritten ? endedTurns.length : 0, isMore: isMore && isWritten }
  }

  async #write(
    transaction: Kysely<Schema>,
    { turns, wasPending, blocks }: NewTurns,
    newGroups: readonly TurnGroupTable[],
    { ended, sums, money }: Additions,
  ): Promise<void> {
    const { kind } = this.#db
    const add = async (table: string, columns: Parameters<typeof insertRows>[2], rows: readonly JsonRow[], after = sql``) => {
      if (rows.length > 0) await insertRows(kind, table, columns, rows, after).execute(transaction)
    }
    if (wasPending.length > 0)
      await sql`delete from turn_history_pending where turn in (
        select ${pickValue(kind, 0, 'whole')} from ${selectRows(
          kind,
          wasPending.map((turn) => [turn]),
        )})`.execute(transaction)
    const heldTurns = turns.filter(({ state }) => state === 'held')
    await add(
      'turn_history_pending',
      { turn: 'whole' },
      heldTurns.map(({ id }) => [id]),
    )
    await add(
      'turn_history_block',
      blockColumns,
      blocks.map((block) => Object.keys(blockColumns).map((name) => block[name as keyof typeof blockColumns])),
      sql`on conflict (first_turn) do update set newest_turn = excluded.newest_turn, owner = excluded.owner,
        changed_at = excluded.changed_at, is_closed = excluded.is_closed`,
    )
    await add(
      'turn_group',
      groupColumns,
      newGroups.map(({ id, product, target, ending, plan }) => [id, product, target, ending, plan]),
    )
    await add(
      'turn_search',
      searchColumns,
      ended.map((turn) => [
        turn.id,
        turn.account,
        turn.seq,
        turn.started_at,
        this.#getGroup(turn),
        turn.credential,
        turn.request_id,
      ]),
    )
    await add('turn_sum', sumColumns, sums.toRows(), replaceSum)
    await add('turn_money', moneyColumns, money, addMoney)
  }

  #readSums(keys: readonly SumKey[]): Promise<readonly SumRow[]> {
    const { kind, read } = this.#db
    const isSame = Object.entries(sumKeyColumns).map(
      ([name, type], position) => sql`s.${sql.ref(name)} = ${pickValue(kind, position, type)}`,
    )
    // A cross join, because SQLite keeps its order: each row is found by its key.
    return sql<SumRow>`select s.* from ${selectRows(kind, keys)} cross join turn_sum as s where ${sql.join(isSame, sql` and `)}`
      .execute(read)
      .then(({ rows }) => rows)
  }

  async #loadGroups(): Promise<void> {
    this.#groups.clear()
    for (const group of await this.#db.read.selectFrom('turn_group').selectAll().execute())
      this.#groups.set(toGroupName(group), group.id)
  }

  /** Gives ids to new groups. */
  #addGroups(turns: readonly EndedTurn[]): readonly TurnGroupTable[] {
    const addedGroups: TurnGroupTable[] = []
    for (const turn of turns.flatMap((each) => [each, { ...each, plan: anyPlan }])) {
      const group = toGroup(turn)
      const name = toGroupName(group)
      if (this.#groups.has(name)) continue
      const id = Math.max(0, ...this.#groups.values()) + 1
      this.#groups.set(name, id)
      addedGroups.push({ id, ...group })
    }
    return addedGroups
  }

  #getGroup(turn: EndedTurn): number {
    const id = this.#groups.get(toGroupName(toGroup(turn)))
    if (id === undefined) throw new Error(`turn ${turn.id} is in no group`)
    return id
  }
}

type Group = Omit<TurnGroupTable, 'id'>

function toGroup(turn: EndedTurn): Group {
  return { product: turn.model, target: turn.target ?? '', ending: toEnding(turn), plan: turn.plan }
}

function toGroupName({ product, target, ending, plan }: Group): string {
  return JSON.stringify([product, target, ending, plan])
}

/** Turns that recorded no plan, because they are of release 0.1 or their process died, have the present one of their account. */
async function addPlans(db: Kysely<Schema>, turns: readonly CollectedTurn[]): Promise<readonly EndedTurn[]> {
  const accounts = [...new Set(turns.filter(({ plan }) => plan === null).map(({ account }) => account))]
  const rows =
    accounts.length === 0 ? [] : await db.selectFrom('account').select(['id', 'plan']).where('id', 'in', accounts).execute()
  const plans = new Map(rows.map(({ id, plan }) => [id, plan]))
  return turns.map((turn) => ({ ...turn, plan: turn.plan ?? plans.get(turn.account) ?? '' }))
}

const replaceSum = sql`on conflict (${sql.join(Object.keys(sumKeyColumns).map((name) => sql.ref(name)))}) do update set ${sql.join(
  Object.keys(sumColumns)
    .filter((name) => !(name in sumKeyColumns))
    .map((name) => sql`${sql.ref(name)} = excluded.${sql.ref(name)}`),
)}`

/** Deletes the oldest turns that started before `kept_from`, with the sums of their hours and days. Returns the number of turns. */
export async function pruneHistory(db: Database, limit: number): Promise<number> {
  const { read, kind } = db
  const state = await read.selectFrom('turn_history').selectAll().executeTakeFirstOrThrow()
  const old = await read
    .selectFrom('turn_search')
    .select(['id', 'account'])
    .where('started_at', '<', state.kept_from)
    .orderBy('started_at')
    .orderBy('id')
    .limit(limit)
    .execute()
  if (old.length === 0) return 0
  const accounts = ['', ...new Set(old.map(({ account }) => account))].map((account) => [account])
  return db.transact(async (transaction) => {
    const { numUpdatedRows } = await transaction
      .updateTable('turn_history')
      .set({ version: state.version + 1 })
      .where('version', '=', state.version)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return 0
    await sql`delete from turn_sum where account in (select ${pickValue(kind, 0, 'text')} from ${selectRows(kind, accounts)})
      and span in ('hour', 'day') and starts_at < ${state.kept_from}`.execute(transaction)
    await transaction.deleteFrom('turn_money').where('starts_at', '<', state.kept_from).execute()
    await sql`delete from turn_search where id in (select ${pickValue(kind, 0, 'whole')} from ${selectRows(
      kind,
      old.map(({ id }) => [id]),
    )})`.execute(transaction)
    return old.length
  })
}
