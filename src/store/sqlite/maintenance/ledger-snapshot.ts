/** Verification and pruning plan of the ledger, from one snapshot of a database file, while other processes write. */
import type { Verification } from '../../../domain/billing/ledger.ts'
import { planPruning } from '../../ledger/pruning.ts'
import type { PruningStep } from '../../ledger/pruning.ts'
import { createLedgerReads } from '../../ledger/snapshot-reads.ts'
import type { SnapshotQuery } from '../../ledger/snapshot-reads.ts'
import type { VerifiedTurn } from '../../ledger/turn-columns.ts'
import { verifiedColumns } from '../../ledger/turn-columns.ts'
import type { BalanceWatermark } from '../../ledger/verify-ledger.ts'
import { verifyLedger } from '../../ledger/verify-ledger.ts'
import type { BalanceTable, LedgerAccountTable } from '../../schema/schema.ts'
import type { ThrowIfCancelled } from '../../worker-task.ts'
import { cancellable } from '../../worker-task.ts'
import type { Connection } from '../connection/connection.ts'
import { defaultBusyTimeoutMs, openForReading } from '../connection/connection.ts'
import { StatementCache } from '../connection/statement-cache.ts'

const verifiedColumnList = verifiedColumns.join(', ')
const neverCancelled: ThrowIfCancelled = () => undefined

/** @throws if the file cannot be read, or what `throwIfCancelled` throws */
export function verifyDatabaseFile(file: string, throwIfCancelled = neverCancelled): Verification {
  return withFileSnapshot(file, throwIfCancelled, (db, runQuery) =>
    verifyLedger({
      ...createLedgerReads(runQuery, '?'),
      registry: () =>
        db.prepare<[], LedgerAccountTable>('select number, account, hash from ledger_account order by number').iterate(),
      turns: () => {
        const turns = db.prepare<[], VerifiedTurn>(`select ${verifiedColumnList} from turn order by account, seq`)
        return cancellable(turns.iterate(), throwIfCancelled)
      },
      watermark: () => {
        const [row] = runQuery<Omit<BalanceWatermark, 'holds'>>(`
          select turn, newest_turn as newest, (select count(*) from turn where turn.id > mark.turn) as turnsAfter,
            (select coalesce(max(id), 0) from turn) as newestTurn
          from balance_watermark as mark`)
        if (row === undefined) throw new Error('the balance watermark is missing')
        const holds = runQuery<{ turn: number }>('select turn from balance_watermark_hold')
        return { ...row, holds: new Set(holds.map(({ turn }) => turn)) }
      },
      balance: (account) => runQuery<BalanceTable>('select * from balance where account = ?', [account])[0],
    }),
  )
}

/** @throws if the file cannot be read, or what `throwIfCancelled` throws */
export function planFilePruning(
  file: string,
  before: number,
  maxTurns: number,
  throwIfCancelled = neverCancelled,
): readonly PruningStep[] {
  return withFileSnapshot(file, throwIfCancelled, (db, runQuery) => {
    const snapshot = {
      ...createLedgerReads(runQuery, '?'),
      oldestTurns: (limit: number) => {
        const turns = db.prepare<[number], VerifiedTurn>(
          `select ${verifiedColumnList} from turn where id < (select max(id) from turn) order by id limit ?`,
        )
        return cancellable(turns.iterate(limit), throwIfCancelled)
      },
      accountsWithEntries: (instant: number, limit: number) =>
        runQuery<{ account: string }>(
          'select distinct account from (select account from entry where at < ? order by at limit ?)',
          [instant, limit],
        ).map(({ account }) => account),
    }
    return planPruning(snapshot, before, maxTurns)
  })
}

function withFileSnapshot<Result>(
  file: string,
  throwIfCancelled: ThrowIfCancelled,
  work: (db: Connection, runQuery: SnapshotQuery) => Result,
): Result {
  throwIfCancelled()
  const db = openForReading(file, defaultBusyTimeoutMs)
  try {
    db.exec('begin')
    const statements = new StatementCache(db)
    return work(db, <Row>(text: string, values: readonly unknown[] = []) => {
      throwIfCancelled()
      return statements.run(text, values)[1] as readonly Row[]
    })
  } finally {
    db.close()
  }
}
