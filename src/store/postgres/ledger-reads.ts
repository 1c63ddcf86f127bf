/** What the ledger is asked without changing anything. */
import type { Ledger } from '../../membership/ledger.ts'
import { balanceIn } from '../balance.ts'
import type { Database } from '../database.ts'
import { turnsByIndex, turnsIn } from '../turns.ts'

export function ledgerReads(database: Database): Pick<Ledger, 'balance' | 'turns'> {
  return {
    balance: (query) => balanceIn(database, query),
    turns: (query) => turnsIn(database.read, query, turnsByIndex),
  }
}
