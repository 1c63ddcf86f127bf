/** Appends links to an account's hash chain, whose end is kept in the balance: entries, and turns as they end. */
import { currentHashVersion, hashEnding, hashEntry } from '../hash-chain.ts'
import type { EntryKind } from '../../schema/schema.ts'
import type { AccountBalance } from '../account-balance.ts'
import type { SettlementTurn, TurnEnding } from '../turn-columns.ts'
import type { Allocation } from './allocation.ts'
import type { LedgerStorage } from './ledger-storage.ts'

/** Its shape depends on the entry's kind; `balance-replay.ts` reads it. */
type EntryDetail = readonly (string | number | readonly number[] | readonly Allocation[])[]

export class ChainWriter {
  readonly #storage: LedgerStorage

  constructor(storage: LedgerStorage) {
    this.#storage = storage
  }

  append(balance: AccountBalance, kind: EntryKind, at: number, detail: EntryDetail): void {
    const entry = { account: balance.account, seq: balance.seq + 1, kind, at, detail: JSON.stringify(detail) }
    balance.requireWrite()
    balance.hash = hashEntry(balance.hash, entry)
    balance.seq = entry.seq
    this.#storage.insertEntry({ ...entry, hash: balance.hash })
  }

  /** Returns false without a change if the turn has already ended. */
  endTurn(balance: AccountBalance, turn: SettlementTurn, ending: TurnEnding): boolean {
    const seq = balance.seq + 1
    const hash = hashEnding(balance.hash, turn.hash, turn.id, seq, ending)
    if (!this.#storage.endTurn(turn, ending, { seq, hash_version: currentHashVersion, hash })) return false
    balance.seq = seq
    balance.hash = hash
    return true
  }
}
