/** Verifies the ledger of one database file, on one snapshot, while others go on writing. */
import type { Verification } from '../../membership/ledger.ts'
import type { BucketTable, CheckpointTable, EntryTable, PackTable, PurseTable, RosterEndTable, RosterTable } from '../schema.ts'
import type { EndedTurn } from '../turn-columns.ts'
import type { GoOn } from '../task.ts'
import { whileWanted } from '../task.ts'
import { provenColumns } from '../turn-columns.ts'
import type { PurseMark } from '../verify.ts'
import { verifyLedger } from '../verify.ts'
import { defaultBusyTimeoutMs, openForReading } from './connection.ts'

/** @throws where it cannot be read, and what `goOn` throws */
export function verifyFile(file: string, goOn: GoOn = () => undefined): Verification {
  goOn()
  const db = openForReading(file, defaultBusyTimeoutMs)
  try {
    db.exec('begin')
    const accountCount = db.prepare<[], { count: number }>('select count(*) as count from account')
    const roster = db.prepare<[], RosterTable>('select number, account, hash from roster order by number')
    const rosterEnd = db.prepare<[], RosterEndTable>('select number, hash from roster_end')
    const accounts = db.prepare<[], { account: string; on_roster: number }>(`
      select account, max(on_roster) as on_roster from (
        select account, 1 as on_roster from roster
        union all select account, 0 from written_purse union all select account, 0 from checkpoint union all select distinct account, 0 from entry
        union all select distinct account, 0 from bucket union all select distinct account, 0 from pack)
      group by account order by account`)
    const turns = db.prepare<[], EndedTurn>(`select ${provenColumns.join(', ')} from turn order by account, seq`)
    const checkpoint = db.prepare<[string], CheckpointTable>('select * from checkpoint where account = ?')
    const entries = db.prepare<[string], EntryTable>('select * from entry where account = ? order by seq')
    const mark = db.prepare<[], Omit<PurseMark, 'holds'>>(`
      select turn, newest, (select count(*) from turn where turn.id > mark.turn) as turnsAfter,
        (select coalesce(max(id), 0) from turn) as newestTurn
      from purse_mark as mark`)
    const markHolds = db.prepare<[], number>('select turn from purse_mark_hold').pluck()
    const purse = db.prepare<[string], PurseTable>('select * from written_purse where account = ?')
    const buckets = db.prepare<[string], BucketTable>('select * from bucket where account = ?')
    const packs = db.prepare<[string], PackTable>('select * from pack where account = ?')
    return verifyLedger({
      accountCount: () => accountCount.get()?.count ?? 0,
      roster: () => roster.iterate(),
      rosterEnd: () => rosterEnd.get(),
      accounts: () => accounts.all().map(({ account, on_roster: onRoster }) => ({ account, onRoster: onRoster === 1 })),
      turns: () => whileWanted(turns.iterate(), goOn),
      checkpoint: (account) => {
        goOn()
        return checkpoint.get(account)
      },
      entries: (account) => entries.all(account),
      mark: () => {
        const there = mark.get()
        if (there === undefined) throw new Error('the mark of the purses is gone')
        return { ...there, holds: new Set(markHolds.all()) }
      },
      purse: (account) => purse.get(account),
      buckets: (account) => buckets.all(account),
      packs: (account) => packs.all(account),
    })
  } finally {
    db.close()
  }
}
