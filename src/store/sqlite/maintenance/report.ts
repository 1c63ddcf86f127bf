/**
 * Reads a report from the database file in a thread of its own: the database groups all turns before it returns the first row, and neither
 * the event loop nor the writer waits for that.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { ReportQuery, ReportSlot } from '../../../domain/billing/report.ts'

export interface ReportTask {
  readonly file: string
  readonly query: ReportQuery
  readonly rowsPerReply: number
}

/** `end` is the last message. */
export type ReportRequest = 'next' | 'end'

export type ReportReply =
  | { readonly kind: 'rows'; readonly slots: readonly ReportSlot[] }
  | { readonly kind: 'failed'; readonly message: string; readonly code: string | undefined }

const rowsPerReply = 1_000
const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
const program = new URL(`./report-thread${extension}`, import.meta.url)

/** @throws the database's error */
export async function* readReport(file: string, query: ReportQuery): AsyncIterable<ReportSlot> {
  const worker = new Worker(program, { workerData: { file, query, rowsPerReply } satisfies ReportTask })
  const ask = (request: ReportRequest): void => worker.postMessage(request)
  try {
    for (;;) {
      ask('next')
      const [reply] = (await once(worker, 'message')) as [ReportReply]
      if (reply.kind === 'failed') throw Object.assign(new Error(reply.message), { code: reply.code })
      yield* reply.slots
      if (reply.slots.length < rowsPerReply) return
    }
  } finally {
    ask('end')
  }
}
