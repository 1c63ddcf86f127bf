/** A chat completion request: checked where we rely on it, passed on untouched where we do not. */
import { createHash } from 'node:crypto'
import { invalidRequest } from '../errors.ts'
import type { GatewayError } from '../errors.ts'
import type { WorkedOut } from './large/answers.ts'

/** The fields that the gateway itself reads; every other field is the upstream's business. */
export interface ChatRequest {
  readonly model: string
  readonly messages: readonly unknown[]
  readonly stream: boolean
  readonly includeUsage: boolean
  /** The caller's cap on the answer, from `max_completion_tokens` or `max_tokens`; null when neither was sent. */
  readonly maxTokens: number | null
  /** Alternatives asked for (`n`), each of which costs. */
  readonly choices: number
  /** Bytes of the body as it was received. */
  readonly bytes: number
  /** Of them, those of a text that will be put beside it and that nobody has read yet. */
  readonly unreadBytes?: number
  /**
   * The whole body as it was sent. Read-only: a changed copy goes upstream. Of a large request both this and `messages` are parsed when they
   * are first asked for, which holds everybody up for some ten milliseconds a megabyte.
   */
  readonly body: Readonly<Record<string, unknown>>
  /** What has been worked out of a large request already. It is asked through the functions that answer for small ones too. */
  readonly worked?: WorkedOut
  /** Nobody looks at its text any more, which may be another's from now on. */
  over?(): void
}

/** Requests above this many bytes are worked through in a thread of their own; below it the way there would cost as much as the work. */
export const largeBytes = 128 * 1024

/** Deeper than any real request; a parser or printer that recurses must not be led further. */
const maxDepth = 128
const maxChoices = 8

/** @throws GatewayError `invalid_request`, naming the field */
export function parseChatRequest(raw: Buffer): ChatRequest {
  const body = parseObject(raw)
  const { model, messages, stream, n } = body
  if (typeof model !== 'string' || model === '')
    throw invalidRequest({ en: "'model' must be a model id (a string).", zh: "'model' 必须是模型 ID(字符串)。" }, 'model')
  if (!Array.isArray(messages))
    throw invalidRequest({ en: "'messages' must be an array of messages.", zh: "'messages' 必须是消息数组。" }, 'messages')
  if (messages.length === 0)
    throw invalidRequest({ en: "'messages' must hold at least one message.", zh: "'messages' 至少要有一条消息。" }, 'messages')
  for (let i = 0; i < messages.length; i++) checkMessage(messages[i], `messages[${i}]`)
  if (stream !== undefined && stream !== null && typeof stream !== 'boolean')
    throw invalidRequest({ en: "'stream' must be true or false.", zh: "'stream' 必须是 true 或 false。" }, 'stream')
  return {
    model,
    messages,
    stream: stream === true,
    includeUsage: wantsUsage(body['stream_options']),
    maxTokens: positiveInteger(body, 'max_completion_tokens') ?? positiveInteger(body, 'max_tokens'),
    choices: n === undefined || n === null ? 1 : choiceCount(n),
    bytes: raw.length,
    body,
  }
}

function parseObject(raw: Buffer): Record<string, unknown> {
  if (raw.length === 0)
    throw invalidRequest({ en: 'the body is empty; send a JSON object.', zh: '请求内容为空,请发送 JSON 对象。' })
  checkDepth(raw)
  let body: unknown
  try {
    body = JSON.parse(raw.toString('utf8'))
  } catch (cause) {
    throw notJson(cause)
  }
  if (!isRecord(body)) throw invalidRequest({ en: 'the body must be a JSON object.', zh: '请求内容必须是 JSON 对象。' })
  return body
}

/** The parser's own words quote the body, which may be private; only the place is told. */
function notJson(cause: unknown): GatewayError {
  const place = cause instanceof Error ? /position (\d+)/.exec(cause.message)?.[1] : undefined
  return invalidRequest(
    place === undefined
      ? { en: 'the body is not JSON (it ends too early or is malformed).', zh: '请求内容不是有效的 JSON(提前结束或格式有误)。' }
      : { en: `the body is not JSON (at byte ${place}).`, zh: `请求内容不是有效的 JSON(第 ${place} 字节处)。` },
  )
}

const quote = 0x22
const backslash = 0x5c

/** Brackets are counted outside strings, before anything recursive sees the text. */
function checkDepth(raw: Buffer): void {
  let depth = 0
  for (let i = 0; i < raw.length; i++) {
    const byte = raw[i]
    if (byte === quote) {
      i = endOfString(raw, i + 1)
    } else if (byte === 0x5b || byte === 0x7b) {
      if (++depth > maxDepth)
        throw invalidRequest({
          en: `the body is nested deeper than ${maxDepth} levels.`,
          zh: `请求内容的嵌套超过 ${maxDepth} 层。`,
        })
    } else if (byte === 0x5d || byte === 0x7d) depth--
  }
}

/** Where the string that begins here has its closing quote. A long one is searched by the runtime, at ten times the speed of a loop. */
function endOfString(raw: Buffer, from: number): number {
  for (let i = from; ;) {
    for (const near = Math.min(raw.length, i + loopedBytes); i < near; i++) {
      if (raw[i] === quote) return i
      if (raw[i] === backslash) i++
    }
    const end = raw.indexOf(quote, i)
    if (end === -1) return raw.length
    let slashes = 0
    while (end - slashes > i && raw[end - slashes - 1] === backslash) slashes++
    if (slashes % 2 === 0) return end
    i = end + 1
  }
}

/** Below this a loop is faster than the call. */
const loopedBytes = 64

function checkMessage(message: unknown, at: string): void {
  if (!isRecord(message)) throw invalidRequest({ en: `'${at}' must be an object.`, zh: `'${at}' 必须是对象。` }, at)
  const { role, content } = message
  if (typeof role !== 'string' || role === '')
    throw invalidRequest({ en: `'${at}.role' must be a string.`, zh: `'${at}.role' 必须是字符串。` }, `${at}.role`)
  const known = content === undefined || content === null || typeof content === 'string' || Array.isArray(content)
  if (!known)
    throw invalidRequest(
      {
        en: `'${at}.content' must be a string, an array of parts, or null.`,
        zh: `'${at}.content' 必须是字符串、内容数组或 null。`,
      },
      `${at}.content`,
    )
  if (!Array.isArray(content)) return
  for (let i = 0; i < content.length; i++) {
    const part: unknown = content[i]
    if (!isRecord(part) || typeof part['type'] !== 'string') {
      throw invalidRequest(
        { en: `'${at}.content[${i}]' must be an object with a 'type'.`, zh: `'${at}.content[${i}]' 必须是带有 'type' 的对象。` },
        `${at}.content[${i}]`,
      )
    }
  }
}

function positiveInteger(body: Record<string, unknown>, field: string): number | null {
  const value = body[field]
  if (value === undefined || value === null) return null
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1) {
    throw invalidRequest(
      { en: `'${field}' must be a whole number of at least 1.`, zh: `'${field}' 必须是不小于 1 的整数。` },
      field,
    )
  }
  return value
}

function choiceCount(n: unknown): number {
  if (typeof n !== 'number' || !Number.isInteger(n) || n < 1 || n > maxChoices) {
    throw invalidRequest(
      { en: `'n' must be a whole number from 1 to ${maxChoices}.`, zh: `'n' 必须是 1 到 ${maxChoices} 的整数。` },
      'n',
    )
  }
  return n
}

function wantsUsage(options: unknown): boolean {
  return isRecord(options) && options['include_usage'] === true
}

/** What two requests with the same idempotency key must share. */
export function bodyHash(chat: ChatRequest): string {
  return chat.worked?.hash ?? hashOf(JSON.stringify(chat.body))
}

export function hashOf(body: string | Uint8Array): string {
  return createHash('sha256').update(body).digest('base64url')
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether any message carries a picture. */
export function hasImages(chat: Pick<ChatRequest, 'messages' | 'worked'>): boolean {
  if (chat.worked !== undefined) return chat.worked.hasImages
  return chat.messages.some((message) => {
    const content = isRecord(message) ? message['content'] : undefined
    return Array.isArray(content) && content.some((part) => isRecord(part) && part['type'] === 'image_url')
  })
}

/**
 * The words of all messages, a line each: what somebody wrote, without roles, names, tool calls or pictures. Of a large request it costs
 * what parsing it costs (see `body`).
 */
export function promptText(chat: Pick<ChatRequest, 'messages'>): string {
  return chat.messages.flatMap((message) => (isRecord(message) ? wordsOf(message['content']) : [])).join('\n')
}

function wordsOf(content: unknown): readonly string[] {
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) return []
  return content.flatMap((part: unknown) => (isRecord(part) && typeof part['text'] === 'string' ? [part['text']] : []))
}

/** The last message of the role `user`, with its words; of a large request without its pictures. */
export function lastUserMessage(chat: Pick<ChatRequest, 'messages' | 'worked'>): unknown {
  // Of a large request null says that the message is too long to be carried about.
  if (chat.worked !== undefined && chat.worked.lastUser !== null) return chat.worked.lastUser
  return chat.messages.findLast((message) => isRecord(message) && message['role'] === 'user')
}

/** The fields of the body; of a large request only those that may go to an upstream, the long ones as text (`Printed`). */
export function fieldsOf(chat: Pick<ChatRequest, 'body' | 'worked'>): Readonly<Record<string, unknown>> {
  return chat.worked?.fields ?? chat.body
}
