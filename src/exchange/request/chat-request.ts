/** Parses a chat completion request. Fields that the gateway uses are checked, others are passed on unchanged. */
import { createHash } from 'node:crypto'
import { invalidRequest } from '../../errors.ts'
import type { GatewayError } from '../../errors.ts'
import { JsonBoundsError, maxJsonDepth, parseJson } from '../../system/parse-json.ts'
import type { ApiFormatName } from '../api-format/api-format-name.ts'
import type { HostedSearchOptions } from '../hosted-search.ts'
import { checkMetadata } from './metadata-bounds.ts'
import { findNativeExtra, setNativeRequest } from './form/native-request.ts'
import type { NativeRequest } from './form/native-request.ts'
import { getAnalysis } from './request-analysis.ts'
import { checkRequestBounds, checkValueCount } from './request-bounds.ts'

/** The fields that the gateway uses; other fields concern the upstream only. */
export interface ChatRequest {
  readonly model: string
  readonly messages: readonly unknown[]
  readonly stream: boolean
  readonly includeUsage: boolean
  /** The client's cap on the output, from `max_completion_tokens` or `max_tokens`; null if neither was sent. */
  readonly maxTokens: number | null
  /** Number of alternatives (`n`), each of which costs. */
  readonly choices: number
  /** Bytes of the body as received. */
  readonly bytes: number
  /** Part of `bytes` reserved for a text that will be added later and is not known yet. */
  readonly unreadBytes?: number
  /**
   * The body as sent. Read-only: a changed copy goes upstream. For a large request, this and `messages` are parsed at the first access,
   * which blocks the thread for some ten milliseconds per megabyte.
   */
  readonly body: Readonly<Record<string, unknown>>
  /** The API format that the request was translated from; undefined for chat completions. */
  readonly format?: ApiFormatName
  /** Set if the service runs the function `web_search` within the turn. */
  readonly hostedSearch?: HostedSearchOptions
}

/** Larger requests are parsed in a worker; for smaller ones the transfer would cost as much as the work. */
export const workerThresholdBytes = 128 * 1024

const maxChoices = 8

/** @throws GatewayError `invalid_request`, naming the field */
export function parseChatRequest(raw: Buffer): ChatRequest {
  return toChatRequest(parseBody(raw), { bytes: raw.length })
}

/**
 * Checks the fields that the gateway uses.
 * @param details.format the API format that the body was translated from
 * @throws GatewayError `invalid_request`, naming the field
 */
export function toChatRequest(
  body: Readonly<Record<string, unknown>>,
  {
    bytes,
    format,
    hostedSearch,
    native,
  }: {
    readonly bytes: number
    readonly format?: ApiFormatName
    readonly hostedSearch?: HostedSearchOptions | undefined
    readonly native?: NativeRequest | undefined
  },
): ChatRequest {
  const { model, messages, stream, n } = body
  if (typeof model !== 'string' || model === '')
    throw invalidRequest({ en: "'model' must be a model id (a string).", zh: "'model' 必须是模型 ID（字符串）。" }, 'model')
  if (!Array.isArray(messages))
    throw invalidRequest({ en: "'messages' must be an array of messages.", zh: "'messages' 必须是消息数组。" }, 'messages')
  if (messages.length === 0)
    throw invalidRequest({ en: "'messages' must hold at least one message.", zh: "'messages' 至少要有一条消息。" }, 'messages')
  for (let i = 0; i < messages.length; i++) checkMessage(messages[i], `messages[${i}]`)
  if (stream !== undefined && stream !== null && typeof stream !== 'boolean')
    throw invalidRequest({ en: "'stream' must be true or false.", zh: "'stream' 必须是 true 或 false。" }, 'stream')
  checkMetadata(body['metadata'], 'metadata')
  const chat = {
    model,
    messages,
    stream: stream === true,
    includeUsage: wantsUsage(body['stream_options']),
    maxTokens: parseMaxTokens(body),
    choices: n === undefined || n === null ? 1 : parseChoiceCount(n),
    bytes,
    body,
    ...(format === undefined ? {} : { format }),
    ...(hostedSearch === undefined ? {} : { hostedSearch }),
  }
  if (native !== undefined) setNativeRequest(chat, native)
  return chat
}

/**
 * Parses a body: a JSON object of bounded depth and counts, with whole Unicode characters.
 * @throws GatewayError `invalid_request`
 */
export function parseBody(raw: Buffer): Record<string, unknown> {
  checkValueCount(raw)
  const body = parseJsonBody(raw)
  if (!isRecord(body)) throw invalidRequest({ en: 'the body must be a JSON object.', zh: '请求内容必须是 JSON 对象。' })
  checkRequestBounds(body, raw.length)
  checkUnicode(raw, body)
  return body
}

/** Parses a body of any JSON value, of bounded depth. @throws GatewayError `invalid_request` */
export function parseJsonBody(raw: Buffer): unknown {
  if (raw.length === 0)
    throw invalidRequest({ en: 'the body is empty; send a JSON object.', zh: '请求内容为空，请发送 JSON 对象。' })
  try {
    return parseJson(raw.toString('utf8'))
  } catch (cause) {
    throw invalidJsonError(cause)
  }
}

/**
 * Rejects half a surrogate pair, which no server can encode as UTF-8. Bytes cannot contain one, only an escape such as `\\ud83d`.
 * @throws GatewayError `invalid_request`, naming the field
 */
export function checkUnicode(raw: Buffer, body: unknown): void {
  if (!raw.includes('\\ud') && !raw.includes('\\uD')) return
  const illFormedPath = findIllFormed(body, '')
  if (illFormedPath === null) return
  const path = illFormedPath.slice(0, maxPathLength)
  throw invalidRequest(
    {
      en: `'${path}' contains half of a character (a lone surrogate such as \\ud83d). Send whole Unicode characters.`,
      zh: `'${path}' 含有不完整的字符（单独的代理项，如 \\ud83d），请发送完整的 Unicode 字符。`,
    },
    path,
  )
}

/** A path has the member's own field names. */
const maxPathLength = 200

/** The path of the first string that is not well-formed, as in `messages[0].content`. */
function findIllFormed(value: unknown, path: string): string | null {
  if (typeof value === 'string') return value.isWellFormed() ? null : path
  if (typeof value !== 'object' || value === null) return null
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const illFormedPath = findIllFormed(value[i], `${path}[${i}]`)
      if (illFormedPath !== null) return illFormedPath
    }
    return null
  }
  for (const [name, item] of Object.entries(value)) {
    // A name that cannot be shown is reported as the field that contains it.
    const illFormedPath = name.isWellFormed() ? findIllFormed(item, path === '' ? name : `${path}.${name}`) : path
    if (illFormedPath !== null) return illFormedPath
  }
  return null
}

/** The parser's message quotes the body, which may be private; only the position is reported. */
function invalidJsonError(cause: unknown): GatewayError {
  if (cause instanceof JsonBoundsError)
    return invalidRequest({
      en: `the body is nested deeper than ${maxJsonDepth} levels.`,
      zh: `请求内容的嵌套超过 ${maxJsonDepth} 层。`,
    })
  const position = cause instanceof Error ? /position (\d+)/.exec(cause.message)?.[1] : undefined
  return invalidRequest(
    position === undefined
      ? { en: 'the body is not JSON (it ends too early or is malformed).', zh: '请求内容不是有效的 JSON（提前结束或格式有误）。' }
      : { en: `the body is not JSON (at byte ${position}).`, zh: `请求内容不是有效的 JSON（第 ${position} 字节处）。` },
  )
}

function checkMessage(message: unknown, param: string): void {
  if (!isRecord(message)) throw invalidRequest({ en: `'${param}' must be an object.`, zh: `'${param}' 必须是对象。` }, param)
  const { role, content } = message
  if (typeof role !== 'string' || role === '')
    throw invalidRequest({ en: `'${param}.role' must be a string.`, zh: `'${param}.role' 必须是字符串。` }, `${param}.role`)
  const isKnownType = content === undefined || content === null || typeof content === 'string' || Array.isArray(content)
  if (!isKnownType)
    throw invalidRequest(
      {
        en: `'${param}.content' must be a string, an array of parts, or null.`,
        zh: `'${param}.content' 必须是字符串、内容数组或 null。`,
      },
      `${param}.content`,
    )
  if (!Array.isArray(content)) return
  for (let i = 0; i < content.length; i++) {
    const part: unknown = content[i]
    if (!isRecord(part) || typeof part['type'] !== 'string') {
      throw invalidRequest(
        {
          en: `'${param}.content[${i}]' must be an object with a 'type'.`,
          zh: `'${param}.content[${i}]' 必须是带有 'type' 的对象。`,
        },
        `${param}.content[${i}]`,
      )
    }
  }
}

/** Whether the cap may be lowered to what a target accepts. Clients of the Messages API must set one, and agents send the same every time. */
export function isCapAdjustable({ maxTokens, format }: Pick<ChatRequest, 'maxTokens' | 'format'>): boolean {
  return maxTokens === null || format === 'messages'
}

/** Both fields are checked; the newer one decides. */
function parseMaxTokens(body: ChatRequest['body']): number | null {
  const maxTokens = parsePositiveInteger(body, 'max_tokens')
  return parsePositiveInteger(body, 'max_completion_tokens') ?? maxTokens
}

function parsePositiveInteger(body: ChatRequest['body'], field: string): number | null {
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

function parseChoiceCount(n: unknown): number {
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

/** Hash that two requests with the same idempotency key must share. */
export function getBodyHash(chat: ChatRequest): string {
  return getAnalysis(chat)?.hash ?? hashBody(JSON.stringify(chat.body), chat)
}

/** The format is a part of it: an answer in one format is no answer to a request in another. */
export function hashBody(body: string | Uint8Array, chat: Pick<ChatRequest, 'format'>): string {
  const hash = createHash('sha256')
  const extra = findNativeExtra(chat)
  if (chat.format !== undefined) hash.update(`${chat.format} `)
  if (extra !== undefined) hash.update(JSON.stringify(extra))
  return hash.update(body).digest('base64url')
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether any message contains an image. */
export function hasImages(chat: Pick<ChatRequest, 'messages'>): boolean {
  const analysis = getAnalysis(chat)
  if (analysis !== undefined) return analysis.hasImages
  return chat.messages.some((message) => {
    const content = isRecord(message) ? message['content'] : undefined
    return Array.isArray(content) && content.some((part) => isRecord(part) && part['type'] === 'image_url')
  })
}

/**
 * The text of all messages, one line each, without roles, names, tool calls or images. For a large request this costs as much as parsing it
 * (see `body`).
 */
export function getPromptText(chat: Pick<ChatRequest, 'messages'>): string {
  return chat.messages.flatMap((message) => (isRecord(message) ? getTexts(message['content']) : [])).join('\n')
}

function getTexts(content: unknown): readonly string[] {
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) return []
  return content.flatMap((part: unknown) => (isRecord(part) && typeof part['text'] === 'string' ? [part['text']] : []))
}

/** A longer text is no query and no prompt of an image. */
export const maxLastUserLength = 64 * 1024

/** The last message of the role `user`; of a large request without its images, and cut one character above `maxLastUserLength`. */
export function getLastUserMessage(chat: Pick<ChatRequest, 'messages'>): unknown {
  const analysis = getAnalysis(chat)
  if (analysis !== undefined) return analysis.lastUser
  return chat.messages.findLast((message) => isRecord(message) && message['role'] === 'user')
}

/**
 * What tells a conversation from others, and stays as it grows: the beginning of its first message of the role `user`. Of a bounded length.
 */
export function getConversationOpening(chat: Pick<ChatRequest, 'messages'>): string {
  const analysis = getAnalysis(chat)
  if (analysis !== undefined) return analysis.opening
  const opening = chat.messages.find((message) => isRecord(message) && message['role'] === 'user') ?? chat.messages[0]
  const content = isRecord(opening) ? opening['content'] : null
  const texts = Array.isArray(content) ? content.slice(0, maxOpeningParts).map(getPartText) : [content]
  return texts.map((text) => (typeof text === 'string' ? `${text.length}:${text.slice(0, maxOpeningLength)}` : '')).join('\n')
}

const maxOpeningParts = 4
const maxOpeningLength = 1024

function getPartText(part: unknown): unknown {
  return isRecord(part) ? part['text'] : null
}

/** The fields of the body; of a large request only those that may be forwarded, long ones as `OpaqueJson`. */
export function getFields(chat: Pick<ChatRequest, 'body'>): Readonly<Record<string, unknown>> {
  return getAnalysis(chat)?.fields ?? chat.body
}
