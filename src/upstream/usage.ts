/** What an upstream says it used, our own count beside it, and which of the two is charged. */
import { isRecord } from '../exchange/chat-request.ts'
import type { Slots, Usage } from '../exchange/exchange.ts'

export type Report = Pick<Usage, 'inputTokens' | 'outputTokens'>

/** No turn is larger; a number above it is the upstream's mistake and must not become a member's debt. */
const maxTokens = 10_000_000

/**
 * The upstream's `usage` object as whole, sane numbers; null when it holds none. Reasoning tokens are inside `completion_tokens`
 * already. Image endpoints call the two `input_tokens` and `output_tokens`.
 */
export function usageOf(value: unknown): Report | null {
  if (!isRecord(value)) return null
  const inputTokens = tokenCount(value['prompt_tokens'] ?? value['input_tokens'])
  const outputTokens = tokenCount(value['completion_tokens'] ?? value['output_tokens'])
  if (inputTokens === null || outputTokens === null) return null
  return { inputTokens, outputTokens }
}

/**
 * Whether a report of pictures or of a search may be true. Nothing that passed can be held against it, so it is what the product can take
 * and make at most, several times over: operators' figures are rough, and a number beyond them must not become a member's debt.
 */
export function isPossible({ inputTokens, outputTokens }: Report, { product, chat }: Partial<Slots>): boolean {
  if (product === undefined) return true
  const most = product.maxOutputTokens * (chat?.choices ?? 1)
  return inputTokens <= product.contextLength * outputDoubt && outputTokens <= most * outputDoubt
}

/** A count is a finite number of zero or more; a fraction is rounded up. Anything else counts as not reported. */
function tokenCount(value: unknown): number | null {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0 || value > maxTokens) return null
  return Math.ceil(value)
}

/** The usage object of a chunk or a whole answer, wherever its vendor puts it: on top, in the first choice (Moonshot), in `x_groq`. */
export function reportIn(answer: Record<string, unknown>): Record<string, unknown> | null {
  const { usage, choices, x_groq: groq } = answer
  const first: unknown = Array.isArray(choices) ? choices[0] : undefined
  let found: Record<string, unknown> | null = null
  if (isRecord(usage) && usageOf(usage) !== null) found = usage
  if (isRecord(first) && first['usage'] !== undefined) found = better(first['usage'], found)
  return isRecord(groq) ? better(groq['usage'], found) : found
}

function better(value: unknown, than: Record<string, unknown> | null): Record<string, unknown> | null {
  const report = usageOf(value)
  return isRecord(value) && report !== null && isBetter(report, usageOf(than)) ? value : than
}

/** Whether the later of two reports takes the earlier one's place: not where it has lost what the earlier one knew. */
export function isBetter(later: Report, earlier: Report | null): boolean {
  if (earlier === null) return true
  return (later.inputTokens > 0 || earlier.inputTokens === 0) && (later.outputTokens > 0 || earlier.outputTokens === 0)
}

/** What a report is held against. */
export interface Measure {
  /** Tokens assumed for the prompt. */
  readonly inputEstimate: number
  /** The most that was asked for, over all choices; infinite where no cap was sent. */
  readonly outputCap: number
}

/** A report of output contradicts what passed where it is further away than this, and by more than `fewTokens`. */
const outputDoubt = 4
const fewTokens = 16
/** The prompt is not counted but bounded, and upstreams add to it what is theirs, so only what is far off contradicts it. */
const inputDoubt = { below: 64, above: 4, added: 4_096 } as const

/**
 * What is charged: the report, but for a side of it that contradicts what passed, which is replaced by our own count; what was reported
 * then stays beside it.
 *
 * Too little: none where something passed, or less than a quarter of what the text that passed comes to. Too much: above the cap that
 * was sent up *and* above four times what passed. Below the cap a high report is believed: reasoning may be paid for and not be shown,
 * and the hold covers it. A prompt: none, less than a 64th of the estimate, or more than four times it and 4 096 tokens.
 */
export function believed(report: Report | null, passed: Pick<OutputCounter, 'tokens' | 'bytes'>, measure: Measure): Usage {
  const { inputEstimate, outputCap } = measure
  if (report === null) return { inputTokens: inputEstimate, outputTokens: passed.tokens, estimated: true }
  const { inputTokens, outputTokens } = report
  const inText = tokensOfBytes(passed.bytes)
  const tooLittle = (outputTokens === 0 && inText > 0) || outputTokens * outputDoubt + fewTokens < inText
  const tooMuch = outputTokens > outputCap && outputTokens > Math.max(passed.tokens, inText) * outputDoubt + fewTokens
  const noPrompt = inputTokens * inputDoubt.below < inputEstimate
  const hugePrompt = inputTokens > inputEstimate * inputDoubt.above + inputDoubt.added
  if (!tooLittle && !tooMuch && !noPrompt && !hugePrompt) return { inputTokens, outputTokens, estimated: false }
  return {
    inputTokens: noPrompt || hugePrompt ? inputEstimate : inputTokens,
    outputTokens: tooLittle || tooMuch ? passed.tokens : outputTokens,
    estimated: true,
    contradicted: { inputTokens, outputTokens },
  }
}

/**
 * The usage object that members see: the numbers that are charged, and of what else the upstream tells only its counts. Its costs, its
 * times and its own names for things are between it and the operator.
 */
export function shownUsage(report: Record<string, unknown> | null, { inputTokens, outputTokens }: Usage): object {
  const tokens = { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: inputTokens + outputTokens }
  return report === null ? tokens : { ...countsIn(withCachedTokens(report)), ...tokens }
}

function countsIn(report: Record<string, unknown>): Record<string, unknown> {
  const counts: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(report)) {
    if (typeof value === 'number' && (name.endsWith('_tokens') || name === 'num_search_queries')) counts[name] = value
    else if (isRecord(value) && name.endsWith('_tokens_details')) counts[name] = countsIn(value)
  }
  return counts
}

/** DeepSeek counts cache hits under a name of its own, Moonshot under another; clients look for OpenAI's. */
export function withCachedTokens(usage: Record<string, unknown>): Record<string, unknown> {
  const hits = usage['prompt_cache_hit_tokens'] ?? usage['cached_tokens']
  if (typeof hits !== 'number' || isRecord(usage['prompt_tokens_details'])) return usage
  return { ...usage, prompt_tokens_details: { cached_tokens: hits } }
}

/**
 * Counts output as it passes, without keeping it. Most upstreams send a token an event, and then the events are the count; where
 * events carry more, four bytes are taken for a token.
 */
export class OutputCounter {
  #events = 0
  #bytes = 0

  /** A choice's `delta`, or its whole `message`. */
  add(said: Record<string, unknown>): void {
    this.addBytes(producedIn(said))
  }

  /** Of words that an event says and nothing besides. */
  addBytes(bytes: number): void {
    if (bytes === 0) return
    this.#events++
    this.#bytes += bytes
  }

  /** Of text that was made. */
  get bytes(): number {
    return this.#bytes
  }

  get tokens(): number {
    return this.#bytes <= 8 * this.#events ? this.#events : tokensOfBytes(this.#bytes)
  }
}

export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / 4)
}

/** Bytes of what a member pays for. Some upstreams say the same reasoning under two or three names. */
function producedIn(said: Record<string, unknown>): number {
  const { content, reasoning_content: thought, reasoning, reasoning_details: details } = said
  const { refusal, tool_calls: calls, function_call: call, audio } = said
  let bytes = typeof content === 'string' ? Buffer.byteLength(content) : bytesIn(content)
  if (thought !== undefined || reasoning !== undefined || details !== undefined)
    bytes += Math.max(bytesIn(thought), bytesIn(reasoning), bytesIn(details))
  if (refusal !== undefined) bytes += bytesIn(refusal)
  if (calls !== undefined) bytes += bytesIn(calls)
  if (call !== undefined) bytes += bytesIn(call)
  if (audio !== undefined) bytes += bytesIn(audio)
  return bytes
}

/** Names under which a part of a message holds what was made; others hold ids, kinds and addresses. */
const madeUnder = new Set(['text', 'thinking', 'summary', 'arguments', 'input', 'name', 'function', 'custom', 'transcript'])

function bytesIn(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (typeof value !== 'object' || value === null) return 0
  let bytes = 0
  if (Array.isArray(value)) for (const item of value as unknown[]) bytes += bytesIn(item)
  else for (const [name, part] of Object.entries(value)) if (madeUnder.has(name)) bytes += bytesIn(part)
  return bytes
}
