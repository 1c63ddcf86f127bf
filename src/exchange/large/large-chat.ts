/** A large request on the main thread: what was worked out of it, and the text only for whoever asks for it. */
import type { ChatRequest } from '../chat-request.ts'
import type { WorkedOut } from './answers.ts'
import { isRecord } from '../chat-request.ts'
import type { Lending } from './lent-memory.ts'
import { Printed } from './printed.ts'
import type { Range, Result } from './worked-out.ts'

/** Its getters are the class's, so that a copy with other messages (`{ ...chat, messages, body }`) has nothing of what was worked out. */
export class LargeChat implements ChatRequest {
  readonly model: string
  readonly stream: boolean
  readonly includeUsage: boolean
  readonly maxTokens: number | null
  readonly choices: number
  readonly bytes: number
  readonly #worked: WorkedOut
  readonly #text: Uint8Array
  /** Null where the text has memory of its own. */
  readonly #lending: Lending | null
  #body: Readonly<Record<string, unknown>> | undefined

  /** `text`: where the result's was written. */
  constructor(result: Result, text: ArrayBufferLike, lending: Lending | null = null) {
    const { asked, fields, messages, count, hash, hasImages, faults, lastUser } = result
    this.model = asked.model
    this.stream = asked.stream
    this.includeUsage = asked.includeUsage
    this.maxTokens = asked.maxTokens
    this.choices = asked.choices
    this.bytes = asked.bytes
    this.#lending = lending
    this.#text = new Uint8Array(text, 0, result.bodyBytes)
    const printed = (ranges: readonly Range[]): Printed =>
      new Printed(
        ranges.map(([from, to]) => new Uint8Array(text, from, to - from)),
        lending,
      )
    this.#worked = {
      fields: Object.fromEntries(fields.map(([name, value, ranges]) => [name, ranges === null ? value : printed(ranges)])),
      messages: { developer: printed(messages.developer), system: printed(messages.system) },
      count,
      hash,
      hasImages,
      faults,
      lastUser,
    }
  }

  get worked(): WorkedOut {
    return this.#worked
  }

  /** Costly: parsed on the main thread, once, when first asked for. */
  get body(): Readonly<Record<string, unknown>> {
    if (this.#body === undefined) {
      this.#lending?.mustLast()
      const body: unknown = JSON.parse(Buffer.from(this.#text.buffer, 0, this.#text.length).toString())
      this.#body = isRecord(body) ? body : {}
    }
    return this.#body
  }

  over(): void {
    this.#lending?.end()
  }

  /** Costly, like `body`. */
  get messages(): readonly unknown[] {
    const { messages } = this.body
    return Array.isArray(messages) ? messages : []
  }
}
