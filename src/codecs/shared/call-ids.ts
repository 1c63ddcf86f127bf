/** Ids and the number of the calls of an answer. */
import { maxCalls, TooManyCallsError } from '../answer-bounds.ts'

export class CallIds {
  readonly #requestId: string
  readonly #ids = new Set<string>()
  #count = 0

  constructor(requestId: string) {
    this.#requestId = requestId
  }

  /** An id for one more call: the upstream's, if no earlier call has it. @throws TooManyCallsError */
  add(sent: string): string {
    if (this.#count >= maxCalls) throw new TooManyCallsError('too many calls')
    const position = this.#count++
    const isFree = sent !== '' && !this.#ids.has(sent)
    const id = isFree ? sent : `${sent === '' ? 'call' : sent}_${this.#requestId}_${position}`
    this.#ids.add(id)
    return id
  }
}
