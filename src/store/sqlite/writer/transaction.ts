/** A transaction that spans several requests to the writer thread, with a time limit. */
import { systemClock } from '../../../system/clock.ts'
import type { Timer } from '../../../system/clock.ts'
import type { WriterReply, WriterRequest, RowsResult, SqlOp } from '../connection/writer-protocol.ts'
import { unwrapReply, toRetryableError } from './database-error.ts'

/** A transaction blocks all other writes, settlements included, so a longer one is rolled back. */
export const defaultTransactionTimeoutMs = 5000

/** Several statements that no other writer's statements can interleave. */
export class Transaction {
  readonly #request: (request: WriterRequest) => Promise<WriterReply>
  readonly #release: () => void
  readonly #timer: Timer | undefined
  #lastReply: Promise<unknown> = Promise.resolve()
  #endedReason: Error | undefined

  constructor(request: (request: WriterRequest) => Promise<WriterReply>, release: () => void, timeoutMs: number | undefined) {
    this.#request = request
    this.#release = release
    if (timeoutMs === undefined) return
    this.#timer = systemClock.after(timeoutMs, () => {
      const why = new Error(`the transaction took longer than ${timeoutMs} ms and was rolled back`)
      // If the rollback fails, the writer has ended; the next caller gets its error.
      this.#end(['rollback'], why).catch(() => undefined)
    })
  }

  async query(op: SqlOp): Promise<RowsResult> {
    const result = unwrapReply(await this.#enqueue(['query', op]))
    if (result?.[0] !== 'rows') throw new Error('the writer returned no result')
    return result
  }

  async commit(): Promise<void> {
    if (this.#endedReason !== undefined) throw toRetryableError(this.#endedReason)
    unwrapReply(await this.#end(['commit'], new Error('the transaction is over')))
  }

  async rollback(): Promise<void> {
    if (this.#endedReason !== undefined) return
    unwrapReply(await this.#end(['rollback'], new Error('the transaction is over')))
  }

  async #end(request: WriterRequest, why: Error): Promise<WriterReply> {
    const reply = this.#enqueue(request)
    this.#timer?.cancel()
    this.#endedReason ??= why
    try {
      return await reply
    } finally {
      this.#release()
    }
  }

  /** The thread serves one request at a time, so concurrent statements of one caller are queued here. */
  #enqueue(request: WriterRequest): Promise<WriterReply> {
    if (this.#endedReason !== undefined) return Promise.reject(toRetryableError(this.#endedReason))
    const reply = this.#lastReply.then(() => this.#request(request))
    this.#lastReply = reply.catch(() => undefined)
    return reply
  }
}
