/**
 * A chat request in the form that a target receives: its fields, and its messages and tools, which the parser's thread has translated for a
 * large request.
 */
import { isRecord } from '../chat-request.ts'
import type { ChatRequest } from '../chat-request.ts'
import { callSignaturesField, signatureFields } from '../gemini-fields.ts'
import { thinkingField } from '../anthropic-fields.ts'
import { splitFields } from '../field-policy.ts'
import type { FieldPolicy } from '../field-policy.ts'
import { withPreparedParts } from '../prepared-parts.ts'
import type { PreparedParts } from '../prepared-parts.ts'
import { readRawJson } from '../raw-json.ts'
import { getAnalysis } from '../request-analysis.ts'
import { customToolsField, encryptedReasoningField, reasoningItemsField, summaryField } from '../responses-fields.ts'
import { listPaidFields } from './cache-marks.ts'
import { listMedia, replaceMedia } from './media-notes.ts'
import { findNativeRequest } from './native-request.ts'
import { toFormKey, toRequestForm } from './request-form.ts'
import type { RequestForm, TargetFacts } from './request-form.ts'

export interface RequestTarget {
  readonly policy: FieldPolicy
  readonly facts: TargetFacts
  /** Fields of the gateway that the target rejects. */
  readonly droppedFields: ReadonlySet<string>
  /** Without the signed and encrypted reasoning of earlier answers, because the target cannot read it. */
  readonly withoutEncryptedReasoning: boolean
}

export interface TargetRequest {
  /** Of a target of another API: a chat completion with private fields, which the target's format translates. */
  readonly fields: Record<string, unknown>
  /** Names of what is left out. */
  readonly dropped: readonly string[]
}

/** Messages and tools in a form. */
export type PartsEncoder = (chat: Pick<ChatRequest, 'body' | 'messages'>, form: RequestForm) => PreparedParts

/**
 * @param encodeChatParts encodes for a target that receives chat completions
 * @throws GatewayError `invalid_request` if the parser's thread found that it cannot be translated
 */
export function toTargetRequest(chat: ChatRequest, target: RequestTarget, encodeChatParts: PartsEncoder): TargetRequest {
  const { policy, facts, droppedFields, withoutEncryptedReasoning } = target
  const form = toRequestForm(facts, chat.format)
  const isUsual = !withoutEncryptedReasoning && !droppedFields.has(customToolsField)
  const parts = isUsual ? (findPreparedParts(chat, form) ?? findNativeParts(chat, form)) : null
  if (form.api === 'chat') {
    const { fields, dropped } = parts ?? encodeChatParts(withoutReasoning(chat, withoutEncryptedReasoning), form)
    return { fields: { ...splitFields(chat, policy).fields, ...fields }, dropped }
  }
  const { fields } = splitFields(parts === null ? { body: chat.body } : chat, policy)
  const all = { ...fields, ...toDefaults(fields, policy) }
  if (parts !== null) {
    const rest = { ...all, messages: undefined, tools: undefined, ...readNativeUser(parts) }
    return { fields: withPreparedParts(rest, { ...parts, rejected: droppedFields }), dropped: parts.dropped }
  }
  const { messages, dropped } = toFormMessages(withoutReasoning(chat, withoutEncryptedReasoning), form)
  return { fields: { ...all, messages }, dropped }
}

/** The request in the API of the target, as its client sent it; null where the target receives the translated chat request. */
export function findNativeParts(chat: Pick<ChatRequest, 'messages'>, form: RequestForm): PreparedParts | null {
  const native = form.isNative ? findNativeRequest(chat) : undefined
  if (native?.api !== form.api) return null
  const { kinds } = form.refusedMedia.length === 0 ? { kinds: new Set() } : listMedia(chat.messages)
  if (form.refusedMedia.some((kind) => kinds.has(kind))) return null
  return { fields: native.fields, facts: { ...native.facts, isNative: true }, dropped: [] }
}

/** The user in a request of the Messages API, so that it becomes a pseudonym as in other APIs. */
function readNativeUser({ fields: { metadata }, facts }: PreparedParts): Readonly<Record<string, unknown>> {
  const value = readRawJson(metadata)
  return facts['isNative'] === true && isRecord(value) && typeof value['user_id'] === 'string' ? { user: value['user_id'] } : {}
}

/** The messages with their private fields, in what does not depend on the API; and what is left out. */
export function toFormMessages(
  { body, messages: sent }: Pick<ChatRequest, 'body' | 'messages'>,
  { developerRole, refusedMedia, keepsMarks }: RequestForm,
): { readonly messages: readonly unknown[]; readonly dropped: readonly string[] } {
  const { messages, kinds } = replaceMedia(sent, refusedMedia)
  const hasOtherRole = developerRole !== 'developer' && messages.some(isDeveloper)
  const paidFields = keepsMarks ? [] : [...listPaidFields(messages), ...listPaidFields(body['tools'])]
  return {
    messages: hasOtherRole
      ? messages.map((message) => (isDeveloper(message) ? { ...message, role: developerRole } : message))
      : messages,
    dropped: [...new Set([...kinds.map((kind) => `messages.${kind}`), ...paidFields])],
  }
}

function isDeveloper(message: unknown): message is Record<string, unknown> {
  return isRecord(message) && message['role'] === 'developer'
}

/** What another target wrote, or this one before its key was changed. */
const signedFields = [reasoningItemsField, thinkingField, callSignaturesField] as const

function withoutReasoning<Chat extends Pick<ChatRequest, 'body' | 'messages'>>(chat: Chat, isRejected: boolean): Chat {
  if (!isRejected) return chat
  const messages = chat.messages.map((message) => {
    if (!isRecord(message) || message['role'] !== 'assistant') return message
    const { tool_calls: calls, ...rest } = message
    for (const field of signedFields) delete rest[field]
    return Array.isArray(calls) ? { ...rest, tool_calls: (calls as unknown[]).map(omitSignatures) } : rest
  })
  return { ...chat, body: chat.body, messages }
}

function omitSignatures(call: unknown): unknown {
  return isRecord(call) ? Object.fromEntries(Object.entries(call).filter(([name]) => !isSignatureField(name))) : call
}

function isSignatureField(name: string): boolean {
  return signatureFields.some((field) => field === name)
}

/** Null where the target needs others than the parser's thread has translated; the main thread then translates the request. */
export function findPreparedParts(chat: object, form: RequestForm): PreparedParts | null {
  const parts = getAnalysis(chat)?.prepared[toFormKey(form)] ?? null
  if (parts instanceof Error) throw parts
  return parts
}

/** What the gateway requests of a Responses API in addition; a model that rejects it gets the request without it. */
function toDefaults(fields: Readonly<Record<string, unknown>>, { responses }: FieldPolicy): Readonly<Record<string, unknown>> {
  if (!responses) return {}
  const { reasoning_effort: effort, [summaryField]: summary } = fields
  const isReasoning = typeof effort === 'string' && effort !== 'none'
  return { [encryptedReasoningField]: true, [summaryField]: summary ?? (isReasoning ? 'auto' : undefined) }
}
