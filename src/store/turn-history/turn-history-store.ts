/** The port of what operators see of turns, on both databases. */
import { sql } from 'kysely'
import type { TurnHistoryStore } from '../../domain/turn-history/turn-history-store.ts'
import type { TurnPart } from '../../domain/turn-history/turn-history.ts'
import type { Database } from '../database.ts'
import { parseAllocations, sumAllocations } from '../ledger/engine/allocation.ts'
import { toTurn } from '../repositories/billing/turns.ts'
import { pruneHistory, TurnCollector } from './collector/collector.ts'
import type { HistoryAnswer, HistoryQueries, HistoryQuery } from './queries/history-query.ts'
import { readHistoryProgress, runHistoryQuery } from './queries/history-query.ts'
import { isShortList } from './queries/list-turns.ts'

/** A read of an account that changed meanwhile is repeated. */
const maxStatementReads = 5
/** Sums of money of two days are few rows, which are read on the event loop. */
const shortSpanMs = 2 * 86_400_000

/** `runLong`: runs a query outside of the event loop; left out where the database is another program. */
export function createTurnHistoryStore(
  db: Database,
  runLong: (query: HistoryQuery) => Promise<HistoryAnswer> = (query) => runHistoryQuery(db, query),
): TurnHistoryStore {
  const collector = new TurnCollector(db)
  const run = <Kind extends keyof HistoryQueries>(
    what: Kind,
    query: HistoryQueries[Kind]['query'],
    isShort = false,
  ): Promise<HistoryQueries[Kind]['answer']> => {
    const request = { what, query } as HistoryQuery
    return (isShort ? runHistoryQuery(db, request) : runLong(request)) as Promise<HistoryQueries[Kind]['answer']>
  }
  return {
    collect: (order) => collector.collect(order),
    prune: (limit) => pruneHistory(db, limit),
    readProgress: () => readHistoryProgress(db.read, db.kind),
    listTurns: (filter, page) => run('turns', { filter, page }, isShortList({ filter, page })),
    async findTurn(id) {
      const row = await db.read.selectFrom('turn').selectAll().where('id', '=', id).executeTakeFirst()
      return row && { turn: toTurn(row), held: toParts(row.reserved, row.reserved_packs), settled: toSettledParts(row) }
    },
    async findOldestHold() {
      // Written out, because a parameter does not match the condition of the index.
      const { rows } = await sql<{ readonly id: number; readonly started_at: number }>`
        select id, started_at from turn where state = 'held' order by started_at, id limit 1`.execute(db.read)
      const [row] = rows
      return row && { id: row.id, startedAt: row.started_at }
    },
    listFailures: (query, limit) => run('failures', { ...query, limit }),
    hasAccounts: (query) => run('accounts', query),
    readMoney: (query) => run('money', query, query.to - query.from <= shortSpanMs),
    readUsage: (usage, steps) => run('usage', { usage, steps }),
    async readStatement(account, page) {
      for (let tries = 1; ; tries += 1) {
        const before = await db.readAccountBalance(account)
        const statement = await run('statement', { account, page })
        const isSame = db.kind === 'sqlite' || before?.seq === (await db.readAccountBalance(account))?.seq
        if (isSame && statement !== null) return statement
        if (tries === maxStatementReads) return null
      }
    },
  }
}

function toSettledParts(row: { readonly credits: number; readonly debt: number; readonly settled_packs: string | null }) {
  const parts = toParts(row.credits - row.debt, row.settled_packs)
  return row.debt === 0 ? parts : [...parts, { from: 'debt', credits: row.debt }]
}

/** What packs did not give came from the plan. */
function toParts(credits: number, packs: string | null): readonly TurnPart[] {
  const fromPacks = parseAllocations(packs)
  const fromPlan = credits - sumAllocations(fromPacks)
  return [
    ...(fromPlan > 0 ? [{ from: 'plan', credits: fromPlan }] : []),
    ...fromPacks.map(([from, share]) => ({ from, credits: share })),
  ]
}
