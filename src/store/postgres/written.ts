/** What a batch has changed of its accounts, as the statements that write it. */
import type { Value } from './arrays.ts'
import { arrayOf } from './arrays.ts'
import type { Statement, TurnRows } from './ledger-sql.ts'
import * as sql from './ledger-sql.ts'
import type { AccountPage } from './page.ts'

type Rows = readonly (readonly Value[])[]

/** What every turn changes. */
export function turnRows(pages: readonly AccountPage[]): TurnRows {
  return {
    purses: pages.filter((page) => page.isChanged).map(purseRow),
    held: pages.flatMap(({ changes }) =>
      changes.held.map(({ id, owner, until, sealed, hash }) => [id, owner, until, ...sealed, hash]),
    ),
    ended: pages.flatMap(({ changes }) =>
      changes.ended.map(({ turn, reported, ended, link }) => [turn.id, turn.account, ...reported, ...ended, ...link]),
    ),
  }
}

/** And what few do: buckets of other periods, packs, a late word about a turn, entries of the log. */
export function rareStatements(pages: readonly AccountPage[]): readonly Statement[] {
  const all = (rows: (page: AccountPage) => Rows): Rows => pages.flatMap((page) => [...rows(page)])
  const statements: readonly (readonly [statement: (rows: Rows) => Statement, rows: Rows])[] = [
    [
      sql.takeOut,
      all(({ account, changes }) => [...changes.away].flatMap(([id, bucket]) => (bucket === null ? [[account, id]] : []))),
    ],
    [
      sql.putAway,
      all(({ account, changes }) =>
        [...changes.away.values()].flatMap((bucket) =>
          bucket === null ? [] : [[account, bucket.pool, bucket.window, ...bucket.figures]],
        ),
      ),
    ],
    [
      sql.insertPacks,
      all(({ changes }) =>
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
      sql.movePacks,
      all(({ changes }) =>
        [...changes.movedPacks]
          .filter(([, [reserved, settled]]) => reserved !== 0 || settled !== 0)
          .map(([id, moved]) => [id, ...moved]),
      ),
    ],
    [sql.noteTurns, all(({ changes }) => changes.noted.map(({ turn, noted }) => [turn.id, turn.account, ...noted]))],
    [
      sql.insertEntries,
      all(({ changes }) =>
        changes.entries.map(({ account, seq, kind, at, detail, hash }) => [account, seq, kind, at, detail, hash]),
      ),
    ],
  ]
  return statements.flatMap(([statement, rows]) => (rows.length === 0 ? [] : [statement(rows)]))
}

function purseRow({ account, row, written }: AccountPage): readonly Value[] {
  const { running, seq, hash, packs, cells } = written
  return [account, row.version, running, seq, hash, packs, arrayOf(cells)]
}
