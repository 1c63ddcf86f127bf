/** The question of a search: one rule for it, whichever door it comes through. */
import { longest } from '../../api/search-document.ts'
import { invalidRequest } from '../../errors.ts'
import { isRecord, lastUserMessage } from '../../exchange/chat-request.ts'
import type { ChatRequest } from '../../exchange/chat-request.ts'

type SearchSettings = { readonly search: { readonly backend: string; readonly maxResults: number } }

/** @param param the field the caller will know it by. @throws GatewayError `invalid_request` */
export function checkQuery(value: unknown, param: string): string {
  if (typeof value !== 'string')
    throw invalidRequest({ en: `'${param}' must be a string.`, zh: `'${param}' 必须是字符串。` }, param)
  const query = value.toWellFormed().trim()
  if (query === '') throw invalidRequest({ en: `'${param}' must not be empty.`, zh: `'${param}' 不能为空。` }, param)
  // A code point has at most two code units, so what is longer than that need not be counted.
  if (query.length > 2 * longest.query || [...query].length > longest.query)
    throw invalidRequest(
      { en: `'${param}' must have at most ${longest.query} characters.`, zh: `'${param}' 最多 ${longest.query} 个字符。` },
      param,
    )
  return query
}

/** The text of the last user message: what a chat with the search product asks. @throws GatewayError `invalid_request` */
export function queryOf(chat: Pick<ChatRequest, 'messages' | 'worked'>): string {
  const last = lastUserMessage(chat)
  if (!isRecord(last))
    throw invalidRequest(
      { en: "'messages' must hold a message of the role 'user'.", zh: "'messages' 中必须有一条 'user' 消息。" },
      'messages',
    )
  const { content } = last
  if (!Array.isArray(content)) return checkQuery(content, 'messages')
  const texts = content.map((part: unknown) => (isRecord(part) && typeof part['text'] === 'string' ? part['text'] : ''))
  return checkQuery(texts.join('\n'), 'messages')
}

/**
 * What is asked, with all that a search does not look at left out. The hold and the price follow from this alone, so a question costs the
 * same through every door and whatever the conversation around it.
 */
export function questionOf(chat: ChatRequest, config: SearchSettings): ChatRequest {
  const messages = [{ role: 'user', content: queryOf(chat) }]
  const unreadBytes = readingBytes(config)
  return {
    model: chat.model,
    messages,
    stream: chat.stream,
    includeUsage: chat.includeUsage,
    maxTokens: null,
    choices: 1,
    bytes: Buffer.byteLength(JSON.stringify(messages)) + unreadBytes,
    unreadBytes,
    body: { model: chat.model, messages },
  }
}

/** The same for a door that has only the query. */
export function askFor(query: string, model: string): ChatRequest {
  const messages = [{ role: 'user', content: query }]
  const body = { model, messages }
  const bytes = Buffer.byteLength(JSON.stringify(body))
  return { model, messages, stream: false, includeUsage: false, maxTokens: null, choices: 1, bytes, body }
}

/** Where an engine only finds, a model of ours reads what was found, and that is part of the price. */
function readingBytes({ search }: SearchSettings): number {
  return search.backend === 'upstream' ? 0 : search.maxResults * bytesOfSource
}

const bytesOfSource = 1_200
