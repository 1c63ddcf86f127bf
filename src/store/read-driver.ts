/** kysely's reading side: single statements, each with the moment that it sees. */
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

export function noStreaming(): never {
  throw new Error('streaming of rows is not offered; ask for pages')
}
