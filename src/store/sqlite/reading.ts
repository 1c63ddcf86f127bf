/** Any SQL text on the connection that reads. */
import type { Connection } from './connection.ts'
import type { RowsResult } from './protocol.ts'
import { Statements } from './statements.ts'

export type Reading = (text: string, parameters: readonly unknown[]) => RowsResult

/** `onFault` hears each failure of a read; the writer has ears of its own. */
export function readingOf(reader: Connection, onFault: (error: unknown) => void = () => {}): Reading {
  const statements = new Statements(reader)
  return (text, parameters) => {
    try {
      return statements.run(text, parameters)
    } catch (error) {
      onFault(error)
      throw error
    }
  }
}
