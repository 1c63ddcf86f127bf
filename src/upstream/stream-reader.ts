/**
 * Reads a streamed answer: upstream bytes in, judged and metered chunks out. Pure, so that every way an upstream can end badly is a table
 * of bytes in a test.
 *
 * Every event is parsed, or is known to be like the one before but for its words (`likeness.ts`). What is no JSON object, or an error under
 * whatever name, stops the stream; what has no list of choices is no part of the answer and is passed over; the rest is handed on, to be
 * shown (`frames.ts`) or put together (`assembly.ts`).
 */
import { isRecord } from '../exchange/chat-request.ts'
import type { Usage } from '../exchange/exchange.ts'
import { likenessOf, stringOf, wordsIn } from './likeness.ts'
import type { Around, Likeness } from './likeness.ts'
import { EventSplitter, EventTooLarge } from './sse.ts'
import type { ServerEvent } from './sse.ts'
import { hasEnded, noSuccess, objectOf } from './success.ts'
import { believed, isBetter, OutputCounter, reportIn, usageOf } from './usage.ts'
import type { Measure } from './usage.ts'

export interface StreamReaderOptions {
  readonly measure: Measure
  readonly upstreamHost: string | null
  readonly taker: ChunkTaker
}

/** What becomes of the chunks with a list of choices; each gives the frames to pass on. */
export interface ChunkTaker {
  /** `text` is what it was parsed from. */
  take(chunk: Record<string, unknown>, text: string): string
  /** Chunks like the one just taken may come by `more`. False where they cannot. */
  expect(likeness: Likeness): boolean
  /** A chunk like the last one, in whose place these words stand; `written` is their JSON text without its quotes. */
  more(words: string, written: string): string
}

/** Where chunks differ in more than their words, it is not tried for ever to find them alike. */
const mostInVain = 4

export class StreamReader {
  readonly #options: StreamReaderOptions
  readonly #splitter = new EventSplitter()
  readonly #output = new OutputCounter()
  #report: Record<string, unknown> | null = null
  /** Our own count when the upstream last reported. */
  #countedAtReport = 0
  #events = 0
  /** Of each choice seen, whether it has come to its end. */
  readonly #finished = new Map<number, boolean>()
  #done = false
  /** What stands around the words of the next event, if it is like the last. */
  #around: Around | null = null
  /** How many likenesses in a row held for no other event. */
  #inVain = 0

  constructor(options: StreamReaderOptions) {
    this.#options = options
  }

  /** The upstream has said its last word; what follows is nothing to us. */
  get done(): boolean {
    return this.#done
  }

  /** Every choice seen has come to its end. */
  get answered(): boolean {
    return this.#finished.size > 0 && [...this.#finished.values()].every(Boolean)
  }

  /** Events seen that carried something. */
  get events(): number {
    return this.#events
  }

  /** Tokens of output that have passed, by our own count. */
  get produced(): number {
    return this.#output.tokens
  }

  /** The upstream's last report that said something, as it came. */
  get report(): Record<string, unknown> | null {
    return this.#report
  }

  /** Frames for the client; empty when the chunk completed none. @throws UpstreamFailure */
  push(chunk: Buffer): string {
    let frames = ''
    for (const event of this.#split(chunk)) {
      if (this.#done) break
      frames += this.#pass(event)
    }
    return frames
  }

  /** At the end of the bytes: the frames still owed. @throws UpstreamFailure when the answer is not whole */
  end(): string {
    const rest = this.#done ? null : this.#splitter.end()
    const frames = rest === null ? '' : this.#pass(rest)
    this.#finish()
    return frames
  }

  /** The upstream's last report, where it can be believed, else our own count of what has passed. */
  usage(): Usage {
    return believed(usageOf(this.#report), this.#output, this.#options.measure)
  }

  /** Of an answer that was cut off: what has passed since the last report, which may have been made when nothing had, counts as well. */
  usageSoFar(): Usage {
    const report = usageOf(this.#report)
    if (report === null) return this.usage()
    const since = Math.max(0, this.#output.tokens - this.#countedAtReport)
    const sum = { inputTokens: report.inputTokens, outputTokens: report.outputTokens + since }
    const usage = believed(sum, this.#output, this.#options.measure)
    return since > 0 ? { ...usage, estimated: true } : usage
  }

  #split(chunk: Buffer): ServerEvent[] {
    try {
      return this.#splitter.push(chunk)
    } catch (error) {
      if (error instanceof EventTooLarge) throw noSuccess('too_large', this.#options.upstreamHost)
      throw error
    }
  }

  #pass({ data, isError }: ServerEvent): string {
    const words = this.#around === null || isError ? null : this.#sayMore(data, this.#around)
    if (words !== null) return words
    if (data.startsWith('[DONE]') && data.trim() === '[DONE]') {
      this.#finish()
      return ''
    }
    if (data.trim() === '') return ''
    const { upstreamHost } = this.#options
    if (isError) throw noSuccess('error_object', upstreamHost, errorIn(data))
    const chunk = objectOf(data, upstreamHost)
    this.#events++
    const { choices } = chunk
    if (Array.isArray(choices)) for (const choice of choices as unknown[]) this.#judge(choice)
    this.#meter(chunk)
    // A ping, a note, an error that does not call itself one: whatever it is, it is no part of the answer and nobody's but ours to see.
    if (!Array.isArray(choices)) return ''
    const frames = this.#options.taker.take(chunk, data)
    this.#learn(chunk, data)
    return frames
  }

  /** The frames of an event that is the last one but for its words; null where it is not. */
  #sayMore(data: string, around: Around): string | null {
    const written = wordsIn(data, around)
    const words = written === null ? null : stringOf(written)
    if (written === null || words === null) return null
    this.#inVain = 0
    this.#events++
    this.#output.addBytes(Buffer.byteLength(words))
    return this.#options.taker.more(words, written)
  }

  /** Only neighbours are compared: what came in between may have changed what a chunk like an earlier one adds. */
  #learn(chunk: Record<string, unknown>, text: string): void {
    this.#around = null
    if (this.#inVain >= mostInVain) return
    const likeness = likenessOf(chunk, text)
    if (likeness === null || !this.#options.taker.expect(likeness)) return
    this.#inVain++
    this.#around = { before: likeness.before, after: likeness.after }
  }

  #finish(): void {
    const { upstreamHost } = this.#options
    if (this.#events === 0) throw noSuccess('empty', upstreamHost)
    if (this.#finished.size === 0) throw noSuccess('no_finish', upstreamHost)
    for (const finished of this.#finished.values()) if (!finished) throw noSuccess('no_finish', upstreamHost)
    this.#done = true
  }

  #judge(choice: unknown): void {
    if (!isRecord(choice)) return
    const { delta, message } = choice
    const index = typeof choice['index'] === 'number' ? choice['index'] : 0
    const ends = hasEnded(choice, this.#options.upstreamHost)
    if (ends || this.#finished.get(index) !== true) this.#finished.set(index, ends)
    if (isRecord(delta)) this.#output.add(delta)
    else if (isRecord(message)) this.#output.add(message)
  }

  #meter(chunk: Record<string, unknown>): void {
    const report = reportIn(chunk)
    const reported = usageOf(report)
    if (reported === null || !isBetter(reported, usageOf(this.#report))) return
    this.#report = report
    this.#countedAtReport = this.#output.tokens
  }
}

/** What an `event: error` says, in whatever form. */
function errorIn(data: string): unknown {
  try {
    const value: unknown = JSON.parse(data)
    return isRecord(value) ? (value['error'] ?? value) : value
  } catch {
    return data
  }
}
