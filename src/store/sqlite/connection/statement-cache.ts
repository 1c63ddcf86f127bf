/** Runs SQL text on a connection and caches prepared statements: the repositories have few statements and repeat them. */
import type { Statement } from 'better-sqlite3'
import type { Connection } from './connection.ts'
import type { RowsResult } from './writer-protocol.ts'

/** Statements with lists of different lengths are different texts, so the cache is bounded. */
const maxStatements = 500

export class StatementCache {
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
    const cachedStatement = this.#prepared.get(text)
    if (cachedStatement !== undefined) return cachedStatement
    const statement = this.#db.prepare<unknown[]>(text)
    if (this.#prepared.size >= maxStatements) this.#prepared.clear()
    this.#prepared.set(text, statement)
    return statement
  }
}

export type ReadQuery = (text: string, parameters: readonly unknown[]) => RowsResult

/** `onFault` receives each failed read; the writer reports its failures itself. */
export function createReadQuery(reader: Connection, onFault: (error: unknown) => void = () => {}): ReadQuery {
  const statements = new StatementCache(reader)
  return (text, parameters) => {
    try {
      return statements.run(text, parameters)
    } catch (error) {
      onFault(error)
      throw error
    }
  }
}
