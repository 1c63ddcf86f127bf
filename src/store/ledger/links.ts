/** The end of an account's chain, which its purse carries: an entry is added to it, or a turn that ends. */
import { entryHash, turnHash } from '../chain.ts'
import type { EntryKind } from '../schema.ts'
import type { Purse } from '../purse.ts'
import type { EndedValues, EndingTurn, LinkValues, ReportedValues } from '../turn-columns.ts'
import type { LedgerRows } from './rows.ts'

export class Links {
  readonly #rows: LedgerRows

  constructor(rows: LedgerRows) {
    this.#rows = rows
  }

  enter(purse: Purse, kind: EntryKind, at: number, detail: readonly (string | number)[]): void {
    const entry = { account: purse.account, seq: purse.seq + 1, kind, at, detail: JSON.stringify(detail) }
    purse.mustBeWritten()
    purse.hash = entryHash(purse.hash, entry)
    purse.seq = entry.seq
    this.#rows.addEntry({ ...entry, hash: purse.hash })
  }

  /** False, and nothing has changed, where the turn has ended already. */
  end(purse: Purse, turn: EndingTurn, reported: ReportedValues, ended: EndedValues): boolean {
    const seq = purse.seq + 1
    const hash = turnHash(purse.hash, turn.hash, turn.id, seq, [...reported, ...ended])
    const link: LinkValues = [seq, hash]
    if (!this.#rows.end(turn, reported, ended, link)) return false
    purse.seq = seq
    purse.hash = hash
    return true
  }
}
