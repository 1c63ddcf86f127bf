/**
 * Adapts a request after a rejection. The gateway adds fields to a member's request and changes others; if a target rejects one of those,
 * the member is not at fault: nothing was produced, so the request is sent again in the target's format.
 */
import type { FilePartKind } from '../../conversation/media/find-media.ts'
import type { UpstreamFormat } from '../format/upstream-format.ts'
import {
  findRefusedMedia,
  isReasoningMissing,
  isSignatureInvalid,
  isSignatureMissing,
  isToolMediaRejected,
} from './content-rejection.ts'
import { addPromptMargin } from './dialect.ts'
import type { Dialect } from './dialect.ts'
import { readErrorBody, withoutQuotedPhrases } from '../errors/error-body.ts'
import type { ErrorBody } from '../errors/error-body.ts'
import type { FailureFacts } from '../../exchange/upstream-failure.ts'
import { outputCapRejected, fieldRejected, contextOverflow, matchesPattern } from '../errors/error-patterns.ts'

/** What the gateway added to the request. */
interface AddedFields {
  /** The cap that was sent, and whether the gateway added it because the caller set none. */
  readonly outputCap: number
  readonly isCapAdded: boolean
  /** Whether the caller requested no stream; the gateway always does. */
  readonly isStreamAdded: boolean
  /** Whether the request was translated from another API format, whose clients set defaults of their own. */
  readonly isTranslated: boolean
  /** The upstream's format, if it offers no chat completions. */
  readonly format: Pick<UpstreamFormat, 'findRejectedFields' | 'isNativeRejected'> | null
  /** Estimated prompt tokens. */
  readonly promptTokens: number
  /** Of the caller; empty without one. */
  readonly account: string
  /** Reads which files the request has; default none. */
  readonly listMedia?: () => SentMedia
}

interface SentMedia {
  readonly kinds: ReadonlySet<FilePartKind>
  readonly inToolResult: boolean
}

export interface RequestAdaptation {
  /** The added field that the target rejects. */
  readonly rejectedField: string
  /** Whether a retry can succeed; the dialect has been updated. */
  readonly retryable: boolean
  /** A cap for this turn only. */
  readonly outputCap: number | null
  /** For this turn only: without the encrypted reasoning of earlier answers. */
  readonly withoutEncryptedReasoning?: boolean
}

/** Returns null if the rejection is about none of the added fields. Otherwise updates the dialect. */
export function adaptToRejection(facts: FailureFacts, added: AddedFields, dialect: Dialect): RequestAdaptation | null {
  if (facts.kind !== 'status' || ![400, 413, 422].includes(facts.status)) return null
  const body = withoutQuotedPhrases(readErrorBody(facts.body, facts.contentType))
  const text = body.text.replaceAll(/(?<=\d),(?=\d{3}\b)/g, '')
  return (
    adaptEncryptedReasoning(body, added) ??
    adaptMissingReasoning(body, added, dialect) ??
    adaptMedia(body, added, dialect) ??
    adaptRole(text, dialect) ??
    adaptOutputCap(body, text, added, dialect) ??
    adaptFormat(text, added, dialect) ??
    adaptNative(text, added, dialect) ??
    adaptTranslatedField(body, text, added, dialect) ??
    adaptField(body, text, added, dialect)
  )
}

/** Another target wrote it, or this one before its key was changed. */
function adaptEncryptedReasoning(body: ErrorBody, { format }: AddedFields): RequestAdaptation | null {
  const { codes, text } = body
  const isRejected = codes.includes('invalid_encrypted_content') || /\bencrypted content\b.{0,200}\bcould not be\b/is.test(text)
  if (!isSignatureInvalid(body) && (format === null || !isRejected)) return null
  return { rejectedField: 'encrypted_content', retryable: true, outputCap: null, withoutEncryptedReasoning: true }
}

/** A history that began with another model, or whose client does not return reasoning. */
function adaptMissingReasoning(body: ErrorBody, { format }: AddedFields, dialect: Dialect): RequestAdaptation | null {
  if (format !== null) return null
  if (isReasoningMissing(body)) {
    const retryable = !dialect.requiresReasoning
    dialect.requiresReasoning = true
    return { rejectedField: 'reasoning_content', retryable, outputCap: null }
  }
  if (!isSignatureMissing(body)) return null
  const retryable = !dialect.requiresSignatures
  dialect.requiresSignatures = true
  return { rejectedField: 'thought_signature', retryable, outputCap: null }
}

/** What the member sends stays in the conversation: without this, each later turn of it would fail as well. */
function adaptMedia(body: ErrorBody, { listMedia, format }: AddedFields, dialect: Dialect): RequestAdaptation | null {
  const isToolMedia = format === null && !dialect.refusesToolMedia && isToolMediaRejected(body)
  if (listMedia === undefined || !(isToolMedia || findRefusedMedia(body, allKinds).length > 0)) return null
  const { kinds, inToolResult } = listMedia()
  if (isToolMedia && inToolResult) {
    dialect.refusesToolMedia = true
    return { rejectedField: 'messages', retryable: true, outputCap: null }
  }
  const refusedKinds = findRefusedMedia(body, kinds)
  if (refusedKinds.length === 0) return null
  const retryable = refusedKinds.some((kind) => !dialect.refusedMedia.has(kind))
  for (const kind of refusedKinds) dialect.refusedMedia.add(kind)
  return { rejectedField: 'messages', retryable, outputCap: null }
}

const allKinds: ReadonlySet<FilePartKind> = new Set(['document', 'audio', 'video'])

/** DeepSeek and older templates do not support `developer`. */
function adaptRole(text: string, dialect: Dialect): RequestAdaptation | null {
  if (dialect.developerRole !== 'developer' || !/\bdeveloper\b/.test(text) || !/\b(?:role|variant)\b/i.test(text)) return null
  dialect.developerRole = 'system'
  return { rejectedField: 'role', retryable: true, outputCap: null }
}

function adaptOutputCap(body: ErrorBody, text: string, added: AddedFields, dialect: Dialect): RequestAdaptation | null {
  const field = parseRejectedField(body, text)
  const isCapRejected = field === 'max_tokens' || field === 'max_completion_tokens'
  if (isCapRejected && matchesPattern(body, fieldRejected)) {
    // Which of the two names the cap has is the gateway's choice, even if the caller set the number.
    const earlierCapField = dialect.capField
    dialect.capField = field === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
    return { rejectedField: field, retryable: dialect.capField !== earlierCapField, outputCap: null }
  }
  const context = parseNumber(text, contextLengthPatterns)
  if (context !== null && matchesPattern(body, contextOverflow)) {
    dialect.contextLength = context
    if (!added.isCapAdded) return null
    const prompt = parseNumber(text, promptTokensPatterns)
    if (prompt !== null && prompt >= context) return null
    // "At least" is the count at which the target stopped counting.
    const room =
      context -
      (prompt === null || /at least \d/.test(text) ? Math.max(prompt ?? 0, addPromptMargin(added.promptTokens)) : prompt)
    const outputCap = room > 0 ? room : Math.floor(context / 4)
    return outputCap < added.outputCap ? { rejectedField: 'max_tokens', retryable: true, outputCap } : null
  }
  if (!added.isCapAdded || !(isCapRejected || matchesPattern(body, outputCapRejected))) return null
  const maxOutputTokens = parseNumber(text, maxOutputPatterns)
  const outputCap = maxOutputTokens ?? fallbackOutputCap
  if (maxOutputTokens !== null) dialect.maxOutputTokens = maxOutputTokens
  return { rejectedField: 'max_tokens', retryable: outputCap < added.outputCap, outputCap }
}

/** Settings that a model of the upstream's own format rejects. */
function adaptFormat(text: string, { format }: AddedFields, dialect: Dialect): RequestAdaptation | null {
  const fields = format?.findRejectedFields(text) ?? []
  const [rejectedField] = fields
  if (rejectedField === undefined) return null
  const retryable = fields.some((field) => !dialect.droppedFields.has(field))
  for (const field of fields) dialect.droppedFields.add(field)
  return { rejectedField, retryable, outputCap: null }
}

/** A server that knows less of the API than the client, or a client that sends more than the API has: its account's requests are translated from now on. */
function adaptNative(text: string, { format, isTranslated, account }: AddedFields, dialect: Dialect): RequestAdaptation | null {
  if (!isTranslated || format?.isNativeRejected?.(text) !== true) return null
  return { rejectedField: 'messages', retryable: dialect.refuseNative(account), outputCap: null }
}

/** Codex and Claude Code send an effort with every request, also to models without reasoning. */
function adaptTranslatedField(body: ErrorBody, text: string, added: AddedFields, dialect: Dialect): RequestAdaptation | null {
  if (!added.isTranslated || !matchesPattern(body, fieldRejected)) return null
  const rejectedField = translatedField.exec(`${body.param ?? ''}\n${text}`)?.[0].replace('.', '_')
  if (rejectedField === undefined) return null
  const retryable = !dialect.droppedTranslatedFields.has(rejectedField)
  dialect.droppedTranslatedFields.add(rejectedField)
  return { rejectedField, retryable, outputCap: null }
}

const translatedField = /\b(?:reasoning[_.]effort|reasoning_content|parallel_tool_calls|verbosity)\b/

function adaptField(body: ErrorBody, text: string, added: AddedFields, dialect: Dialect): RequestAdaptation | null {
  const field = parseRejectedField(body, text)
  if (field === 'stream') return added.isStreamAdded ? { rejectedField: field, retryable: false, outputCap: null } : null
  if (field === null || !optionalFields.has(field)) return null
  const retryable = !dialect.droppedFields.has(field)
  dialect.droppedFields.add(field)
  return { rejectedField: field, retryable, outputCap: null }
}

/**
 * Fields that the gateway adds or replaces, and that a turn does not need; and `prompt_cache_key`, which Codex sends with each request and
 * which only hints at a cache; and the encoding of embeddings, which the gateway can change itself.
 */
const optionalFields: ReadonlySet<string> = new Set([
  'stream_options',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'encoding_format',
])

/** Tried if a cap is rejected without naming the limit. */
const fallbackOutputCap = 1_024

/** The field that a rejection names: in `param`, else the first known field in its text. */
function parseRejectedField({ param }: ErrorBody, text: string): string | null {
  const namedField =
    param ??
    /\b(?:max_completion_tokens|max_tokens|stream_options|safety_identifier|prompt_cache_key|encoding_format)\b/.exec(
      text,
    )?.[0] ??
    parseQuotedField(text)
  return namedField === null ? null : (/^(?:body\.)?([a-z_]+)/.exec(namedField)?.[1] ?? null)
}

/** "user" is an ordinary word unless it is quoted or stands where a field name does. */
function parseQuotedField(text: string): string | null {
  return (
    /(?:['"`](user|stream)['"`]|(?:argument|parameter|field|property)(?: supplied| name)?:? (user|stream)\b)/i
      .exec(text)
      ?.slice(1)
      .find(Boolean) ?? null
  )
}

function parseNumber(text: string, patterns: readonly RegExp[]): number | null {
  for (const pattern of patterns) {
    const parsedNumber = Number(pattern.exec(text)?.[1])
    if (Number.isSafeInteger(parsedNumber) && parsedNumber > 0) return parsedNumber
  }
  return null
}

/** vLLM, OpenAI, OpenRouter, SGLang; TGI and Together; Anthropic; llama.cpp. */
const contextLengthPatterns = [
  /maximum context length (?:is|of) (?:only )?(\d+)/i,
  /context (?:length|window|size) (?:is|of) (?:only )?(\d+)/i,
  /max_new_tokens`? must be <= (\d+)/i,
  /context limit: \d+ \+ \d+ > (\d+)/i,
  /available context size \((\d+)/i,
]

const promptTokensPatterns = [
  /\((\d+) (?:in the messages|of text input|in the prompt|of input)/i,
  /has (\d+) input tokens/i,
  /at least (\d+) input tokens/i,
  /passed (\d+) input tokens/i,
  /given: (\d+) `?inputs/i,
  /(\d+) tokens from the input/i,
  /context limit: (\d+) \+/i,
]

const maxOutputPatterns = [
  /at most (\d+) (?:completion|output) tokens/i,
  /range of `?max_(?:completion_)?tokens`? (?:is|should be) ?[[(]\d+, ?(\d+)/i,
  /max_tokens: \d+ > (\d+)/i,
  /expected a value <= (\d+)/i,
  /(?:less than or equal to|must be <=|at most|no (?:more|larger|greater) than|cannot exceed|not exceed) `?(\d+)/i,
  /supported range is from \d+ \(inclusive\) to (\d+) \(exclusive\)/i,
  /max(?:imum)?[ _]?(?:allowed )?(?:number of )?(?:output|completion|new)[ _]tokens[^\d]{0,40}(\d+)/i,
]
