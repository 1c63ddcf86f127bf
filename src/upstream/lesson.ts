/**
 * What a refusal teaches. We add fields to a member's request and change others; where a target refuses one of those, it is our mistake and
 * not the member's: nothing was produced, so it is asked again in its own way.
 */
import type { Dialect } from './dialect.ts'
import { readErrorBody } from './error-body.ts'
import type { ErrorBody } from './error-body.ts'
import type { UpstreamFacts } from '../exchange/upstream-failure.ts'
import { capRefused, fieldRefused, overflow, says } from './wording.ts'

/** What of the request was ours. */
export interface OurPart {
  /** The cap that was sent, and whether it is ours: the caller named none. */
  readonly cap: number
  readonly capIsOurs: boolean
  /** Whether the caller asked for a stream; we always do. */
  readonly streamIsOurs: boolean
  /** A likely count of the prompt. */
  readonly promptTokens: number
}

export interface Lesson {
  /** The field of ours that it refuses. */
  readonly blamed: string
  /** Whether asking again can go better; the dialect has been taught. */
  readonly learnt: boolean
  /** A cap for this very turn. */
  readonly cap: number | null
}

/** Null where the refusal is about nothing of ours. Otherwise the dialect knows what there was to know. */
export function lessonOf(facts: UpstreamFacts, ours: OurPart, dialect: Dialect): Lesson | null {
  if (facts.kind !== 'status' || ![400, 413, 422].includes(facts.status)) return null
  const body = readErrorBody(facts.body, facts.contentType)
  const text = body.text.replaceAll(/(?<=\d),(?=\d{3}\b)/g, '')
  return roleLesson(text, dialect) ?? capLesson(body, text, ours, dialect) ?? fieldLesson(body, text, ours, dialect)
}

/** DeepSeek and older templates know no `developer`. */
function roleLesson(text: string, dialect: Dialect): Lesson | null {
  if (dialect.developerRole !== 'developer' || !/\bdeveloper\b/.test(text) || !/\b(?:role|variant)\b/i.test(text)) return null
  dialect.developerRole = 'system'
  return { blamed: 'role', learnt: true, cap: null }
}

function capLesson(body: ErrorBody, text: string, ours: OurPart, dialect: Dialect): Lesson | null {
  const field = fieldIn(body, text)
  const blamesCap = field === 'max_tokens' || field === 'max_completion_tokens'
  if (blamesCap && says(body, fieldRefused)) {
    // Which of the two names it goes by is ours to know, whoever named the number.
    const named = dialect.capField
    dialect.capField = field === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
    return { blamed: field, learnt: dialect.capField !== named, cap: null }
  }
  const context = numberIn(text, contextWords)
  if (context !== null && says(body, overflow)) {
    dialect.contextLength = context
    if (!ours.capIsOurs) return null
    const prompt = numberIn(text, promptWords)
    if (prompt !== null && prompt >= context) return null
    // "At least" is what it had counted when it stopped.
    const room = context - (prompt === null || /at least \d/.test(text) ? Math.max(prompt ?? 0, ours.promptTokens) : prompt)
    const cap = room > 0 ? room : Math.floor(context / 4)
    return cap < ours.cap ? { blamed: 'max_tokens', learnt: true, cap } : null
  }
  if (!ours.capIsOurs || !(blamesCap || says(body, capRefused))) return null
  const most = numberIn(text, outputWords)
  const cap = most ?? modestCap
  if (most !== null) dialect.maxOutput = most
  return { blamed: 'max_tokens', learnt: cap < ours.cap, cap }
}

function fieldLesson(body: ErrorBody, text: string, ours: OurPart, dialect: Dialect): Lesson | null {
  const field = fieldIn(body, text)
  if (field === 'stream') return ours.streamIsOurs ? { blamed: field, learnt: false, cap: null } : null
  if (field === null || !spareFields.has(field)) return null
  const learnt = !dialect.leftOut.has(field)
  dialect.leftOut.add(field)
  return { blamed: field, learnt, cap: null }
}

/** Fields we add or replace, and without which a turn goes as well. */
const spareFields: ReadonlySet<string> = new Set(['stream_options', 'user', 'safety_identifier'])

/** What is tried where a cap is refused without a word about how much would do. */
const modestCap = 1_024

/** The field a refusal names: in its own place, else the first of ours that its sentence quotes. */
function fieldIn({ param }: ErrorBody, text: string): string | null {
  const named =
    param ?? /\b(?:max_completion_tokens|max_tokens|stream_options|safety_identifier)\b/.exec(text)?.[0] ?? quotedUser(text)
  return named === null ? null : (/^(?:body\.)?([a-z_]+)/.exec(named)?.[1] ?? null)
}

/** "User" is an ordinary word unless it is quoted or stands where a field's name does. */
function quotedUser(text: string): string | null {
  return (
    /(?:['"`](user|stream)['"`]|(?:argument|parameter|field|property)(?: supplied| name)?:? (user|stream)\b)/i
      .exec(text)
      ?.slice(1)
      .find(Boolean) ?? null
  )
}

function numberIn(text: string, words: readonly RegExp[]): number | null {
  for (const pattern of words) {
    const found = Number(pattern.exec(text)?.[1])
    if (Number.isSafeInteger(found) && found > 0) return found
  }
  return null
}

/** vLLM, OpenAI, OpenRouter, SGLang; TGI and Together; Anthropic; llama.cpp. */
const contextWords = [
  /maximum context length (?:is|of) (?:only )?(\d+)/i,
  /context (?:length|window|size) (?:is|of) (?:only )?(\d+)/i,
  /max_new_tokens`? must be <= (\d+)/i,
  /context limit: \d+ \+ \d+ > (\d+)/i,
  /available context size \((\d+)/i,
]

const promptWords = [
  /\((\d+) (?:in the messages|of text input|in the prompt|of input)/i,
  /has (\d+) input tokens/i,
  /at least (\d+) input tokens/i,
  /passed (\d+) input tokens/i,
  /given: (\d+) `?inputs/i,
  /(\d+) tokens from the input/i,
  /context limit: (\d+) \+/i,
]

const outputWords = [
  /at most (\d+) (?:completion|output) tokens/i,
  /range of `?max_(?:completion_)?tokens`? (?:is|should be) ?[[(]\d+, ?(\d+)/i,
  /max_tokens: \d+ > (\d+)/i,
  /(?:less than or equal to|must be <=|at most|no (?:more|larger|greater) than|cannot exceed|not exceed) `?(\d+)/i,
  /supported range is from \d+ \(inclusive\) to (\d+) \(exclusive\)/i,
  /max(?:imum)?[ _]?(?:allowed )?(?:number of )?(?:output|completion|new)[ _]tokens[^\d]{0,40}(\d+)/i,
]
