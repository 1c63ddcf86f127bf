/**
 * Registry of the accounts that have a balance: a hash chain with one entry per account, appended when the account's balance is
 * first written.
 */
import type { Statement } from 'better-sqlite3'
import { hashRegistryEntry } from '../../ledger/hash-chain.ts'
import type { Connection } from '../connection/connection.ts'

export class AccountRegistry {
  readonly #selectHead: Statement<unknown[], { number: number; hash: Uint8Array }>
  readonly #insert: Statement<unknown[]>
  readonly #updateHead: Statement<unknown[]>

  constructor(db: Connection) {
    this.#selectHead = db.prepare('select number, hash from ledger_account_head')
    this.#insert = db.prepare('insert into ledger_account (number, account, hash) values (?, ?, ?)')
    this.#updateHead = db.prepare('update ledger_account_head set number = ?, hash = ?')
  }

  add(account: string): void {
    const head = this.#selectHead.get()
    if (head === undefined) throw new Error('the account registry has no head')
    const number = head.number + 1
    const hash = hashRegistryEntry(head.hash, number, account)
    this.#insert.run(number, account, hash)
    this.#updateHead.run(number, hash)
  }
}
