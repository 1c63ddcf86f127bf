/** Reads a report from one snapshot of the database, in pages. */
import type { ReportQuery, ReportSlot } from '../../../domain/billing/report.ts'
import { buildReportStatement, toReportSlot } from '../../repositories/billing/report.ts'
import { Connections } from '../connection/connections.ts'
import type { SeenDatabase } from '../connection/seen-database.ts'

const rowsPerFetch = 1_000
/** The database groups all turns before it returns the first row. */
const statementTimeoutMs = 3_600_000

/** On a connection of its own, so that no other query waits. */
export async function* readReport(
  { url, seen }: { readonly url: string; readonly seen: SeenDatabase },
  query: ReportQuery,
): AsyncIterable<ReportSlot> {
  const connections = new Connections({ url, seen, max: 1, statementTimeoutMs })
  try {
    const client = await connections.acquire()
    try {
      await connections.begin(client, 'begin isolation level repeatable read read only')
      await client.query(`declare report no scroll cursor for ${buildReportStatement(query, 'postgres')}`)
      for (;;) {
        const { rows } = await client.query(`fetch ${rowsPerFetch} from report`)
        for (const row of rows) yield toReportSlot(query, row)
        if (rows.length < rowsPerFetch) break
      }
      await client.query('commit')
    } finally {
      // Discarded with its transaction.
      connections.release(client, new Error('the report has ended'))
    }
  } finally {
    await connections.close()
  }
}
