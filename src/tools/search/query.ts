/** The query of a search: one rule for all entry points. */
import { maxLengths } from '../../api/search-document.ts'
import { invalidRequest } from '../../errors.ts'
import type { PluginSettings } from '../../exchange/plugins/plugin-services.ts'
import { isRecord, getLastUserMessage } from '../../exchange/request/chat-request.ts'
import type { ChatRequest } from '../../exchange/request/chat-request.ts'

/** @param param the field's name in errors. @throws GatewayError `invalid_request` */
export function parseQuery(value: unknown, param: string): string {
  if (typeof value !== 'string')
    throw invalidRequest({ en: `'${param}' must be a string.`, zh: `'${param}' 必须是字符串。` }, param)
  const query = value.toWellFormed().trim()
  if (query === '') throw invalidRequest({ en: `'${param}' must not be empty.`, zh: `'${param}' 不能为空。` }, param)
  // A code point has at most two code units, so longer texts need not be counted.
  if (query.length > 2 * maxLengths.query || [...query].length > maxLengths.query)
    throw invalidRequest(
      { en: `'${param}' must have at most ${maxLengths.query} characters.`, zh: `'${param}' 最多 ${maxLengths.query} 个字符。` },
      param,
    )
  return query
}

/** The text of the last user message: the query of a chat with the search product. @throws GatewayError `invalid_request` */
export function extractQuery(chat: Pick<ChatRequest, 'messages'>): string {
  const last = getLastUserMessage(chat)
  if (!isRecord(last))
    throw invalidRequest(
      { en: "'messages' must hold a message of the role 'user'.", zh: "'messages' 中必须有一条 'user' 消息。" },
      'messages',
    )
  const { content } = last
  if (!Array.isArray(content)) return parseQuery(content, 'messages')
  const texts = content.map((part: unknown) => (isRecord(part) && typeof part['text'] === 'string' ? part['text'] : ''))
  return parseQuery(texts.join('\n'), 'messages')
}

/**
 * The request reduced to what a search uses. Hold and price follow from it alone, so a query costs the same through every entry point and in
 * any conversation.
 */
export function toSearchRequest(chat: ChatRequest, config: Pick<PluginSettings, 'search'>): ChatRequest {
  const messages = [{ role: 'user', content: extractQuery(chat) }]
  const unreadBytes = estimateReadingBytes(config)
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

/** The same for an entry point that has only the query. */
export function createSearchRequest(query: string, model: string): ChatRequest {
  const messages = [{ role: 'user', content: query }]
  const body = { model, messages }
  const bytes = Buffer.byteLength(JSON.stringify(body))
  return { model, messages, stream: false, includeUsage: false, maxTokens: null, choices: 1, bytes, body }
}

/** If an engine only returns results, a model reads them, which is part of the price. */
function estimateReadingBytes({ search }: Pick<PluginSettings, 'search'>): number {
  return search.backend === 'upstream' ? 0 : search.maxResults * bytesPerSource
}

const bytesPerSource = 1_200
