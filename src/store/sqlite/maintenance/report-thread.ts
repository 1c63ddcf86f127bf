/** Worker thread of one report: reads the next rows when it is asked, so that a slow reader has no queue of them. */
import { parentPort, workerData } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import type { ReportSlot } from '../../../domain/billing/report.ts'
import { buildReportStatement, toReportSlot } from '../../repositories/billing/report.ts'
import type { ReportRecord } from '../../repositories/billing/report.ts'
import { defaultBusyTimeoutMs, openForReading } from '../connection/connection.ts'
import type { ReportReply, ReportRequest, ReportTask } from './report.ts'

if (parentPort === null) throw new Error('this file is started as a thread')
serve(parentPort, workerData as ReportTask)

function serve(port: MessagePort, { file, query, rowsPerReply }: ReportTask): void {
  const db = openForReading(file, defaultBusyTimeoutMs)
  // Groups that do not fit into the cache are sorted in files.
  db.pragma('temp_store = file')
  let rows: IterableIterator<ReportRecord> | undefined
  const read = (): ReportReply => {
    try {
      rows ??= db.prepare<[], ReportRecord>(buildReportStatement(query, 'sqlite')).iterate()
      const slots: ReportSlot[] = []
      while (slots.length < rowsPerReply) {
        const { done, value } = rows.next()
        if (done === true) break
        slots.push(toReportSlot(query, value))
      }
      return { kind: 'rows', slots }
    } catch (error) {
      const { code } = error as { readonly code?: string }
      return { kind: 'failed', message: error instanceof Error ? error.message : String(error), code }
    }
  }
  port.on('message', (request: ReportRequest) => {
    if (request === 'next') return port.postMessage(read())
    rows?.return?.()
    db.close()
    port.close()
  })
}
