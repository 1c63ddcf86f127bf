/** The reads of verification and pruning whose SQL is the same on both databases. All of them are of one snapshot. */
import type { BucketTable, CheckpointTable, EntryTable, LedgerAccountHeadTable, PackTable } from '../schema/schema.ts'

/** Returns the rows of a statement. @throws the database's error */
export type SnapshotQuery = <Row>(text: string, values?: readonly unknown[]) => readonly Row[]

export interface AccountReads {
  checkpoint(account: string): CheckpointTable | undefined
  /** By chain position. */
  entries(account: string): readonly EntryTable[]
  /** Archived buckets. */
  buckets(account: string): readonly BucketTable[]
  packs(account: string): readonly PackTable[]
}

export interface LedgerReads extends AccountReads {
  /** All accounts, whether the ledger has opened them or not. */
  countAccounts(): number
  registryHead(): LedgerAccountHeadTable | undefined
  /** Every account in any table of the ledger except the turn log, in the order of ids. */
  accounts(): readonly { readonly account: string; readonly isRegistered: boolean }[]
}

/** @param parameter how the database writes the first parameter of a statement */
export function createLedgerReads(runQuery: SnapshotQuery, parameter: '?' | '$1'): LedgerReads {
  const ofAccount = `where account = ${parameter}`
  return {
    checkpoint: (account) => runQuery<CheckpointTable>(`select * from checkpoint ${ofAccount}`, [account])[0],
    entries: (account) => runQuery<EntryTable>(`select * from entry ${ofAccount} order by seq`, [account]),
    buckets: (account) => runQuery<BucketTable>(`select * from bucket ${ofAccount}`, [account]),
    packs: (account) => runQuery<PackTable>(`select * from pack ${ofAccount}`, [account]),
    countAccounts: () => runQuery<{ count: number }>('select count(*) as count from account')[0]?.count ?? 0,
    registryHead: () => runQuery<LedgerAccountHeadTable>('select number, hash from ledger_account_head')[0],
    accounts: () =>
      runQuery<{ account: string; is_registered: number }>(`
        select account, max(is_registered) as is_registered from (
          select account, 1 as is_registered from ledger_account
          union all select account, 0 from balance union all select account, 0 from checkpoint union all select distinct account, 0 from entry
          union all select distinct account, 0 from bucket union all select distinct account, 0 from pack) as named
        group by account order by account`).map(({ account, is_registered: isRegistered }) => ({
        account,
        isRegistered: isRegistered === 1,
      })),
  }
}
