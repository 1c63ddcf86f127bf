/** An encoder that begins its answer by itself, so that its first events stand before all others whenever the stream is opened. */
import type { AnswerEvent } from '../conversation/answer-event.ts'
import type { AnswerEncoder, FailedExchange } from '../exchange/api-format/api-format.ts'
import type { GatewayError } from '../errors.ts'

export class OpeningEncoder implements AnswerEncoder {
  readonly #inner: AnswerEncoder
  /** The opening events that were not taken yet; undefined before the answer has begun. */
  #opening: string | undefined
  #hasEnded = false

  constructor(inner: AnswerEncoder) {
    this.#inner = inner
  }

  /** The events that end the stream were written. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** The opening events; empty if they were taken before. */
  start(): string {
    this.#begin()
    const opening = this.#opening ?? ''
    this.#opening = ''
    return opening
  }

  push(answered: readonly AnswerEvent[]): string {
    this.#begin()
    return this.#inner.push(answered)
  }

  heartbeat(): string {
    this.#begin()
    return this.#inner.heartbeat()
  }

  end(): string {
    this.#begin()
    const events = this.#inner.end()
    this.#hasEnded = true
    return events
  }

  fail(x: FailedExchange, failure: GatewayError): string {
    return this.#inner.fail(x, failure)
  }

  whole(events: readonly AnswerEvent[]): string {
    return this.#inner.whole(events)
  }

  #begin(): void {
    this.#opening ??= this.#inner.start()
  }
}
