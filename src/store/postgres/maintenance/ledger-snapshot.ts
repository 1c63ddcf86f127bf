/** Verification and pruning plan of the ledger, from one snapshot of a PostgreSQL database. */
import type { Verification } from '../../../domain/billing/ledger.ts'
import type { PruningStep } from '../../ledger/pruning.ts'
import { planPruning } from '../../ledger/pruning.ts'
import { createLedgerReads } from '../../ledger/snapshot-reads.ts'
import type { SnapshotQuery } from '../../ledger/snapshot-reads.ts'
import type { BalanceTable, LedgerAccountTable } from '../../schema/schema.ts'
import type { VerifiedTurn } from '../../ledger/turn-columns.ts'
import { verifiedColumns } from '../../ledger/turn-columns.ts'
import { verifyLedger } from '../../ledger/verify-ledger.ts'
import { readPages } from './snapshot.ts'

const verifiedColumnList = verifiedColumns.join(', ')

export function verifySnapshot(runQuery: SnapshotQuery): Verification {
  const verification = verifyLedger({
    ...createLedgerReads(runQuery, '$1'),
    registry: () =>
      readPages<LedgerAccountTable>(
        runQuery,
        (after) => `select number, account, hash from ledger_account where ${after}`,
        ['number'],
        [0],
      ),
    turns: () =>
      readPages<VerifiedTurn>(
        runQuery,
        (after) => `select ${verifiedColumnList} from turn where ${after}`,
        ['account', 'seq', 'id'],
        ['', 0, 0],
      ),
    // Balances are written with each batch, so no watermark is needed.
    watermark: () => ({
      turn: Number.MAX_SAFE_INTEGER,
      holds: new Set(),
      newest: Number.MAX_SAFE_INTEGER,
      turnsAfter: 0,
      newestTurn: Number.MAX_SAFE_INTEGER,
    }),
    balance: (account) => {
      const [row] = runQuery<Omit<BalanceTable, 'last_turn'>>('select * from balance where account = $1', [account])
      return row === undefined ? undefined : ({ ...row, last_turn: Number.MAX_SAFE_INTEGER } as BalanceTable)
    },
  })
  // Each balance row also counts the account's open holds, which the concurrency limit is based on.
  const holdMismatches = runQuery<{ account: string; running: number; held: number }>(`
    select * from (
      select account, open_holds as running, (select count(*) from turn where turn.account = balance.account and state = 'held') as held from balance) as counted
    where running <> held order by account limit 1000`).map(({ account, running, held }) => ({
    rule: 'a balance counts its open holds',
    account,
    detail: `it counts ${running}, but ${held} are held`,
  }))
  const mismatches = [...verification.mismatches, ...holdMismatches]
  return { ...verification, ok: mismatches.length === 0, mismatches }
}

export function planSnapshotPruning(runQuery: SnapshotQuery, before: number, maxTurns: number): readonly PruningStep[] {
  return planPruning(
    {
      ...createLedgerReads(runQuery, '$1'),
      oldestTurns: (limit) =>
        runQuery<VerifiedTurn>(
          `select ${verifiedColumnList} from turn where id < (select max(id) from turn) order by id limit $1`,
          [limit],
        ),
      accountsWithEntries: (instant, limit) =>
        runQuery<{ account: string }>(
          'select distinct account from (select account from entry where at < $1 order by at limit $2) as old',
          [instant, limit],
        ).map(({ account }) => account),
    },
    before,
    maxTurns,
  )
}
