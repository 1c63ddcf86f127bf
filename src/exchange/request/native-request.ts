/**
 * A chat request for an upstream that receives it in the format of another API: the translation reads private fields and marks that other
 * upstreams must not receive.
 */
import { isRecord } from './chat-request.ts'
import type { ChatRequest } from './chat-request.ts'
import { splitFields } from './field-policy.ts'
import type { FieldPolicy } from './field-policy.ts'
import { withPreparedParts } from './prepared-parts.ts'
import type { PartsKey, PreparedParts } from './prepared-parts.ts'
import { getAnalysis } from './request-analysis.ts'
import { customToolsField, encryptedReasoningField, reasoningItemsField, summaryField } from './responses-fields.ts'

type DeveloperRole = 'developer' | 'system'

interface TranslationTarget {
  readonly policy: FieldPolicy
  readonly developerRole: DeveloperRole
  /** Fields of the gateway that the target rejects. */
  readonly droppedFields: ReadonlySet<string>
  /** Without the encrypted reasoning of earlier answers, because the target cannot read it. */
  readonly withoutEncryptedReasoning: boolean
}

/** Whether requests to this upstream are translated to another API. */
export function isTranslatedFor({ kind, responses }: Pick<FieldPolicy, 'kind' | 'responses'>): boolean {
  return kind === 'anthropic' || kind === 'gemini' || responses
}

/**
 * The fields of the request with their private ones, and the parts that the parser's thread has translated.
 * @throws GatewayError `invalid_request` if the thread found that it cannot be translated
 */
export function toTranslationInput(
  chat: Pick<ChatRequest, 'body' | 'messages'>,
  target: TranslationTarget,
): Record<string, unknown> {
  const parts = findPreparedParts(chat, target)
  if (parts !== null) {
    const { fields } = splitFields(chat, target.policy)
    return withPreparedParts({ ...fields, ...toDefaults(fields, target.policy), messages: undefined, tools: undefined }, parts)
  }
  const { fields } = splitFields({ body: chat.body }, target.policy)
  return { ...fields, ...toDefaults(fields, target.policy), messages: toMessages(chat.messages, target) }
}

/** The messages with their private fields. */
export function toMessages(
  messages: readonly unknown[],
  { developerRole, withoutEncryptedReasoning }: Pick<TranslationTarget, 'developerRole' | 'withoutEncryptedReasoning'>,
): readonly unknown[] {
  return messages.map((message) => {
    if (!isRecord(message)) return message
    if (message['role'] === 'developer') return { ...message, role: developerRole }
    return withoutEncryptedReasoning && message[reasoningItemsField] !== undefined
      ? { ...message, [reasoningItemsField]: undefined }
      : message
  })
}

export function toPartsKey({ kind }: Pick<FieldPolicy, 'kind'>, developerRole: DeveloperRole): PartsKey {
  return `${kind === 'anthropic' || kind === 'gemini' ? kind : 'responses'}/${developerRole}`
}

/** Null where the target needs others than the parser's thread has translated; the main thread then translates the request. */
function findPreparedParts(chat: object, target: TranslationTarget): PreparedParts | null {
  const { policy, developerRole, droppedFields, withoutEncryptedReasoning } = target
  if (withoutEncryptedReasoning || droppedFields.has(customToolsField)) return null
  const parts = getAnalysis(chat)?.prepared[toPartsKey(policy, developerRole)] ?? null
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
