/** Log of the store, for events that no caller waits for. */
export interface PostgresLog {
  warn(fields: object, message: string): void
}
