/**
 * Reads a streamed answer: upstream bytes in, judged and metered chunks out. Pure, so that every way an upstream can end badly is a table
 * of bytes in a test.
 *
 * Every event is parsed. What is no JSON object, or an error under whatever name, stops the stream; what has no list of choices is no
 * part of the answer and is passed over; the rest is handed on, to be shown (`frames.ts`) or put together (`assembly.ts`).
 */
import { isRecord } from '../exchange/chat-request.ts'
import type { Usage } from '../exchange/exchange.ts'
import { isBadFinish } from './completion.ts'
import { UpstreamFailure } from './failure.ts'
import { EventSplitter, EventTooLarge } from './sse.ts'
import type { ServerEvent } from './sse.ts'
import { believed, isBetter, OutputCounter, reportIn, usageOf } from './usage.ts'
import type { Measure } from './usage.ts'

export interface StreamReaderOptions {
  readonly measure: Measure
  readonly upstreamHost: string | null
  /** What becomes of a chunk with a list of choices: the frames to pass on. `text` is what it was parsed from. */
  readonly take: (chunk: Record<string, unknown>, text: string) => string
}

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

  constructor(options: StreamReaderOptions) {
    this.#options = options
  }

  /** The upstream has said its last word; what follows is nothing to us. */
  get done(): boolean {
    return this.#done
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
      if (error instanceof EventTooLarge) throw this.#failure('too_large')
      throw error
    }
  }

  #pass({ data, isError }: ServerEvent): string {
    if (data.startsWith('[DONE]') && data.trim() === '[DONE]') {
      this.#finish()
      return ''
    }
    if (data.trim() === '') return ''
    if (isError) throw this.#failure('error_object', errorIn(data))
    const chunk = this.#parse(data)
    this.#events++
    const { choices } = chunk
    this.#refuseErrors(chunk)
    if (Array.isArray(choices)) for (const choice of choices as unknown[]) this.#judge(choice)
    this.#meter(chunk)
    // A ping, a note, an error that does not call itself one: whatever it is, it is no part of the answer and nobody's but ours to see.
    return Array.isArray(choices) ? this.#options.take(chunk, data) : ''
  }

  #finish(): void {
    if (this.#events === 0) throw this.#failure('empty')
    if (this.#finished.size === 0) throw this.#failure('no_finish')
    for (const finished of this.#finished.values()) if (!finished) throw this.#failure('no_finish')
    this.#done = true
  }

  #parse(data: string): Record<string, unknown> {
    let chunk: unknown
    try {
      chunk = JSON.parse(data)
    } catch {
      throw this.#failure('not_json')
    }
    if (!isRecord(chunk)) throw this.#failure('not_json')
    return chunk
  }

  #refuseErrors(chunk: Record<string, unknown>): void {
    const { error } = chunk
    if (error !== undefined && error !== null) throw this.#failure('error_object', error)
    if (chunk['object'] === 'error' || chunk['type'] === 'error') throw this.#failure('error_object', chunk)
  }

  #judge(choice: unknown): void {
    if (!isRecord(choice)) return
    const { error, finish_reason: finish, delta, message } = choice
    if (error !== undefined && error !== null) throw this.#failure('error_object', error)
    const index = typeof choice['index'] === 'number' ? choice['index'] : 0
    // Some say an empty word where others say null.
    const ends = typeof finish === 'string' && finish !== ''
    if (ends && isBadFinish(finish)) throw this.#failure('bad_finish')
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

  #failure(
    reason: 'empty' | 'no_finish' | 'not_json' | 'too_large' | 'error_object' | 'bad_finish',
    error?: unknown,
  ): UpstreamFailure {
    return new UpstreamFailure(
      { kind: 'in_band', status: 200, reason, ...(error === undefined ? {} : { error }) },
      this.#options.upstreamHost,
    )
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
