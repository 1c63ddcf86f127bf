/** The plan of each turn of the run, derived from the seed and the turn's number alone, so that a turn can be reproduced. */

import { drawDishonestReading, largeAnswer, stretchedAnswer } from './dishonest-reading.ts'
import type { DishonestReading } from './dishonest-reading.ts'
import type { ApiFormatName } from '../../src/exchange/api-format/api-format-name.ts'

/** The same numbers for the same seed (mulberry32). */
export class SeededRandom {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 up to 1. */
  next(): number {
    this.#state = (this.#state + 0x6d_2b_79_f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  /** A whole number from `least` to `most`. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1))
  }

  /** One of the names, with the probability of its weight. */
  pick<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const names = Object.keys(weights) as Name[]
    let remaining = this.next() * names.reduce((sum, name) => sum + weights[name], 0)
    for (const name of names) if ((remaining -= weights[name]) < 0) return name
    return names[0] as Name
  }
}

/** `every_chunk`: each chunk reports the tokens so far. */
export type UsageReport = 'right' | 'missing' | 'zero' | 'in_choice' | 'every_chunk'

export type Ending =
  | 'complete'
  | 'status'
  | 'reset_at_once'
  | 'reset_midway'
  | 'error_midway'
  | 'no_finish'
  | 'garbage'
  | 'web_page'
  /** A request for a stream gets a 200 without an event; a request for a whole response gets the whole response. */
  | 'empty_stream'

/**
 * How an upstream of chat completions differs from OpenAI's: content in parts (Mistral), usage in `x_groq`, the whole message once more at
 * the end (MiniMax), a finish reason in capitals (Gemini's compatible endpoint), cached tokens by another name (DeepSeek).
 */
export type VendorForm = 'plain' | 'parts' | 'x_groq' | 'repeated_end' | 'capitals' | 'cache_hits'

/** The upstream's behaviour for one turn. Each token is four bytes, so that counts by events and by bytes agree. */
export interface Script {
  readonly ending: Ending
  readonly status: number
  readonly usage: UsageReport
  readonly inputTokens: number
  /** Prompt tokens reported as read from a cache; null: not reported. More than the prompt is a lie that a chat completion can tell. */
  readonly cachedTokens: number | null
  readonly tokens: number
  /** Tokens of hidden reasoning that are reported: beside the completion, or as thoughts. */
  readonly reasoningTokens: number
  /** The report of the prompt is far above its text: what no hold covers is charged up to the hold. */
  readonly hasLargeReport: boolean
  /** Of answers of chat completions. */
  readonly vendorForm: VendorForm
  /** Tokens of each event. */
  readonly chunkTokens: number
  /** Tokens sent before a failure midway. */
  readonly failsAfter: number
  /** Answers with a JSON document although a stream was requested. */
  readonly answersWithDocument: boolean
  /** It produces all its tokens, whatever `max_tokens` is. */
  readonly ignoresCap: boolean
  /** The output is a tool call, and each chunk repeats the name of the tool. */
  readonly repeatsToolName: boolean
  /** After an error status it keeps the connection and resets it when the next request arrives. */
  readonly resetsKeptConnection: boolean
  readonly headMs: number
  /** Milliseconds between tokens; with 0 all are one write. */
  readonly paceMs: number
}

export interface TurnPlan {
  readonly number: number
  readonly script: Script
  readonly model: 'svc-2.1' | 'svc-2.1-fast'
  readonly apiFormat: ApiFormatName
  readonly stream: boolean
  readonly maxTokens: number | null
  /** How long the client stays; null until the end. */
  readonly disconnectAfterMs: number | null
  /** The model searches the web once before it answers by the script. */
  readonly search: 'found' | 'fails' | null
  /** A file in the prompt. */
  readonly media: 'picture' | 'document' | null
  /** Retries with the same key if the connection ends without an answer. */
  readonly hasIdempotencyKey: boolean
  /** How the client reads an answer to pay less for it; null: as it comes. */
  readonly dishonest: DishonestReading | null
}

/** The tool of `repeatsToolName`. Counted in each chunk, it would exceed any true report by a factor of ten. */
export const toolName = 'find_the_weather_of_a_city_for_some_days'

export function createTurnPlan(seed: number, number: number): TurnPlan {
  const random = new SeededRandom(Math.imul(seed, 0x9e_37_79_b1) ^ Math.imul(number + 1, 0x85_eb_ca_6b))
  const drawn = random.pick<Ending>({
    complete: 82,
    status: 6,
    reset_at_once: 2,
    reset_midway: 3,
    error_midway: 2,
    no_finish: 1,
    garbage: 1,
    web_page: 1,
    empty_stream: 2,
  })
  const isPaced = random.next() < 0.2
  const plainTokens = random.integer(3, isPaced ? 40 : 60)
  const plainPaceMs = isPaced ? random.integer(2, 20) : 0
  const headMs = random.next() < 0.1 ? random.integer(5, 200) : 0
  const disconnects = random.next() < (isPaced ? 0.5 : 0.08)
  const stream = random.next() < 0.6
  const model = random.next() < 0.7 ? 'svc-2.1' : 'svc-2.1-fast'
  // After one empty stream the gateway requests whole responses from that target, so the other target has none.
  const ending = drawn === 'empty_stream' && model === 'svc-2.1' ? 'complete' : drawn
  const kind = ending === 'complete' ? random.pick({ plain: 88, ignoresCap: 6, repeatsToolName: 6 }) : 'plain'
  const ignoresCap = kind === 'ignoresCap'
  const repeatsToolName = kind === 'repeatsToolName'
  const ignoredCap = random.integer(3, 40)
  const tokens = ignoresCap ? ignoredCap * 5 + 200 : plainTokens
  const paceMs = ignoresCap ? Math.min(plainPaceMs, 5) : plainPaceMs
  // An upstream that ignores the cap is cut off early.
  const lastsMs = headMs + (ignoresCap ? ignoredCap * 2 : tokens) * paceMs
  const usage = random.pick({ right: 70, missing: 12, zero: 8, in_choice: 10 })
  const ignoringUsage = random.next() < 0.5 ? 'missing' : 'every_chunk'
  const maxTokens = ignoresCap ? ignoredCap : random.next() < 0.8 ? random.integer(tokens, 400) : null
  const disconnectAfterMs = disconnects ? random.integer(0, Math.ceil(lastsMs * 1.1) + 15) : null
  const hasIdempotencyKey = random.next() < 0.05
  const apiFormat = random.pick<ApiFormatName>({ chat_completions: 1, responses: 1, messages: 1, gemini: 1 })
  const status = [400, 401, 404, 429, 500, 502, 503][random.integer(0, 6)] ?? 500
  const inputTokens = random.integer(20, 120)
  const failsAfter = random.integer(0, tokens - 1)
  // A client that requested a stream sees this as a failure.
  const answersWithDocument = !stream && !repeatsToolName && random.next() < 0.2
  const resetsKeptConnection = ending === 'status' && random.next() < 0.5
  const cached = random.pick({ unreported: 30, none: 10, some: 40, all: 15, tooMany: 5 })
  const cachedTokens = {
    unreported: null,
    none: 0,
    some: random.integer(1, inputTokens),
    all: inputTokens,
    tooMany: inputTokens * 10,
  }[cached]
  const searches = apiFormat !== 'chat_completions' && kind === 'plain' && model === 'svc-2.1' && random.next() < 0.3
  const search = searches ? random.pick({ found: 85, fails: 15 }) : null
  const plan: TurnPlan = {
    number,
    script: {
      ending,
      status,
      // The estimate of a prompt with the results of a search is not known here.
      usage: ignoresCap ? ignoringUsage : repeatsToolName || searches ? 'right' : usage,
      inputTokens,
      cachedTokens,
      tokens,
      chunkTokens: 1,
      failsAfter,
      answersWithDocument,
      ignoresCap,
      repeatsToolName,
      reasoningTokens: 0,
      hasLargeReport: false,
      vendorForm: 'plain',
      resetsKeptConnection,
      headMs,
      paceMs,
    },
    model,
    apiFormat,
    stream,
    // The Messages API requires a cap.
    maxTokens: maxTokens ?? (apiFormat === 'messages' ? 400 : null),
    disconnectAfterMs,
    search,
    media: null,
    hasIdempotencyKey,
    dishonest: null,
  }
  if (random.next() < dishonestShare) return toDishonestPlan(plan, drawDishonestReading(random))
  return kind === 'plain' && !searches ? addConversationParts(plan, random) : plan
}

/** What a conversation of a real member has besides text, and what reports of real upstreams have. */
function addConversationParts(plan: TurnPlan, random: SeededRandom): TurnPlan {
  const { script } = plan
  const part = random.pick({ none: 55, reasoning: 15, largeReport: 5, picture: 10, document: 5 })
  const vendorForm = random.pick<VendorForm>({ plain: 50, parts: 10, x_groq: 10, repeated_end: 10, capitals: 10, cache_hits: 10 })
  const reasoningTokens = part === 'reasoning' && script.usage !== 'zero' ? random.integer(1, 300) : 0
  const inputTokens = {
    none: script.inputTokens,
    reasoning: script.inputTokens,
    largeReport: random.integer(500, 200_000),
    picture: script.inputTokens + random.integer(85, 1_500),
    document: script.inputTokens + documentPages * random.integer(300, 2_500),
  }[part]
  const cachedTokens = script.cachedTokens === null || part === 'largeReport' ? null : Math.min(script.cachedTokens, inputTokens)
  const changed = { inputTokens, cachedTokens, reasoningTokens, hasLargeReport: part === 'largeReport', vendorForm }
  return {
    ...plan,
    media: part === 'picture' || part === 'document' ? part : null,
    script: { ...script, ...(part === 'none' ? { vendorForm } : changed) },
  }
}

export const documentPages = 3

const dishonestShare = 0.02

/** A whole answer of an upstream that does not fail by itself. */
function toDishonestPlan(plan: TurnPlan, dishonest: DishonestReading): TurnPlan {
  const answer = dishonest.kind === 'stretches' ? stretchedAnswer : largeAnswer
  const faults = { ending: 'complete', answersWithDocument: false, ignoresCap: false, repeatsToolName: false } as const
  const usage = plan.script.usage === 'every_chunk' ? 'right' : plan.script.usage
  return {
    ...plan,
    script: { ...plan.script, ...faults, ...answer, usage, resetsKeptConnection: false },
    stream: true,
    maxTokens: largeAnswer.tokens,
    disconnectAfterMs: null,
    search: null,
    hasIdempotencyKey: false,
    dishonest,
  }
}
