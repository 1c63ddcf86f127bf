/**
 * Parses what this browser has stored of conversations. A record may be damaged by a crash, an extension or another version of the page: a
 * message or conversation that cannot be shown is left out, and a detail that is not right is left out of it.
 */
import { isErrorEnvelope } from '../../api-client.ts'
import type { ChatMessage, ConversationRecord, StoredFailure } from '../chat-message.ts'

export type StoredMessage = ChatMessage & { readonly conversation: string }

/** Records of a page that was left before they were stored. */
export interface KeptRecords {
  readonly conversations: readonly ConversationRecord[]
  readonly messages: readonly StoredMessage[]
  /** The message among them that the database had. */
  readonly storedBefore: string | null
  /** Conversations whose removal had not ended. */
  readonly removed: readonly string[]
}

type Unparsed = Readonly<Record<string, unknown>>

/** The latest instant that a `Date` has. */
const maxInstant = 8.64e15

export function parseConversation(value: unknown): ConversationRecord | undefined {
  if (!isObject(value) || typeof value['id'] !== 'string') return undefined
  const { id, title, named, updatedAt, system, temperature } = value
  return {
    id,
    title: typeof title === 'string' ? title : '',
    named: named === true,
    updatedAt: toInstant(updatedAt),
    system: typeof system === 'string' ? system : '',
    temperature: isNumber(temperature) ? temperature : null,
  }
}

export function parseMessage(value: unknown): StoredMessage | undefined {
  if (!isObject(value)) return undefined
  const { id, conversation, role, content, place } = value
  if (typeof id !== 'string' || typeof conversation !== 'string' || typeof content !== 'string') return undefined
  if (role !== 'user' && role !== 'assistant') return undefined
  const { reasoning, reasoningMs, images, model, cut, usage, credits, unfinished } = value
  return {
    id,
    conversation,
    place: toInstant(place),
    role,
    content,
    ...(typeof reasoning === 'string' && { reasoning }),
    ...(isNumber(reasoningMs) && { reasoningMs }),
    ...(isArrayOf(images, isString) && { images }),
    ...(typeof model === 'string' && { model }),
    ...((cut === 'stopped' || cut === 'length' || cut === 'content_filter') && { cut }),
    ...((usage === null || isTokenUsage(usage)) && { usage }),
    ...((credits === null || isNumber(credits)) && { credits }),
    ...(unfinished !== undefined && { unfinished: parseUnfinished(unfinished) }),
  }
}

/** Ids of the conversations that an earlier version of this page only marked as removed. */
export function listMarkedRemoved(values: readonly unknown[]): string[] {
  return values.flatMap((value) =>
    isObject(value) && isNumber(value['deletedAt']) && isString(value['id']) ? [value['id']] : [],
  )
}

/** Null where the text is damaged. */
export function parseKeptRecords(text: string): KeptRecords | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (!isObject(value)) return null
  const { conversations, messages, storedBefore, removed } = value
  return {
    conversations: parseAll(conversations, parseConversation),
    messages: parseAll(messages, parseMessage),
    storedBefore: typeof storedBefore === 'string' ? storedBefore : null,
    removed: Array.isArray(removed) ? removed.filter(isString) : [],
  }
}

export function parseAll<Parsed>(values: unknown, parse: (value: unknown) => Parsed | undefined): Parsed[] {
  return Array.isArray(values) ? values.map(parse).filter((parsed) => parsed !== undefined) : []
}

/** An answer with a damaged failure was left unfinished all the same. */
function parseUnfinished(value: unknown): 'left' | StoredFailure {
  if (!isObject(value) || !isNumber(value['status'])) return 'left'
  const { status, envelope, retryAfter, resetsAt } = value
  return {
    status,
    envelope: isErrorEnvelope(envelope) ? envelope : null,
    retryAfter: isNumber(retryAfter) ? retryAfter : null,
    resetsAt: isNumber(resetsAt) ? toInstant(resetsAt) : null,
  }
}

function isTokenUsage(value: unknown): value is NonNullable<ChatMessage['usage']> {
  return isObject(value) && ['prompt_tokens', 'completion_tokens', 'total_tokens'].every((name) => isNumber(value[name]))
}

function toInstant(value: unknown): number {
  return isNumber(value) && Math.abs(value) <= maxInstant ? value : 0
}

function isObject(value: unknown): value is Unparsed {
  return typeof value === 'object' && value !== null
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function isString(value: unknown): value is string {
  return typeof value === 'string'
}

function isArrayOf<Item>(value: unknown, isItem: (item: unknown) => item is Item): value is Item[] {
  return Array.isArray(value) && value.every(isItem)
}
