/** The end of an account's chain, which its purse carries: an entry is added to it, or a turn that ends. */
import { entryHash, turnHash } from '../chain.ts'
import type { EntryKind } from '../schema.ts'
import type { EndingTurn, endedColumns, linkColumns, reportedColumns, ValuesOf } from '../turn-columns.ts'
import type { LedgerSql } from './ledger-sql.ts'
import type { KeptPurse } from './purse-rows.ts'
import type { Purses } from './purses.ts'

export class Links {
  readonly #sql: LedgerSql
  readonly #purses: Purses

  constructor(sql: LedgerSql, purses: Purses) {
    this.#sql = sql
    this.#purses = purses
  }

  enter(purse: KeptPurse, kind: EntryKind, at: number, detail: readonly (string | number)[]): void {
    const entry = { account: purse.account, seq: purse.seq + 1, kind, at, detail: JSON.stringify(detail) }
    this.#purses.mustWrite(purse)
    purse.hash = entryHash(purse.hash, entry)
    purse.seq = entry.seq
    this.#sql.insertEntry.run(entry.account, entry.seq, kind, at, entry.detail, purse.hash)
  }

  /** False, and nothing has changed, where the turn has ended already. */
  end(
    purse: KeptPurse,
    turn: EndingTurn,
    reported: ValuesOf<typeof reportedColumns>,
    ended: ValuesOf<typeof endedColumns>,
  ): boolean {
    const seq = purse.seq + 1
    const hash = turnHash(purse.hash, turn.hash, turn.id, seq, [...reported, ...ended])
    const link: ValuesOf<typeof linkColumns> = [seq, hash]
    if (this.#sql.endTurn.run(...reported, ...ended, ...link, turn.id).changes === 0) return false
    purse.seq = seq
    purse.hash = hash
    return true
  }
}
