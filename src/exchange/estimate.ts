/**
 * What a prompt will cost before anybody has counted it: by its text and not by a tokeniser, because this stands on every request's way.
 *
 * Two figures of one prompt. What it can cost *at most* is what a hold is made of; what it *likely* costs is what is charged where an
 * upstream reports nothing.
 */
import { breath, slice } from './breath.ts'
import { isRecord } from './chat-request.ts'
import type { ChatRequest } from './chat-request.ts'
import { mostTokens, TokenCount } from './token-bound.ts'

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
  const count = countOf(chat, imageTokens)
  for (const text of count.plain) count.most += mostTokens(text)
  for (const text of count.printed) count.most += mostTokens(text) + escapesIn(text, 0, text.length)
  return sizeOf(chat, count)
}

/** The same of a large request, in slices. */
export async function promptSizeInSlices(chat: ChatRequest, imageTokens: number): Promise<PromptSize> {
  const count = countOf(chat, imageTokens)
  const slices = new Slices()
  for (const text of count.plain) count.most += await slices.mostTokens(text)
  for (const text of count.printed) count.most += (await slices.mostTokens(text)) + (await slices.escapesIn(text))
  return sizeOf(chat, count)
}

/** Counts texts, long and short ones, with a breath each time it has read a slice. */
class Slices {
  #read = 0

  mostTokens(text: string): number | Promise<number> {
    return this.#fits(text) ? mostTokens(text) : this.#long(text)
  }

  escapesIn(text: string): number | Promise<number> {
    return this.#fits(text) ? escapesIn(text, 0, text.length) : this.#longEscapes(text)
  }

  /** Whether there is room for all of it before the next breath. */
  #fits({ length }: string): boolean {
    if (this.#read + length > slice) return false
    this.#read += length
    return true
  }

  async #long(text: string): Promise<number> {
    const count = new TokenCount()
    for (let from = 0; from < text.length; from += slice) count.read(text, from, await this.#next(text, from))
    return count.tokens
  }

  async #longEscapes(text: string): Promise<number> {
    let more = 0
    for (let from = 0; from < text.length; from += slice) {
      const to = await this.#next(text, from)
      more += escapesIn(text, from, to)
    }
    return more
  }

  /** Where the slice that begins here ends, once it is its turn. */
  async #next({ length }: string, from: number): Promise<number> {
    await breath()
    this.#read = Math.min(length - from, slice)
    return from + this.#read
  }
}

/** All but the texts themselves, which are gathered to be read after that. */
function countOf(chat: ChatRequest, imageTokens: number): Count {
  const most = tokensAroundRequest + (chat.unreadBytes ?? 0)
  const count: Count = { images: 0, imageBytes: 0, most, imageTokens, plain: [], printed: [] }
  for (const message of chat.messages) addMessage(count, message)
  const { tools, functions } = chat.body
  if ((tools ?? functions) !== undefined) count.most += tokensAroundTools
  for (const [field, value] of Object.entries(chat.body)) if (field !== 'messages') addJson(count, value)
  return count
}

function sizeOf(chat: ChatRequest, count: Count): PromptSize {
  const textBytes = Math.max(0, chat.bytes - count.imageBytes)
  const tokens = Math.ceil(textBytes / likelyBytesPerToken) + count.images * count.imageTokens
  return { textBytes, tokens, mostTokens: Math.max(tokens, count.most), images: count.images }
}

interface Count {
  images: number
  imageBytes: number
  most: number
  readonly imageTokens: number
  /** Texts that stand in the prompt as they are, and those that stand in it as JSON. */
  readonly plain: string[]
  readonly printed: string[]
}

function addMessage(count: Count, message: unknown): void {
  count.most += tokensAroundMessage
  if (!isRecord(message)) return
  for (const [field, value] of Object.entries(message)) {
    if (field !== 'content') addJson(count, value)
    // Templates print what a tool has said as JSON, with its quotes and line ends escaped.
    else if (message['role'] === 'tool') addJson(count, value)
    else if (typeof value === 'string') count.plain.push(value)
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
  } else if (type === 'text' && typeof text === 'string') {
    count.most += 1
    count.plain.push(text)
  } else if (type === 'input_audio' && isRecord(part['input_audio']))
    count.most += tokensAroundMessage + Math.ceil(lengthOf(part['input_audio']['data']) / audioCharactersPerToken)
  else {
    count.most += type === 'video_url' ? tokensOfVideo : count.imageTokens
    addJson(count, part)
  }
}

/**
 * A value as it comes to stand in a prompt, printed as JSON: its text, with what escaping makes of it, and marks, line ends and
 * indentation around each of its members.
 */
function addJson(count: Count, value: unknown): void {
  count.most += tokensAroundValue
  if (typeof value === 'string') count.printed.push(value)
  else if (typeof value === 'number') count.most += String(value).length
  else if (typeof value === 'object' && value !== null)
    for (const [name, inner] of Object.entries(value)) {
      if (!Array.isArray(value)) addJson(count, name)
      addJson(count, inner)
    }
}

const tokensAroundValue = 4

/** Characters that JSON writes as two, or as six. */
function escapesIn(text: string, from: number, to: number): number {
  let more = 0
  for (let i = from; i < to; i++) {
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
