/** Parses an upstream's usage report, counts output independently, and decides which of the two is charged. */
import { isPictureStart, toPictureUrl } from '../../codecs/chat/picture-parts.ts'
import { countReasoningBeside } from '../../codecs/shared/token-counts.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'
import type { AnswerEvent } from '../../conversation/answer-event.ts'
import type { Slots, Usage } from '../../exchange/exchange.ts'

export type ReportedUsage = Pick<Usage, 'inputTokens' | 'cachedInputTokens' | 'outputTokens'>

/** No turn is larger. A number above it is the upstream's error and must not become a member's debt. */
const maxReportedTokens = 10_000_000

/**
 * The upstream's `usage` object as whole, valid numbers; null if it holds none. `completion_tokens` includes reasoning tokens. Image
 * endpoints use `input_tokens` and `output_tokens`.
 */
export function parseUsage(value: unknown): ReportedUsage | null {
  if (!isRecord(value)) return null
  const inputTokens = parseTokenCount(value['prompt_tokens'] ?? value['input_tokens'])
  const completionTokens = parseTokenCount(value['completion_tokens'] ?? value['output_tokens'])
  if (inputTokens === null || completionTokens === null) return null
  const outputTokens = completionTokens + parseReasoningBeside(value, inputTokens + completionTokens)
  const cachedInputTokens = Math.min(parseCachedTokens(value), inputTokens)
  return { inputTokens, outputTokens, ...(cachedInputTokens > 0 ? { cachedInputTokens } : null) }
}

function parseReasoningBeside(usage: Record<string, unknown>, sum: number): number {
  const details = usage['completion_tokens_details'] ?? usage['output_tokens_details']
  // SGLang has the number beside the completion's.
  const reasoning = (isRecord(details) ? details['reasoning_tokens'] : undefined) ?? usage['reasoning_tokens']
  const total = parseTokenCount(usage['total_tokens']) ?? 0
  return countReasoningBeside({ sum, total, reasoning: parseTokenCount(reasoning) ?? 0 })
}

/** Prompt tokens that were read from the upstream's cache; 0 if it reports none. */
function parseCachedTokens(usage: Record<string, unknown>): number {
  const details = normalizeCachedTokens(usage)['prompt_tokens_details'] ?? usage['input_tokens_details']
  return isRecord(details) ? (parseTokenCount(details['cached_tokens']) ?? 0) : 0
}

/**
 * Whether a report for images or search can be true. No measured output can contradict it, so the limit is four times what the product can
 * process: operators' figures are rough, and a number beyond them must not become a member's debt.
 */
export function isPlausible({ inputTokens, outputTokens }: ReportedUsage, { product, chat }: Partial<Slots>): boolean {
  if (product === undefined) return true
  const maxOutputTokens = product.maxOutputTokens * (chat?.choices ?? 1)
  return inputTokens <= product.contextLength * outputTolerance && outputTokens <= maxOutputTokens * outputTolerance
}

/** A count is a finite number of zero or more; fractions are rounded up. Anything else counts as not reported. */
function parseTokenCount(value: unknown): number | null {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0 || value > maxReportedTokens) return null
  return Math.ceil(value)
}

/** The usage object of a chunk or a document: at the top, in the first choice (Moonshot), or in `x_groq`. */
export function findUsageReport(answer: Record<string, unknown>): Record<string, unknown> | null {
  const { usage, choices, x_groq: groq } = answer
  const first: unknown = Array.isArray(choices) ? choices[0] : undefined
  let best: Record<string, unknown> | null = null
  if (isRecord(usage) && parseUsage(usage) !== null) best = usage
  if (isRecord(first) && first['usage'] !== undefined) best = pickBetter(first['usage'], best)
  return isRecord(groq) ? pickBetter(groq['usage'], best) : best
}

function pickBetter(value: unknown, best: Record<string, unknown> | null): Record<string, unknown> | null {
  const report = parseUsage(value)
  return isRecord(value) && report !== null && isBetter(report, parseUsage(best)) ? value : best
}

/** Whether the later report replaces the earlier one: not if it has lost a value that the earlier one had. */
export function isBetter(later: ReportedUsage, earlier: ReportedUsage | null): boolean {
  if (earlier === null) return true
  return (later.inputTokens > 0 || earlier.inputTokens === 0) && (later.outputTokens > 0 || earlier.outputTokens === 0)
}

/** Bounds that a report is checked against. */
export interface UsageBounds {
  /** Tokens assumed for the prompt. */
  readonly inputEstimate: number
  /** The part of `inputEstimate` that is assumed for media; default 0. */
  readonly mediaEstimate?: number
  /** The most that was reserved for the prompt, in tokens, and the part of it for media; default: the estimate's. */
  readonly maxInput?: number | undefined
  readonly maxMediaInput?: number | undefined
  /** The requested maximum over all choices; infinite if no cap was sent. */
  readonly outputCap: number
}

/** Reported output disputes the measured output if it differs by more than this factor and by more than `toleranceTokens`. */
const outputTolerance = 4
const toleranceTokens = 16
/** The prompt is estimated, and upstreams add to it, so only a large difference disputes it. */
const inputTolerance = { below: 64, above: 4, added: 4_096 } as const

/**
 * Output beyond this ignores the cap: half as much again and 16 tokens. Below it the difference may be one of tokenizers: the gateway counts
 * without one.
 */
export function toMaxOutput(outputCap: number): number {
  return outputCap * 1.5 + 16
}

/**
 * The usage to charge: the report, except that a side that disputes the measurement is replaced by our own count. The reported values are
 * kept beside it. The reported tokens from a cache count only as part of a reported prompt that is charged.
 *
 * Output too low: none although there was text, or less than a quarter of the text's estimate. Output too high: far above the cap that was
 * sent (`toMaxOutput`) *and* above four times the measured output: the cap is charged, because reasoning may be hidden and the hold covers the
 * cap. A high report below the cap is accepted. Prompt too low: none, or less than a 64th of the estimate of its text (a text model may drop
 * media). Prompt too high: more than four times the estimate of the text and 4 096 tokens, or than was reserved for the text, and the most
 * that its media may cost. Then what was reserved for the prompt is charged. Our own count never exceeds the cap, whatever the upstream sent.
 */
export function reconcileUsage(
  report: ReportedUsage | null,
  counted: Pick<OutputCounter, 'tokens' | 'bytes' | 'provenTokens'>,
  bounds: UsageBounds,
): Usage {
  const { inputEstimate, mediaEstimate = 0, outputCap } = bounds
  const countedTokens = Math.min(counted.tokens, outputCap)
  const maxOutput = toMaxOutput(outputCap)
  if (report === null) {
    const estimate = { inputTokens: inputEstimate, outputTokens: countedTokens, estimated: true }
    return counted.provenTokens > maxOutput ? { ...estimate, ignoredCap: true } : estimate
  }
  const { outputTokens } = report
  const textTokens = bytesToTokens(counted.bytes)
  const tooLittle = (outputTokens === 0 && countedTokens > 0) || outputTokens * outputTolerance + toleranceTokens < textTokens
  const tooMuch =
    outputTokens > maxOutput && outputTokens > Math.max(counted.tokens, textTokens) * outputTolerance + toleranceTokens
  const noPrompt = report.inputTokens * inputTolerance.below < inputEstimate - mediaEstimate
  const hugePrompt = report.inputTokens > toMaxPrompt(bounds)
  const ignoredCap = counted.provenTokens > maxOutput || (!tooMuch && outputTokens > maxOutput) ? { ignoredCap: true } : null
  const prompt = noPrompt
    ? { inputTokens: inputEstimate }
    : hugePrompt
      ? { inputTokens: bounds.maxInput ?? inputEstimate }
      : toPrompt(report)
  if (!tooLittle && !tooMuch && !noPrompt && !hugePrompt) return { ...prompt, outputTokens, estimated: false, ...ignoredCap }
  return {
    ...prompt,
    outputTokens: tooLittle ? countedTokens : tooMuch ? outputCap : outputTokens,
    estimated: true,
    ...ignoredCap,
    disputed: { inputTokens: report.inputTokens, outputTokens },
  }
}

/** The highest report of a prompt that can be true: upstreams add texts of their own, and models differ in what a picture costs. */
function toMaxPrompt({
  inputEstimate,
  mediaEstimate = 0,
  maxInput = inputEstimate,
  maxMediaInput = mediaEstimate,
}: UsageBounds): number {
  const textEstimate = inputEstimate - mediaEstimate
  const maxText = Math.max(maxInput - maxMediaInput, textEstimate * inputTolerance.above + inputTolerance.added)
  return maxText + maxMediaInput
}

function toPrompt({ inputTokens, cachedInputTokens = 0 }: Omit<ReportedUsage, 'outputTokens'>) {
  return cachedInputTokens > 0 ? { inputTokens, cachedInputTokens } : { inputTokens }
}

/**
 * The usage object for members: the charged numbers, and the upstream's other token counts. Its costs, times and own names stay with the
 * operator.
 */
export function toPublicUsage(report: Record<string, unknown> | null, usage: Usage): Record<string, unknown> {
  const { inputTokens, outputTokens } = usage
  const tokens = { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: inputTokens + outputTokens }
  return report === null ? tokens : { ...pickCounts(normalizeCachedTokens(report), usage), ...tokens }
}

/** Counts of a part are never above those of the whole that is charged: of the cache and the prompt, and of reasoning and the output. */
function pickCounts(report: Record<string, unknown>, usage: Usage, whole = Number.POSITIVE_INFINITY): Record<string, unknown> {
  const { inputTokens, cachedInputTokens = 0, outputTokens } = usage
  const findMax = (name: string): number => {
    if (/cached|cache_hit|cache_read/.test(name)) return cachedInputTokens
    if (name.includes('cache')) return inputTokens
    return name.includes('reasoning') ? outputTokens : whole
  }
  const counts: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(report)) {
    if (typeof value === 'number' && (name.endsWith('_tokens') || name === 'num_search_queries'))
      counts[name] = Math.max(0, Math.min(value, findMax(name)))
    else if (isRecord(value) && name.endsWith('_tokens_details'))
      counts[name] = pickCounts(value, usage, /^(?:prompt|input)_/.test(name) ? inputTokens : outputTokens)
  }
  return counts
}

/** DeepSeek and Moonshot report cache hits under their own names; clients expect OpenAI's. */
export function normalizeCachedTokens(usage: Record<string, unknown>): Record<string, unknown> {
  const hits = usage['prompt_cache_hit_tokens'] ?? usage['cached_tokens']
  if (typeof hits !== 'number' || isRecord(usage['prompt_tokens_details'])) return usage
  return { ...usage, prompt_tokens_details: { cached_tokens: hits } }
}

/**
 * Counts output as it passes, without storing it. Most upstreams send one token per event, so the events are counted; if events carry more,
 * four bytes count as a token.
 */
export class OutputCounter {
  #events = 0
  #bytes = 0
  /** Names of calls that were counted, by choice; some upstreams repeat a call's name in every chunk. */
  #names: Set<string> | null = null
  /** Choices that have made calls. */
  #callers: Set<number> | null = null
  #pictures = 0

  /** A choice's `delta`, or its whole `message`. */
  add(message: Record<string, unknown>, choice = 0): void {
    const { tool_calls: calls, function_call: call, images, content } = message
    if (Array.isArray(images)) this.#pictures += countPictures(images)
    if (Array.isArray(content)) this.#pictures += countPictures(content)
    const callBytes = calls === undefined && call === undefined ? 0 : this.#countCallBytes(choice, calls, call)
    this.addBytes(countTextBytes(message) + callBytes)
  }

  addEvent(event: AnswerEvent): void {
    if (event.kind === 'call' && event.name !== '') (this.#callers ??= new Set()).add(0)
    if (event.kind === 'image') this.#pictures++
    this.addBytes(countEventBytes(event))
  }

  /** A whole answer, whose pieces tell nothing of its tokens. */
  addWhole(events: readonly AnswerEvent[]): void {
    this.addBytes(events.reduce((bytes, event) => bytes + countEventBytes(event), 0))
    this.#pictures += events.filter(({ kind }) => kind === 'image').length
  }

  /** Output bytes of an event that holds text only. */
  addBytes(bytes: number): void {
    if (bytes === 0) return
    this.#events++
    this.#bytes += bytes
  }

  /** Bytes of generated text. */
  get bytes(): number {
    return this.#bytes
  }

  get isEmpty(): boolean {
    return this.#bytes === 0 && this.#pictures === 0
  }

  /** Of texts and pictures. */
  get tokens(): number {
    const textTokens = this.#bytes <= 8 * this.#events ? this.#events : bytesToTokens(this.#bytes)
    return textTokens + this.#pictures * drawnPictureTokens
  }

  /**
   * Tokens that the output has at least: an event may be less than a token, so the bytes must be there as well; and where an event is many
   * tokens, sixteen bytes count as one.
   */
  get provenTokens(): number {
    return Math.max(Math.min(this.#events, this.#bytes / 4), this.#bytes / 16)
  }

  /** Whether this choice has made a call. */
  hasCalls(choice: number): boolean {
    return this.#callers?.has(choice) === true
  }

  /** The same call may stand in both fields: the larger one counts. */
  #countCallBytes(choice: number, calls: unknown, call: unknown): number {
    const list: readonly unknown[] = Array.isArray(calls) ? calls : [calls]
    let bytes = 0
    for (const [position, each] of list.entries()) bytes += this.#countCall(choice, each, position)
    return Math.max(bytes, this.#countCall(choice, call, 'legacy'))
  }

  #countCall(choice: number, call: unknown, position: number | 'legacy'): number {
    if (!isRecord(call)) return 0
    const bytes = countBytes(call)
    const calledFunction = call['function'] ?? call['custom'] ?? call
    const name = isRecord(calledFunction) ? calledFunction['name'] : undefined
    if (typeof name !== 'string' || name === '') return bytes
    const key = JSON.stringify([choice, call['index'] ?? position, call['id'] ?? null, name])
    if (position !== 'legacy') (this.#callers ??= new Set()).add(choice)
    this.#names ??= new Set()
    if (!this.#names.has(key)) {
      this.#names.add(key)
      return bytes
    }
    return Math.max(0, bytes - Buffer.byteLength(name))
  }
}

function countEventBytes(event: AnswerEvent): number {
  if (event.kind === 'call') return Buffer.byteLength(event.name) + Buffer.byteLength(event.arguments)
  return event.kind === 'text' || event.kind === 'refusal' || event.kind === 'reasoning' ? Buffer.byteLength(event.text) : 0
}

/** What is assumed for a picture that a model draws: upstreams report 1 056 to 1 290 tokens for one of a megapixel. */
const drawnPictureTokens = 1_290

/** Pictures that begin in these parts; the later pieces of one are none. */
function countPictures(parts: readonly unknown[]): number {
  const urls = parts.map((part) => (isRecord(part) ? toPictureUrl(part) : null))
  return urls.filter((url) => url !== null && isPictureStart(url)).length
}

export function bytesToTokens(bytes: number): number {
  return Math.ceil(bytes / 4)
}

/** Bytes of billable output without calls. Some upstreams repeat the same reasoning under two or three names. */
function countTextBytes(message: Record<string, unknown>): number {
  const { content, reasoning_content: thought, reasoning, reasoning_details: details } = message
  const { refusal, audio } = message
  let bytes = typeof content === 'string' ? Buffer.byteLength(content) : countBytes(content)
  if (thought !== undefined || reasoning !== undefined || details !== undefined)
    bytes += Math.max(countBytes(thought), countBytes(reasoning), countBytes(details))
  if (refusal !== undefined) bytes += countBytes(refusal)
  if (audio !== undefined) bytes += countBytes(audio)
  return bytes
}

/** Names of parts that hold generated text; other parts hold ids, kinds and URLs. */
const outputFields = new Set(['text', 'thinking', 'reasoning', 'summary', 'refusal', 'name', 'function', 'custom', 'transcript'])
/** Names of the fields that hold what a tool is called with. */
const argumentFields = new Set(['arguments', 'input'])

function countBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (typeof value !== 'object' || value === null) return 0
  let bytes = 0
  if (Array.isArray(value)) for (const item of value as unknown[]) bytes += countBytes(item)
  else
    for (const [name, part] of Object.entries(value))
      if (argumentFields.has(name)) bytes += countArguments(part)
      else if (outputFields.has(name)) bytes += countBytes(part)
  return bytes
}

/** All of an object of arguments is output, under whatever names: it is forwarded as text. */
function countArguments(value: unknown): number {
  return typeof value === 'object' && value !== null ? Buffer.byteLength(JSON.stringify(value)) : countBytes(value)
}
