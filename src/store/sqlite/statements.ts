/** Runs any SQL text on a connection, keeping what has been prepared: the repositories' statements are few and repeat. */
import type { Statement } from 'better-sqlite3'
import type { Connection } from './connection.ts'
import type { RowsResult } from './protocol.ts'

/** Statements with lists of different lengths are different texts; this many are kept. */
const kept = 500

export class Statements {
  readonly #db: Connection
  readonly #prepared = new Map<string, Statement<unknown[]>>()

  constructor(db: Connection) {
    this.#db = db
  }

  run(text: string, parameters: readonly unknown[]): RowsResult {
    const statement = this.#prepare(text)
    if (statement.reader) return ['rows', statement.all(...parameters), 0, 0]
    const { changes, lastInsertRowid } = statement.run(...parameters)
    return ['rows', [], changes, lastInsertRowid]
  }

  #prepare(text: string): Statement<unknown[]> {
    const known = this.#prepared.get(text)
    if (known !== undefined) return known
    const statement = this.#db.prepare<unknown[]>(text)
    if (this.#prepared.size >= kept) this.#prepared.clear()
    this.#prepared.set(text, statement)
    return statement
  }
}
