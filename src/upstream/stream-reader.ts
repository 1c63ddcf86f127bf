/**
 * Reads a streamed answer: upstream bytes in, frames for the client out. Pure, so that every way an upstream can end badly is a table
 * of bytes in a test.
 *
 * Events are passed on as the bytes they came as. Only what must differ is touched: the upstream's model id becomes the product's, the
 * usage chunk is held back, and an error inside the stream stops it.
 */
import { isRecord } from '../exchange/chat-request.ts'
import type { Usage } from '../exchange/exchange.ts'
import { UpstreamFailure } from './failure.ts'
import { EventSplitter, EventTooLarge, utf8Of } from './sse.ts'
import { OutputCounter, usageOf, withCachedTokens } from './usage.ts'

export interface StreamReaderOptions {
  readonly productId: string
  readonly includeUsage: boolean
  readonly inputEstimate: number
  readonly upstreamHost: string | null
  /** Told each event's JSON text; null when nobody listens. */
  readonly onEvent: ((json: string) => void) | null
}

/** Finish reasons that mean the upstream broke off. */
const badFinishes = new Set(['error', 'abort', 'insufficient_system_resource'])

export class StreamReader {
  readonly #options: StreamReaderOptions
  readonly #splitter = new EventSplitter()
  readonly #output = new OutputCounter()
  /** `"model":"<upstream's id>"` as its events spell it, and what stands there instead; learned from the first event with a choice. */
  #model: { readonly theirs: string; readonly ours: string } | null = null
  #lastUsage: Record<string, unknown> | null = null
  /** Our own count when the upstream last reported. */
  #countedAtReport = 0
  #frame: Record<string, unknown> | null = null
  #events = 0
  #finished = false
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

  /** Frames (Latin-1) for the client; empty when the chunk completed none. @throws UpstreamFailure */
  push(chunk: Buffer): string {
    let frames = ''
    for (const data of this.#split(chunk)) {
      if (this.#done) break
      frames += this.#pass(data)
    }
    return frames
  }

  /** At the end of the bytes: the frames still owed. @throws UpstreamFailure when the answer is not whole */
  end(): string {
    const rest = this.#done ? null : this.#splitter.end()
    const frames = rest === null ? '' : this.#pass(rest)
    if (this.#events === 0) throw this.#failure('empty')
    if (!this.#finished) throw this.#failure('no_finish')
    this.#done = true
    return frames
  }

  /** The last frames: usage if it was asked for, once; then the end mark. */
  tail(): string {
    if (!this.#options.includeUsage) return 'data: [DONE]\n\n'
    const { inputTokens, outputTokens } = this.usage()
    const usage = this.#lastUsage ?? {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
    }
    const chunk = { ...this.#frame, choices: [], usage: withCachedTokens(usage) }
    return `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`
  }

  /** The upstream's last report, else our own count of what has passed. */
  usage(): Usage {
    const reported = usageOf(this.#lastUsage)
    if (reported !== null) return { ...reported, estimated: false }
    return { inputTokens: this.#options.inputEstimate, outputTokens: this.#output.tokens, estimated: true }
  }

  /** Of an answer that was cut off: what has passed since the last report, which may have been made when nothing had, counts as well. */
  usageSoFar(): Usage {
    const { inputTokens, outputTokens, estimated } = this.usage()
    const since = estimated ? 0 : Math.max(0, this.#output.tokens - this.#countedAtReport)
    return { inputTokens, outputTokens: outputTokens + since, estimated: estimated || since > 0 }
  }

  #split(chunk: Buffer): string[] {
    try {
      return this.#splitter.push(chunk)
    } catch (error) {
      if (error instanceof EventTooLarge) throw this.#failure('too_large')
      throw error
    }
  }

  #pass(data: string): string {
    if (data === '[DONE]') {
      this.#done = true
      if (this.#events === 0) throw this.#failure('empty')
      if (!this.#finished) throw this.#failure('no_finish')
      return ''
    }
    if (data === '') return ''
    const before = this.#lastUsage
    const json = this.#frame === null || mustRead(data) ? this.#read(data) : this.#renamed(data)
    this.#events++
    if (json !== null) this.#output.add(json)
    if (this.#lastUsage !== before) this.#countedAtReport = this.#output.tokens
    if (json === null) return ''
    this.#options.onEvent?.(utf8Of(json))
    return `data: ${json}\n\n`
  }

  /** The slow way, for the few events that matter: parsed, judged, and rewritten where it must be. */
  #read(data: string): string | null {
    const chunk = this.#parse(data)
    this.#refuseErrors(chunk)
    const { usage, choices } = chunk
    if (isRecord(usage)) this.#lastUsage = usage
    // A ping, a note, an error that does not call itself one: whatever it is, it is no part of the answer and nobody's but ours to see.
    if (!Array.isArray(choices)) return null
    // Azure opens with the filter's verdict on the prompt, whose id, object, date and model are empty.
    if (this.#frame === null && choices.length > 0) this.#learn(chunk, data)
    if (isRecord(usage)) {
      if (choices.length === 0) return null
      return toLatin1(JSON.stringify({ ...chunk, model: this.#options.productId, usage: undefined }))
    }
    if (data.includes('\n')) return toLatin1(JSON.stringify({ ...chunk, model: this.#options.productId }))
    return this.#renamed(data)
  }

  #parse(data: string): Record<string, unknown> {
    let chunk: unknown
    try {
      chunk = JSON.parse(utf8Of(data))
    } catch {
      throw this.#failure('not_json')
    }
    if (!isRecord(chunk)) throw this.#failure('not_json')
    return chunk
  }

  #refuseErrors(chunk: Record<string, unknown>): void {
    const { error, choices } = chunk
    if (error !== undefined && error !== null) throw this.#failure('error_object', error)
    if (chunk['object'] === 'error' || chunk['type'] === 'error') throw this.#failure('error_object', chunk)
    if (!Array.isArray(choices)) return
    for (const choice of choices as unknown[]) {
      if (!isRecord(choice)) continue
      if (choice['error'] !== undefined && choice['error'] !== null) throw this.#failure('error_object', choice['error'])
      const finish = choice['finish_reason']
      if (typeof finish !== 'string') continue
      if (badFinishes.has(finish)) throw this.#failure('bad_finish')
      this.#finished = true
    }
  }

  #learn(chunk: Record<string, unknown>, data: string): void {
    const { id, object, created, model } = chunk
    this.#frame = { id, object, created, model: this.#options.productId }
    if (typeof model !== 'string') return
    const id1 = toLatin1(JSON.stringify(model))
    const ours = JSON.stringify(this.#options.productId)
    const separator = [':', ': '].find((colon) => data.includes(`"model"${colon}${id1}`))
    if (separator !== undefined) this.#model = { theirs: `"model"${separator}${id1}`, ours: `"model"${separator}${ours}` }
  }

  /** The model id replaced in place. A quote inside a string is escaped, so the needle can only be the key itself. */
  #renamed(data: string): string {
    const needle = this.#model
    const at = needle === null ? -1 : data.indexOf(needle.theirs)
    if (needle !== null && at !== -1) return data.slice(0, at) + needle.ours + data.slice(at + needle.theirs.length)
    if (needle === null && !data.includes('"model"')) return data
    return toLatin1(JSON.stringify({ ...this.#parse(data), model: this.#options.productId }))
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

/** Whether an event holds something we must look at: an error, a finish reason, a usage report, a line break inside its data; or no answer. */
function mustRead(data: string): boolean {
  return (
    !data.includes('"choices"') ||
    data.includes('"error"') ||
    data.includes('"finish_reason":"') ||
    data.includes('"finish_reason": "') ||
    hasUsage(data) ||
    data.includes('\n')
  )
}

function hasUsage(data: string): boolean {
  const at = data.indexOf('"usage":')
  return at !== -1 && data.indexOf('{', at) !== -1 && !/^\s*null/.test(data.slice(at + 8, at + 16))
}

function toLatin1(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}
