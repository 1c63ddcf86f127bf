/** Reckons from one database file, on one snapshot, what of its ledger is to be forgotten. */
import type { Cut } from '../cuts.ts'
import { reckonCuts } from '../cuts.ts'
import type { BucketTable, CheckpointTable, EntryTable, PackTable } from '../schema.ts'
import type { EndedTurn } from '../turn-columns.ts'
import type { GoOn } from '../task.ts'
import { whileWanted } from '../task.ts'
import { provenColumns } from '../turn-columns.ts'
import { defaultBusyTimeoutMs, openForReading } from './connection.ts'

/** @throws where it cannot be read, and what `goOn` throws */
export function cutsInFile(file: string, before: number, limit: number, goOn: GoOn = () => undefined): readonly Cut[] {
  goOn()
  const db = openForReading(file, defaultBusyTimeoutMs)
  try {
    db.exec('begin')
    const oldest = db.prepare<[number], EndedTurn>(`
      select ${provenColumns.join(', ')} from turn where id < (select max(id) from turn) order by id limit ?`)
    const accounts = db.prepare<[number, number], { account: string }>(`
      select distinct account from (select account from entry where at < ? order by at limit ?)`)
    const checkpoint = db.prepare<[string], CheckpointTable>('select * from checkpoint where account = ?')
    const entries = db.prepare<[string], EntryTable>('select * from entry where account = ? order by seq')
    const buckets = db.prepare<[string], BucketTable>('select * from bucket where account = ?')
    const packs = db.prepare<[string], PackTable>('select * from pack where account = ?')
    return reckonCuts(
      {
        oldestTurns: (count) => whileWanted(oldest.iterate(count), goOn),
        accountsWithEntries: (instant, count) => accounts.all(instant, count).map(({ account }) => account),
        checkpoint: (account) => {
          goOn()
          return checkpoint.get(account)
        },
        entries: (account) => entries.all(account),
        buckets: (account) => buckets.all(account),
        packs: (account) => packs.all(account),
      },
      before,
      limit,
    )
  } finally {
    db.close()
  }
}
