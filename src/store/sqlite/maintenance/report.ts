/** Reads a report from the database file, on a connection of its own: the writer does not wait. */
import type { ReportQuery, ReportSlot } from '../../../domain/billing/report.ts'
import { buildReportStatement, toReportSlot } from '../../repositories/billing/report.ts'
import type { ReportRecord } from '../../repositories/billing/report.ts'
import { defaultBusyTimeoutMs, openForReading } from '../connection/connection.ts'

/** Blocks its thread while the database groups, so it is for commands. */
export async function* readReport(file: string, query: ReportQuery): AsyncIterable<ReportSlot> {
  const db = openForReading(file, defaultBusyTimeoutMs)
  try {
    // Groups that do not fit into the cache are sorted in files.
    db.pragma('temp_store = file')
    for (const row of db.prepare<[], ReportRecord>(buildReportStatement(query, 'sqlite')).iterate())
      yield toReportSlot(query, row)
  } finally {
    db.close()
  }
}
