/** Verifies the ledger of one database file, on one snapshot, while others go on writing. */
import type { Verification } from '../../membership/ledger.ts'
import type { BucketTable, PackTable, PurseTable } from '../schema.ts'
import { type LedgerRows, type StoredEntry, type StoredTurn, verifyLedger } from '../verify.ts'
import { defaultBusyTimeoutMs, openForReading } from './connection.ts'

export function verifyFile(file: string): Verification {
  const db = openForReading(file, defaultBusyTimeoutMs)
  try {
    db.exec('begin')
    const entries = db.prepare<[], StoredEntry>(
      'select account, seq, kind, at, turn, plan, debt, detail, hash from entry order by account, seq',
    )
    const purse = db.prepare<[string], PurseTable>('select * from purse where account = ?')
    const buckets = db.prepare<[string], BucketTable>('select * from bucket where account = ?')
    const packs = db.prepare<[string], PackTable>('select * from pack where account = ?')
    const turn = db.prepare<[number], StoredTurn>(
      'select account, pool, state, reserved, reserved_plan, reserved_packs, credits, debt from turn where id = ?',
    )
    const counts = db.prepare<[], ReturnType<LedgerRows['counts']>>(`
      select (select count(*) from account) as accounts, (select count(*) from turn) as turns,
        (select count(*) from turn where state = 'held') as held,
        (select count(*) from purse) as purses, (select count(*) from bucket) as buckets, (select count(*) from pack) as packs`)
    return verifyLedger({
      entries: () => entries.iterate(),
      purse: (account) => purse.get(account),
      buckets: (account) => buckets.all(account),
      packs: (account) => packs.all(account),
      turn: (id) => turn.get(id),
      counts: () => {
        const row = counts.get()
        if (row === undefined) throw new Error('the database gave no counts')
        return row
      },
    })
  } finally {
    db.close()
  }
}
