/** Where the store says what it notices and nobody asked for. */
export interface PostgresLog {
  warn(fields: object, message: string): void
}
