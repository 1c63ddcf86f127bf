/** The ledger's statements in SQLite's words, each prepared once. */
import type { Statement } from 'better-sqlite3'
import type { EarlierTurn } from '../ledger/rows.ts'
import type { PackTable } from '../schema.ts'
import type { OpenPack } from '../shares.ts'
import type { EndingTurn } from '../turn-columns.ts'
import {
  endedColumns,
  endingColumns,
  leaseColumns,
  linkColumns,
  notedColumns,
  reportedColumns,
  sealedColumns,
} from '../turn-columns.ts'
import type { Connection } from './connection.ts'

export type LedgerSql = ReturnType<typeof prepareLedgerSql>

export function prepareLedgerSql(db: Connection) {
  const all = <Row>(text: string): Statement<unknown[], Row> => db.prepare<unknown[], Row>(text)
  return {
    byKey: all<EarlierTurn>(`
      select state, body_hash, request_id, code, credits from turn
      where account = ? and idempotency_key = ? and idempotency_key is not null and state in ('held', 'settled')`),

    putAway: all(`
      insert into bucket (account, pool, "window", id, starts_at, ends_at, granted, reserved, settled, debt)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    takeOut: all('delete from bucket where account = ? and id = ?'),
    lastBucket: all<number[]>(`
      select id, starts_at, ends_at, granted, reserved, settled, debt from bucket
      where account = ? and pool = ? and "window" = ? and starts_at <= ? order by starts_at desc limit 1`).raw(),
    bucket: all<number[]>(`
      select id, starts_at, ends_at, granted, reserved, settled, debt from bucket
      where account = ? and id = ?`).raw(),
    saveBucket: all('update bucket set reserved = ?, settled = ?, debt = ? where account = ? and id = ?'),

    openPacks: all<OpenPack>(`
      select id, granted - reserved - settled as left, reserved from pack
      where account = ? and pool = ? and expires_at > ? and settled < granted
      order by expires_at, id`),
    movePack: all('update pack set reserved = reserved + ?, settled = settled + ? where id = ?'),
    pack: all<PackTable>('select * from pack where id = ?'),
    insertPack: all(`
      insert into pack (id, account, kind, pool, granted, reserved, settled, expires_at, created_at)
      values (?, ?, ?, ?, ?, 0, 0, ?, ?)
      on conflict (id) do nothing`),

    turn: all<EndingTurn>(`select ${endingColumns.join(', ')} from turn where id = ?`),
    /** What only an ending has to say keeps room for it: nobody reads that of a turn that is held. */
    insertTurn: all(`
      insert into turn (${[...leaseColumns, ...sealedColumns].join(', ')}, hash, window_debts,
        state, credits, debt, input_tokens, output_tokens, estimated)
      values (${placesFor([...leaseColumns, ...sealedColumns])}, ?, ?, 'held', 0, 0, 0, 0, 0)`),
    endTurn: all(`
      update turn set ${[...reportedColumns, ...endedColumns, ...linkColumns].map((name) => `${name} = ?`).join(', ')}
      where id = ? and state = 'held'`),
    noteTurn: all(`update turn set ${notedColumns.map((name) => `${name} = ?`).join(', ')} where id = ?`),
    overdue: all<{ id: number }>(`select id from turn where state = 'held' and until <= ? and owner = ?`),
    heldByNobody: all<{ id: number }>(`select id from turn where state = 'held' and owner not in (select id from process)`),
    heldBy: all<{ id: number }>(`select id from turn where state = 'held' and owner = ?`),
    running: all<{ account: string }>(`select account from turn where state = 'held'`),
    holds: all<{ held: number }>(`select count(*) as held from turn where state = 'held'`),

    insertEntry: all('insert into entry (account, seq, kind, at, detail, hash) values (?, ?, ?, ?, ?, ?)'),

    cutAt: all<{ seq: number }>('select seq from checkpoint where account = ?'),
    putCheckpoint: all(`
      insert into checkpoint (account, seq, hash, balances, seal) values (?, ?, ?, ?, ?)
      on conflict (account) do update set seq = excluded.seq, hash = excluded.hash, balances = excluded.balances, seal = excluded.seal`),
    forgetTurn: all(`delete from turn where id = ? and state <> 'held'`),
    forgetEntries: all('delete from entry where account = ? and seq <= ?'),
    /** A turn that packs alone hold draws on the period as well, if it costs more. */
    forgetBucket: all(`
      delete from bucket where account = ? and id = ? and reserved = 0 and settled = ?
      and not exists (select 1 from turn where state = 'held' and account = bucket.account and bucket.id in (day_bucket, week_bucket, month_bucket))`),
    forgetPack: all('delete from pack where account = ? and id = ? and reserved = 0 and settled = ?'),
  }
}

function placesFor(columns: readonly string[]): string {
  return columns.map(() => '?').join(', ')
}
