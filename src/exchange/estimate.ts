/**
 * What a prompt will cost before anybody has counted it: by its text and not by a tokeniser, because this stands on every request's way.
 *
 * Two figures of one prompt. What it can cost *at most* is what a hold is made of; what it *likely* costs is what is charged where an
 * upstream reports nothing.
 */
import { isRecord } from './chat-request.ts'
import type { ChatRequest } from './chat-request.ts'
import { mostTokens } from './token-bound.ts'

/** Ordinary text in any language has three bytes a token or more. */
const likelyBytesPerToken = 3
/** What the templates of upstreams put around a conversation: the start, an opening of the answer, the instructions some add. */
const tokensAroundRequest = 128
/** Around one message: its role and its borders. */
const tokensAroundMessage = 8
/** The instructions that come with tools, and what surrounds each of them. */
const tokensAroundTools = 256
/** A video that is only an address says nothing of its length; this is where models that look at them stop. */
const tokensOfVideo = 16_384
/** No codec for speech says more seconds in fewer bytes than upstreams count tokens for. */
const audioCharactersPerToken = 16

export interface PromptSize {
  /** Bytes of the request without its inline images. */
  readonly textBytes: number
  /** Tokens to assume: a third of the text's bytes, and `imageTokens` for each image whatever its size. */
  readonly tokens: number
  /** Tokens it can be at most: text by `mostTokens`, all else by what it adds at most. Never fewer than `tokens`. */
  readonly mostTokens: number
  readonly images: number
}

export function promptSize(chat: ChatRequest, imageTokens: number): PromptSize {
  const count: Count = { images: 0, imageBytes: 0, most: tokensAroundRequest + (chat.unreadBytes ?? 0), imageTokens }
  for (const message of chat.messages) addMessage(count, message)
  const { tools, functions } = chat.body
  if ((tools ?? functions) !== undefined) count.most += tokensAroundTools
  for (const [field, value] of Object.entries(chat.body)) if (field !== 'messages') count.most += mostOfJson(value)
  const textBytes = Math.max(0, chat.bytes - count.imageBytes)
  const tokens = Math.ceil(textBytes / likelyBytesPerToken) + count.images * imageTokens
  return { textBytes, tokens, mostTokens: Math.max(tokens, count.most), images: count.images }
}

interface Count {
  images: number
  imageBytes: number
  most: number
  readonly imageTokens: number
}

function addMessage(count: Count, message: unknown): void {
  count.most += tokensAroundMessage
  if (!isRecord(message)) return
  for (const [field, value] of Object.entries(message)) {
    if (field !== 'content') count.most += mostOfJson(value)
    // Templates print what a tool has said as JSON, with its quotes and line ends escaped.
    else if (message['role'] === 'tool') count.most += mostOfJson(value)
    else if (typeof value === 'string') count.most += mostTokens(value)
    else if (Array.isArray(value)) for (const part of value as unknown[]) addPart(count, part)
  }
}

function addPart(count: Count, part: unknown): void {
  if (!isRecord(part)) return
  const { type, text } = part
  if (type === 'image_url') {
    count.images++
    count.most += count.imageTokens
    const url = isRecord(part['image_url']) ? part['image_url']['url'] : part['image_url']
    if (typeof url === 'string') count.imageBytes += url.length
  } else if (type === 'text' && typeof text === 'string') count.most += mostTokens(text) + 1
  else if (type === 'input_audio' && isRecord(part['input_audio']))
    count.most += tokensAroundMessage + Math.ceil(lengthOf(part['input_audio']['data']) / audioCharactersPerToken)
  else count.most += (type === 'video_url' ? tokensOfVideo : count.imageTokens) + mostOfJson(part)
}

/**
 * A value as it comes to stand in a prompt, printed as JSON: its text, with what escaping makes of it, and marks, line ends and
 * indentation around each of its members.
 */
function mostOfJson(value: unknown): number {
  if (typeof value === 'string') return mostTokens(value) + escapesIn(value) + tokensAroundValue
  if (typeof value === 'number') return String(value).length + tokensAroundValue
  if (typeof value !== 'object' || value === null) return tokensAroundValue
  let most = tokensAroundValue
  for (const [name, inner] of Object.entries(value)) most += (Array.isArray(value) ? 0 : mostOfJson(name)) + mostOfJson(inner)
  return most
}

const tokensAroundValue = 4

/** Characters that JSON writes as two, or as six. */
function escapesIn(text: string): number {
  let more = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 0x22 || code === 0x5c || code === 0x0a) more += 1
    // Some printers escape these for web pages.
    else if (code < 0x20 || code === 0x3c || code === 0x3e || code === 0x26 || code === 0x27) more += 5
  }
  return more
}

function lengthOf(value: unknown): number {
  return typeof value === 'string' ? value.length : 0
}
