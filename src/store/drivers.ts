/** kysely's two sides: whoever reads asks single statements, each with the moment that it sees; whoever writes has transactions too. */
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely'

export class ReadDriver implements Driver {
  readonly #connection: DatabaseConnection

  constructor(ask: <R>(query: CompiledQuery) => Promise<QueryResult<R>>) {
    this.#connection = { executeQuery: ask, streamQuery: noStreaming }
  }

  async init(): Promise<void> {}
  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection
  }
  async beginTransaction(): Promise<void> {
    throw new Error('transactions belong to who writes')
  }
  async commitTransaction(): Promise<void> {}
  async rollbackTransaction(): Promise<void> {}
  async releaseConnection(): Promise<void> {}
  async destroy(): Promise<void> {}
}

/** Statements are by themselves, or between `begin` and `end` one transaction. */
export interface WriteConnection extends DatabaseConnection {
  begin(): Promise<void>
  end(how: 'commit' | 'rollback'): Promise<void>
  /** After all that was asked of it, however it ended. */
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

export function noStreaming(): never {
  throw new Error('streaming of rows is not offered; ask for pages')
}
