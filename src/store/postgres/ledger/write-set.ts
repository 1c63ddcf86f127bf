/** Converts the changes of a batch to the statements that write them. */
import { toPoolLevelDetail } from '../../ledger/engine/ledger-storage.ts'
import {
  annotationColumns,
  chainColumns,
  holdColumns,
  outcomeColumns,
  pickValues,
  reportedColumns,
} from '../../ledger/turn-columns.ts'
import type { SqlValue } from './array-literal.ts'
import { toArrayLiteral } from './array-literal.ts'
import type { Statement, TurnRows } from './ledger-sql.ts'
import * as sql from './ledger-sql.ts'
import type { AccountState } from './unit-of-work.ts'

type StatementRows = readonly (readonly SqlValue[])[]

/** Changes that every turn makes. */
export function toTurnRows(states: readonly AccountState[]): TurnRows {
  return {
    balances: states.filter((state) => state.isChanged).map(toBalanceRow),
    held: states.flatMap(({ changes }) =>
      changes.newHolds.map(({ id, owner, leaseUntil, hold, hash }) => [
        id,
        owner,
        leaseUntil,
        ...pickValues(holdColumns, hold),
        hash,
      ]),
    ),
    ended: states.flatMap(({ changes }) =>
      changes.endedTurns.map(({ turn, ending, chain }) => [
        turn.id,
        turn.account,
        ...pickValues(reportedColumns, ending),
        ...pickValues(outcomeColumns, ending),
        ...pickValues(chainColumns, chain),
      ]),
    ),
  }
}

/** Rare changes: buckets of past periods, packs, annotations, log entries, events. */
export function toColdStatements(states: readonly AccountState[]): readonly Statement[] {
  const collectRows = (rows: (state: AccountState) => StatementRows): StatementRows => states.flatMap((state) => [...rows(state)])
  const statements: readonly (readonly [statement: (rows: StatementRows) => Statement, rows: StatementRows])[] = [
    [
      sql.deleteBuckets,
      collectRows(({ account, changes }) =>
        [...changes.archived].flatMap(([id, bucket]) => (bucket === null ? [[account, id]] : [])),
      ),
    ],
    [
      sql.archiveBuckets,
      collectRows(({ account, changes }) =>
        [...changes.archived.values()].flatMap((bucket) =>
          bucket === null ? [] : [[account, bucket.pool, bucket.window, ...bucket.values]],
        ),
      ),
    ],
    [
      sql.insertPacks,
      collectRows(({ changes }) =>
        changes.newPacks.map((pack) => [
          pack.id,
          pack.account,
          pack.kind,
          pack.pool,
          pack.granted,
          pack.expires_at,
          pack.created_at,
        ]),
      ),
    ],
    [
      sql.applyPackDeltas,
      collectRows(({ changes }) =>
        [...changes.packDeltas]
          .filter(([, [reserved, settled]]) => reserved !== 0 || settled !== 0)
          .map(([id, delta]) => [id, ...delta]),
      ),
    ],
    [
      sql.annotateTurns,
      collectRows(({ changes }) =>
        changes.annotations.map(({ turn, annotation }) => [turn.id, turn.account, ...pickValues(annotationColumns, annotation)]),
      ),
    ],
    [
      sql.insertEntries,
      collectRows(({ changes }) =>
        changes.entries.map(({ account, seq, kind, at, detail, hash }) => [account, seq, kind, at, detail, hash]),
      ),
    ],
    [
      sql.insertPoolLevels,
      collectRows(({ changes }) => changes.poolLevels.map((level) => [level.account, toPoolLevelDetail(level), level.at])),
    ],
  ]
  return statements.flatMap(([statement, rows]) => (rows.length === 0 ? [] : [statement(rows)]))
}

function toBalanceRow({ account, row, nextRow }: AccountState): readonly SqlValue[] {
  const { running, seq, hash, packs, cells } = nextRow
  return [account, row.version, running, seq, hash, packs, toArrayLiteral(cells)]
}
