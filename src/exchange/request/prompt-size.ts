/**
 * Estimates the tokens of a prompt from its text without a tokenizer, because this runs for every request.
 *
 * It computes two figures. The maximum is used for the hold; the likely number is charged if the upstream reports no usage.
 */
import { findMedia } from '../../conversation/media/find-media.ts'
import { computeMediaTokens } from '../../conversation/media/media-tokens.ts'
import type { MediaFigures } from '../../conversation/media/media-tokens.ts'
import type { Product } from '../../domain/billing/catalog/product.ts'
import { breakpointsField } from './anthropic-fields.ts'
import { isRecord } from './chat-request.ts'
import type { ChatRequest } from './chat-request.ts'
import { findNativeExtra } from './form/native-request.ts'
import { getAnalysis } from './request-analysis.ts'
import type { PromptCount } from './request-analysis.ts'
import { estimateTokens } from './token-estimate.ts'
import { countMaxTokens } from './token-upper-bound.ts'

/** Bytes of a text that is not known yet are this many per token. */
const unreadBytesPerToken = 3
/** Tokens that upstreams' templates add to a conversation: start, opening of the answer, instructions. */
const tokensAroundRequest = { likely: 3, max: 128 } as const
/** Tokens around one message: role and delimiters. */
const tokensAroundMessage = { likely: 4, max: 8 } as const
/** Instructions that come with tools, and delimiters of each tool. */
const tokensAroundTools = { likely: 64, max: 256 } as const
/** Delimiters of a value in JSON. Likely: between those of compact JSON (1.3) and of JSON with spaces (2.2). */
const tokensAroundValue = { likely: 1.6, max: 4 } as const
/** A text whose likely tokens are a smaller part of its maximum was made to be underestimated. Ordinary text has a fifth or more. */
const minLikelyPart = 1 / 8

interface PromptSize {
  /** Bytes of the request without its files. */
  readonly textBytes: number
  /** Likely tokens: messages and tools by `estimateTokens`, media by kind. */
  readonly tokens: number
  /** The part of `tokens` that is media. */
  readonly mediaTokens: number
  /** Maximum tokens: text by `countMaxTokens`, media by their maximum. At least `tokens`. */
  readonly maxTokens: number
  /** The part of `maxTokens` that is media. */
  readonly maxMediaTokens: number
  /** Number of pictures, documents, recordings and videos. */
  readonly media: number
}

/** Figures of a product, with the installation's figure for pictures where the product has none. */
export function getMediaFigures(
  { media }: Pick<Product, 'media'>,
  { imageTokens }: { readonly imageTokens: number },
): MediaFigures {
  return { ...media, imageTokens: media.imageTokens ?? imageTokens }
}

/** Estimates a prompt. Media are counted by kind and figures, never by the length of their data. */
export function measurePrompt(chat: ChatRequest, figures: MediaFigures): PromptSize {
  const { media, mediaBytes, maxTextTokens, likelyTextTokens } = getAnalysis(chat)?.count ?? countPrompt(chat)
  const { bytes, unreadBytes = 0 } = chat
  const { likely: mediaTokens, max: maxMediaTokens } = computeMediaTokens(media, figures)
  const tokens = Math.ceil(likelyTextTokens + unreadBytes / unreadBytesPerToken) + mediaTokens
  return {
    textBytes: Math.max(0, bytes - mediaBytes),
    tokens,
    mediaTokens,
    maxTokens: Math.max(tokens, maxTextTokens + unreadBytes + maxMediaTokens),
    maxMediaTokens,
    media: media.length,
  }
}

export function countPrompt(chat: ChatRequest): PromptCount {
  const { messages, body } = chat
  const { likely, max } = tokensAroundRequest
  const count: PromptCount = { media: [], mediaBytes: 0, maxTextTokens: max, likelyTextTokens: likely }
  for (const message of messages) addMessage(count, message)
  const { tools, functions } = body
  if ((tools ?? functions) !== undefined) addConstant(count, tokensAroundTools)
  for (const [field, value] of Object.entries(body)) if (field !== 'messages') addJson(count, value, toolFields.has(field))
  const { prompt = [], settings = [] } = findNativeExtra(chat) ?? {}
  for (const value of prompt) addJson(count, value, true)
  for (const value of settings) addJson(count, value, false)
  return count
}

/** Fields of the body, besides the messages, that templates print into the prompt. */
const toolFields: ReadonlySet<string> = new Set(['tools', 'functions'])
/** Fields of a message that refer to another one, and that templates seldom print. */
const idFields: ReadonlySet<string> = new Set(['id', 'tool_call_id'])

function addMessage(count: PromptCount, message: unknown): void {
  addConstant(count, tokensAroundMessage)
  if (!isRecord(message)) return
  for (const [field, value] of Object.entries(message)) {
    if (field === breakpointsField) continue
    if (mediaFields.has(field) && Array.isArray(value)) {
      // Templates print a tool's result as JSON, with escaped quotes and line ends.
      for (const part of value as unknown[]) addPart(count, part, message['role'] === 'tool')
    }
    // `tokensAroundMessage` includes the likely tokens of the role.
    else if (field !== 'content') addJson(count, value, field !== 'role' && !idFields.has(field))
    else if (message['role'] === 'tool') addJson(count, value, true)
    else if (typeof value === 'string') addText(count, value)
  }
}

/** Fields of a message with parts; some servers return drawn pictures as `images`. */
const mediaFields: ReadonlySet<string> = new Set(['content', 'images'])

function addPart(count: PromptCount, part: unknown, isPrintedAsJson: boolean): void {
  if (!isRecord(part)) {
    if (isPrintedAsJson) addJson(count, part, true)
    return
  }
  const media = findMedia(part)
  if (media !== null) {
    count.media.push(media.item)
    count.mediaBytes += media.length
    addConstant(count, tokensAroundMessage)
    // Names and settings beside the file are printed by few templates.
    addJson(count, media.rest, false)
  } else if (part['type'] === 'text' && typeof part['text'] === 'string' && !isPrintedAsJson) {
    count.maxTextTokens++
    addText(count, part['text'])
  } else addJson(count, part, true)
}

function addConstant(count: PromptCount, { likely, max }: { readonly likely: number; readonly max: number }): void {
  count.likelyTextTokens += likely
  count.maxTextTokens += max
}

function addText(count: PromptCount, text: string, isLikely = true): void {
  const maxTokens = countMaxTokens(text)
  count.maxTextTokens += maxTokens
  if (isLikely) count.likelyTextTokens += Math.max(estimateTokens(text), maxTokens * minLikelyPart)
}

/**
 * Adds a value as JSON in a prompt: its text with escapes, and delimiters, line ends and indentation around each member. `isLikely` is
 * false for what only some templates print: it counts towards the maximum alone.
 */
function addJson(count: PromptCount, value: unknown, isLikely: boolean): void {
  count.maxTextTokens += tokensAroundValue.max
  if (isLikely) count.likelyTextTokens += tokensAroundValue.likely
  if (typeof value === 'string') {
    addText(count, value, isLikely)
    count.maxTextTokens += countEscapes(value)
  } else if (typeof value === 'number') {
    const { length } = String(value)
    count.maxTextTokens += length
    if (isLikely) count.likelyTextTokens += length / digitsPerToken
  } else if (typeof value === 'object' && value !== null)
    for (const [name, inner] of Object.entries(value)) {
      if (!Array.isArray(value)) addJson(count, name, isLikely)
      addJson(count, inner, isLikely && !idFields.has(name))
    }
}

const digitsPerToken = 3

/** Characters that JSON writes as two or six characters. */
function countEscapes(text: string): number {
  let more = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 0x22 || code === 0x5c || code === 0x0a) more += 1
    // Some serializers escape these for web pages.
    else if (code < 0x20 || code === 0x3c || code === 0x3e || code === 0x26 || code === 0x27) more += 5
  }
  return more
}
