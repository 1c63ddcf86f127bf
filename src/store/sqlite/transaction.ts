/** A transaction that spans several requests to the writer's thread, and the time it may take. */
import type { Reply, Request, RowsResult, SqlOp } from './protocol.ts'
import { answer, refused } from './database-error.ts'

/** A transaction holds everybody else up, money included; one that takes longer has lost its way. */
export const defaultTransactionLimitMs = 5000

/** Several statements that nobody else's come between. */
export class Transaction {
  readonly #ask: (request: Request) => Promise<Reply>
  readonly #leave: () => void
  readonly #timer: NodeJS.Timeout | undefined
  #last: Promise<unknown> = Promise.resolve()
  #over: Error | undefined

  constructor(ask: (request: Request) => Promise<Reply>, leave: () => void, limitMs: number | undefined) {
    this.#ask = ask
    this.#leave = leave
    if (limitMs === undefined) return
    this.#timer = setTimeout(() => {
      const why = new Error(`the transaction took longer than ${limitMs} ms and was undone`)
      // Where even that fails the writer is gone, and whoever asks next hears of it.
      this.#end(['rollback'], why).catch(() => undefined)
    }, limitMs)
  }

  async query(op: SqlOp): Promise<RowsResult> {
    const result = answer(await this.#inTurn(['query', op]))
    if (result?.[0] !== 'rows') throw new Error('the writer gave no answer')
    return result
  }

  async commit(): Promise<void> {
    if (this.#over !== undefined) throw refused(this.#over)
    answer(await this.#end(['commit'], new Error('the transaction is over')))
  }

  async rollback(): Promise<void> {
    if (this.#over !== undefined) return
    answer(await this.#end(['rollback'], new Error('the transaction is over')))
  }

  async #end(request: Request, why: Error): Promise<Reply> {
    const reply = this.#inTurn(request)
    clearTimeout(this.#timer)
    this.#over ??= why
    try {
      return await reply
    } finally {
      this.#leave()
    }
  }

  /** The thread answers one request at a time, also where a caller starts two statements at once. */
  #inTurn(request: Request): Promise<Reply> {
    if (this.#over !== undefined) return Promise.reject(refused(this.#over))
    const reply = this.#last.then(() => this.#ask(request))
    this.#last = reply.catch(() => undefined)
    return reply
  }
}
