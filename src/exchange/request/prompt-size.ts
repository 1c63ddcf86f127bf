/**
 * Estimates the tokens of a prompt from its text without a tokenizer, because this runs for every request.
 *
 * It computes two figures. The maximum is used for the hold; the likely number is charged if the upstream reports no usage.
 */
import { isRecord } from './chat-request.ts'
import type { ChatRequest } from './chat-request.ts'
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
/** The length of a video URL is unknown; models read at most this much. */
const tokensPerVideo = 16_384
/** Speech codecs need at least this many characters per token. */
const audioCharactersPerToken = 16

interface PromptSize {
  /** Bytes of the request without its inline images. */
  readonly textBytes: number
  /** Likely tokens: messages and tools by `estimateTokens`, and `imageTokens` per image of any size. */
  readonly tokens: number
  /** Maximum tokens: text by `countMaxTokens`, the rest by its maximum. At least `tokens`. */
  readonly maxTokens: number
  readonly images: number
}

export function measurePrompt(chat: ChatRequest, imageTokens: number): PromptSize {
  const { images, imageBytes, maxTextTokens, likelyTextTokens, imageEquivalents } = getAnalysis(chat)?.count ?? countPrompt(chat)
  const { bytes, unreadBytes = 0 } = chat
  const textBytes = Math.max(0, bytes - imageBytes)
  const textTokens = likelyTextTokens + unreadBytes / unreadBytesPerToken
  const tokens = Math.ceil(textTokens) + images * imageTokens
  const maxTokens = Math.max(tokens, maxTextTokens + unreadBytes + imageEquivalents * imageTokens)
  return { textBytes, tokens, maxTokens, images }
}

export function countPrompt({ messages, body }: ChatRequest): PromptCount {
  const { likely, max } = tokensAroundRequest
  const count: PromptCount = { images: 0, imageBytes: 0, maxTextTokens: max, likelyTextTokens: likely, imageEquivalents: 0 }
  for (const message of messages) addMessage(count, message)
  const { tools, functions } = body
  if ((tools ?? functions) !== undefined) addConstant(count, tokensAroundTools)
  for (const [field, value] of Object.entries(body)) if (field !== 'messages') addJson(count, value, toolFields.has(field))
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
    // `tokensAroundMessage` includes the likely tokens of the role.
    if (field !== 'content') addJson(count, value, field !== 'role' && !idFields.has(field))
    // Templates print a tool's result as JSON, with escaped quotes and line ends.
    else if (message['role'] === 'tool') addJson(count, value, true)
    else if (typeof value === 'string') addText(count, value)
    else if (Array.isArray(value)) for (const part of value as unknown[]) addPart(count, part)
  }
}

function addPart(count: PromptCount, part: unknown): void {
  if (!isRecord(part)) return
  const { type, text } = part
  if (type === 'image_url') {
    count.images++
    count.imageEquivalents++
    const url = isRecord(part['image_url']) ? part['image_url']['url'] : part['image_url']
    if (typeof url === 'string') count.imageBytes += url.length
  } else if (type === 'text' && typeof text === 'string') {
    count.maxTextTokens++
    addText(count, text)
  } else if (type === 'input_audio' && isRecord(part['input_audio'])) {
    const audioTokens = Math.ceil(stringLength(part['input_audio']['data']) / audioCharactersPerToken)
    addConstant(count, tokensAroundMessage)
    addConstant(count, { likely: audioTokens, max: audioTokens })
  } else {
    if (type === 'video_url') count.maxTextTokens += tokensPerVideo
    else count.imageEquivalents++
    addJson(count, part, true)
  }
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

function stringLength(value: unknown): number {
  return typeof value === 'string' ? value.length : 0
}
