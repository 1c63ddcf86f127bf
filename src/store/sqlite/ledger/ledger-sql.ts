/** The ledger's prepared statements for SQLite. */
import { purchasedPackPrefix } from '../../../domain/billing/orders/order.ts'
import type { Statement } from 'better-sqlite3'
import type { IdempotentTurn } from '../../ledger/engine/ledger-storage.ts'
import type { PackTable } from '../../schema/schema.ts'
import type { OpenPack } from '../../ledger/engine/allocation.ts'
import type { SettlementTurn } from '../../ledger/turn-columns.ts'
import {
  outcomeColumns,
  settlementColumns,
  leaseColumns,
  chainColumns,
  annotationColumns,
  reportedColumns,
  holdColumns,
} from '../../ledger/turn-columns.ts'
import type { Connection } from '../connection/connection.ts'

export type LedgerSql = ReturnType<typeof prepareLedgerSql>

export function prepareLedgerSql(db: Connection) {
  const prepare = <Row>(text: string): Statement<unknown[], Row> => db.prepare<unknown[], Row>(text)
  return {
    turnByIdempotencyKey: prepare<IdempotentTurn>(`
      select state, body_hash, request_id, code, credits from turn
      where account = ? and idempotency_key = ? and idempotency_key is not null and state in ('held', 'settled')`),

    archiveBucket: prepare(`
      insert into bucket (account, pool, "window", id, starts_at, ends_at, granted, reserved, settled, debt)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    deleteArchivedBucket: prepare('delete from bucket where account = ? and id = ?'),
    latestArchivedBucket: prepare<number[]>(`
      select id, starts_at, ends_at, granted, reserved, settled, debt from bucket
      where account = ? and pool = ? and "window" = ? and starts_at <= ? order by starts_at desc limit 1`).raw(),
    archivedBucket: prepare<number[]>(`
      select id, starts_at, ends_at, granted, reserved, settled, debt from bucket
      where account = ? and id = ?`).raw(),
    updateArchivedBucket: prepare('update bucket set reserved = ?, settled = ?, debt = ? where account = ? and id = ?'),

    openPacks: prepare<OpenPack>(`
      select id, granted - reserved - settled as left, reserved from pack
      where account = ? and pool = ? and expires_at > ? and settled < granted
        and (id < '${purchasedPackPrefix}' or id > '${purchasedPackPrefix}~'
          or (select spends_packs from account where account.id = pack.account) = 1)
      order by expires_at, id`),
    applyPackDelta: prepare('update pack set reserved = reserved + ?, settled = settled + ? where id = ?'),
    pack: prepare<PackTable>('select * from pack where id = ?'),
    insertPack: prepare(`
      insert into pack (id, account, kind, pool, granted, reserved, settled, expires_at, created_at)
      values (?, ?, ?, ?, ?, 0, 0, ?, ?)
      on conflict (id) do nothing`),

    turn: prepare<SettlementTurn>(`select ${settlementColumns.join(', ')} from turn where id = ?`),
    insertTurn: prepare(`
      insert into turn (${[...leaseColumns, ...holdColumns].join(', ')}, hash,
        state, credits, debt, input_tokens, cached_input_tokens, output_tokens, estimated)
      values (${toPlaceholders([...leaseColumns, ...holdColumns])}, ?, 'held', 0, 0, 0, 0, 0, 0)`),
    endTurn: prepare(`
      update turn set ${[...reportedColumns, ...outcomeColumns, ...chainColumns].map((name) => `${name} = ?`).join(', ')}
      where id = ? and state = 'held'`),
    annotateTurn: prepare(`update turn set ${annotationColumns.map((name) => `${name} = ?`).join(', ')} where id = ?`),
    overdueHolds: prepare<{ id: number }>(`select id from turn where state = 'held' and lease_until <= ? and owner_process = ?`),
    orphanedHolds: prepare<{ id: number }>(
      `select id from turn where state = 'held' and owner_process not in (select id from process)`,
    ),
    holdsOfOwner: prepare<{ id: number }>(`select id from turn where state = 'held' and owner_process = ?`),
    accountsOfOpenHolds: prepare<{ account: string }>(`select account from turn where state = 'held'`),
    openHoldCount: prepare<{ held: number }>(`select count(*) as held from turn where state = 'held'`),

    insertEntry: prepare('insert into entry (account, seq, kind, at, detail, hash) values (?, ?, ?, ?, ?, ?)'),

    insertPoolLevel: prepare(`
      insert into notification_event (message_id, kind, phase, account, detail, at, is_dispatched)
      select lower(hex(randomblob(16))), 'pool_level', 'once', ?, ?, ?, 0
      where exists (select 1 from notification_receiver where wants_member_events = 1)`),

    checkpointSeq: prepare<{ seq: number }>('select seq from checkpoint where account = ?'),
    upsertCheckpoint: prepare(`
      insert into checkpoint (account, seq, hash, balances, seal) values (?, ?, ?, ?, ?)
      on conflict (account) do update set seq = excluded.seq, hash = excluded.hash, balances = excluded.balances, seal = excluded.seal`),
    pruneTurn: prepare(`delete from turn where id = ? and state <> 'held'`),
    pruneEntries: prepare('delete from entry where account = ? and seq <= ?'),
    /** A turn held by packs only also draws on the period's buckets if it costs more than its packs. */
    pruneBucket: prepare(`
      delete from bucket where account = ? and id = ? and reserved = 0 and settled = ?
      and not exists (select 1 from turn where state = 'held' and account = bucket.account and bucket.id in (day_bucket, week_bucket, month_bucket))`),
    pruneUsageSums: prepare('delete from usage_sum where account = ? and starts_at < ?'),
    prunePack: prepare('delete from pack where account = ? and id = ? and reserved = 0 and settled = ?'),
  }
}

function toPlaceholders(columns: readonly string[]): string {
  return columns.map(() => '?').join(', ')
}
