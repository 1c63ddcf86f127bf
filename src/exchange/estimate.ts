/** What a prompt will cost before anybody has counted it: bytes, not a tokeniser, because this stands on every request's way. */
import { isRecord } from './chat-request.ts'
import type { ChatRequest } from './chat-request.ts'

/** Text in any language and script needs at least about three bytes a token; fewer would hold too little. */
const bytesPerToken = 3

export interface PromptSize {
  /** Bytes of the request without its inline images. */
  readonly textBytes: number
  /** Tokens to assume: a third of the text's bytes, and `imageTokens` for each image whatever its size. */
  readonly tokens: number
  readonly images: number
}

export function promptSize(chat: ChatRequest, imageTokens: number): PromptSize {
  let images = 0
  let imageBytes = 0
  for (const message of chat.messages) {
    const content = isRecord(message) ? message['content'] : undefined
    if (!Array.isArray(content)) continue
    for (const part of content as unknown[]) {
      if (!isRecord(part) || part['type'] !== 'image_url') continue
      images++
      const url = isRecord(part['image_url']) ? part['image_url']['url'] : part['image_url']
      if (typeof url === 'string') imageBytes += url.length
    }
  }
  const textBytes = Math.max(0, chat.bytes - imageBytes)
  return { textBytes, tokens: Math.ceil(textBytes / bytesPerToken) + images * imageTokens, images }
}
