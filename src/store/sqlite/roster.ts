/** The accounts that have books, written down once, when an account's purse is. */
import type { Statement } from 'better-sqlite3'
import { rosterHash } from '../chain.ts'
import type { Connection } from './connection.ts'

export class Roster {
  readonly #end: Statement<unknown[], { number: number; hash: Uint8Array }>
  readonly #add: Statement<unknown[]>
  readonly #moveEnd: Statement<unknown[]>

  constructor(db: Connection) {
    this.#end = db.prepare('select number, hash from roster_end')
    this.#add = db.prepare('insert into roster (number, account, hash) values (?, ?, ?)')
    this.#moveEnd = db.prepare('update roster_end set number = ?, hash = ?')
  }

  add(account: string): void {
    const end = this.#end.get()
    if (end === undefined) throw new Error('the roster has no end')
    const number = end.number + 1
    const hash = rosterHash(end.hash, number, account)
    this.#add.run(number, account, hash)
    this.#moveEnd.run(number, hash)
  }
}
