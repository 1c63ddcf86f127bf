/**
 * What a prompt will cost before anybody has counted it: by its text and not by a tokeniser, because this stands on every request's way.
 *
 * Two figures of one prompt. What it can cost *at most* is what a hold is made of; what it *likely* costs is what is charged where an
 * upstream reports nothing.
 */
import { isRecord } from './chat-request.ts'
import type { ChatRequest } from './chat-request.ts'
import type { PromptCount } from './large/answers.ts'
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
  const { images, imageBytes, most, pictures } = chat.worked?.count ?? countOf(chat)
  const textBytes = Math.max(0, chat.bytes - imageBytes)
  const tokens = Math.ceil(textBytes / likelyBytesPerToken) + images * imageTokens
  const mostTokens = Math.max(tokens, most + (chat.unreadBytes ?? 0) + pictures * imageTokens)
  return { textBytes, tokens, mostTokens, images }
}

export function countOf({ messages, body }: ChatRequest): PromptCount {
  const count: PromptCount = { images: 0, imageBytes: 0, most: tokensAroundRequest, pictures: 0 }
  for (const message of messages) addMessage(count, message)
  const { tools, functions } = body
  if ((tools ?? functions) !== undefined) count.most += tokensAroundTools
  for (const [field, value] of Object.entries(body)) if (field !== 'messages') addJson(count, value)
  return count
}

function addMessage(count: PromptCount, message: unknown): void {
  count.most += tokensAroundMessage
  if (!isRecord(message)) return
  for (const [field, value] of Object.entries(message)) {
    if (field !== 'content') addJson(count, value)
    // Templates print what a tool has said as JSON, with its quotes and line ends escaped.
    else if (message['role'] === 'tool') addJson(count, value)
    else if (typeof value === 'string') count.most += mostTokens(value)
    else if (Array.isArray(value)) for (const part of value as unknown[]) addPart(count, part)
  }
}

function addPart(count: PromptCount, part: unknown): void {
  if (!isRecord(part)) return
  const { type, text } = part
  if (type === 'image_url') {
    count.images++
    count.pictures++
    const url = isRecord(part['image_url']) ? part['image_url']['url'] : part['image_url']
    if (typeof url === 'string') count.imageBytes += url.length
  } else if (type === 'text' && typeof text === 'string') {
    count.most += 1 + mostTokens(text)
  } else if (type === 'input_audio' && isRecord(part['input_audio']))
    count.most += tokensAroundMessage + Math.ceil(lengthOf(part['input_audio']['data']) / audioCharactersPerToken)
  else {
    if (type === 'video_url') count.most += tokensOfVideo
    else count.pictures++
    addJson(count, part)
  }
}

/**
 * A value as it comes to stand in a prompt, printed as JSON: its text, with what escaping makes of it, and marks, line ends and
 * indentation around each of its members.
 */
function addJson(count: PromptCount, value: unknown): void {
  count.most += tokensAroundValue
  if (typeof value === 'string') count.most += mostTokens(value) + escapesIn(value)
  else if (typeof value === 'number') count.most += String(value).length
  else if (typeof value === 'object' && value !== null)
    for (const [name, inner] of Object.entries(value)) {
      if (!Array.isArray(value)) addJson(count, name)
      addJson(count, inner)
    }
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
