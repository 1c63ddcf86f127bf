/**
 * Kysely's drivers for both databases. The read driver runs single statements, each on its own snapshot; the write driver also
 * has transactions.
 */
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely'

export class ReadDriver implements Driver {
  readonly #connection: DatabaseConnection

  constructor(runQuery: <R>(query: CompiledQuery) => Promise<QueryResult<R>>) {
    this.#connection = { executeQuery: runQuery, streamQuery: throwNoStreaming }
  }

  async init(): Promise<void> {}
  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection
  }
  async beginTransaction(): Promise<void> {
    throw new Error('the read driver has no transactions')
  }
  async commitTransaction(): Promise<void> {}
  async rollbackTransaction(): Promise<void> {}
  async releaseConnection(): Promise<void> {}
  async destroy(): Promise<void> {}
}

/** Each statement runs by itself, or between `begin` and `end` in one transaction. */
export interface WriteConnection extends DatabaseConnection {
  begin(): Promise<void>
  end(outcome: 'commit' | 'rollback'): Promise<void>
  /** Called after the last statement, whatever the outcome. */
  release(): void
}

export class WriteDriver implements Driver {
  readonly #connect: () => WriteConnection

  constructor(connect: () => WriteConnection) {
    this.#connect = connect
  }

  async init(): Promise<void> {}
  async acquireConnection(): Promise<WriteConnection> {
    return this.#connect()
  }
  async beginTransaction(connection: WriteConnection): Promise<void> {
    await connection.begin()
  }
  async commitTransaction(connection: WriteConnection): Promise<void> {
    await connection.end('commit')
  }
  async rollbackTransaction(connection: WriteConnection): Promise<void> {
    await connection.end('rollback')
  }
  async releaseConnection(connection: WriteConnection): Promise<void> {
    connection.release()
  }
  async destroy(): Promise<void> {}
}

export function throwNoStreaming(): never {
  throw new Error('streaming is not supported; read pages')
}
