/** What proves the ledger, and what reckons what of it is to be forgotten, from one moment of a PostgreSQL database. */
import type { Verification } from '../../membership/ledger.ts'
import type { Cut } from '../cuts.ts'
import { reckonCuts } from '../cuts.ts'
import type { BucketTable, CheckpointTable, EntryTable, PackTable, PurseTable, RosterEndTable, RosterTable } from '../schema.ts'
import type { EndedTurn } from '../turn-columns.ts'
import { provenColumns } from '../turn-columns.ts'
import { verifyLedger } from '../verify.ts'
import type { Ask } from './snapshot.ts'
import { paged } from './snapshot.ts'

const proven = provenColumns.join(', ')

export function verifyIn(ask: Ask): Verification {
  const [count] = ask<{ accounts: number }>('select count(*) as accounts from account')
  const verification = verifyLedger({
    ...accountRows(ask),
    accountCount: () => count?.accounts ?? 0,
    roster: () => paged<RosterTable>(ask, (after) => `select number, account, hash from roster where ${after}`, ['number'], [0]),
    rosterEnd: () => ask<RosterEndTable>('select number, hash from roster_end')[0],
    accounts: () =>
      ask<{ account: string; on_roster: number }>(`
        select account, max(on_roster) as on_roster from (
          select account, 1 as on_roster from roster
          union all select account, 0 from purse union all select account, 0 from checkpoint union all select distinct account, 0 from entry
          union all select distinct account, 0 from bucket union all select distinct account, 0 from pack) as named
        group by account order by account`).map(({ account, on_roster: onRoster }) => ({ account, onRoster: onRoster === 1 })),
    turns: () =>
      paged<EndedTurn>(ask, (after) => `select ${proven} from turn where ${after}`, ['account', 'seq', 'id'], ['', 0, 0]),
    // A purse is written with each batch, so there is no mark from which on it may be behind.
    mark: () => ({
      turn: Number.MAX_SAFE_INTEGER,
      holds: new Set(),
      newest: Number.MAX_SAFE_INTEGER,
      turnsAfter: 0,
      newestTurn: Number.MAX_SAFE_INTEGER,
    }),
    purse: (account) => {
      const [row] = ask<Omit<PurseTable, 'last_turn'>>('select * from purse where account = $1', [account])
      return row === undefined ? undefined : ({ ...row, last_turn: Number.MAX_SAFE_INTEGER } as PurseTable)
    },
  })
  // Beside its chain a purse counts its open holds: on that stands how many turns run at once.
  const miscounted = ask<{ account: string; running: number; held: number }>(`
    select * from (
      select account, running, (select count(*) from turn where turn.account = purse.account and state = 'held') as held from purse) as counted
    where running <> held order by account limit 1000`).map(({ account, running, held }) => ({
    rule: 'a purse counts its open holds',
    account,
    detail: `it counts ${running}, held are ${held}`,
  }))
  const mismatches = [...verification.mismatches, ...miscounted]
  return { ...verification, ok: mismatches.length === 0, mismatches }
}

export function cutsIn(ask: Ask, before: number, most: number): readonly Cut[] {
  return reckonCuts(
    {
      ...accountRows(ask),
      oldestTurns: (limit) =>
        ask<EndedTurn>(`select ${proven} from turn where id < (select max(id) from turn) order by id limit $1`, [limit]),
      accountsWithEntries: (instant, limit) =>
        ask<{ account: string }>(
          'select distinct account from (select account from entry where at < $1 order by at limit $2) as old',
          [instant, limit],
        ).map(({ account }) => account),
    },
    before,
    most,
  )
}

/** What both ask of one account. */
function accountRows(ask: Ask) {
  return {
    checkpoint: (account: string) => ask<CheckpointTable>('select * from checkpoint where account = $1', [account])[0],
    entries: (account: string) => ask<EntryTable>('select * from entry where account = $1 order by seq', [account]),
    buckets: (account: string) => ask<BucketTable>('select * from bucket where account = $1', [account]),
    packs: (account: string) => ask<PackTable>('select * from pack where account = $1', [account]),
  }
}
