/** What a target receives for a member's request, by rule: no server. */
import { encodeForTarget } from '../../../src/codecs/encode-for-target.ts'
import type { ApiFormat, JsonObject } from '../../../src/exchange/api-format/api-format.ts'
import { toChatRequest } from '../../../src/exchange/request/chat-request.ts'
import { plainChatTarget } from '../../../src/exchange/request/form/request-form.ts'
import type { TargetFacts } from '../../../src/exchange/request/form/request-form.ts'
import { createGeminiFormat } from '../../../src/formats/gemini/gemini-format.ts'
import { messagesFormat } from '../../../src/formats/messages/messages-format.ts'
import { responsesFormat } from '../../../src/formats/responses/responses-format.ts'
import { anthropicFormat } from '../../../src/upstream/format/anthropic-format.ts'
import { geminiFormat } from '../../../src/upstream/format/gemini-format.ts'
import { responsesFormat as responsesUpstream } from '../../../src/upstream/format/responses-format.ts'

export type ClientApi = 'chat' | 'gemini' | 'messages' | 'responses'
export type TargetApi = TargetFacts['api']

export const clientFormats: Readonly<Record<ClientApi, ApiFormat | null>> = {
  chat: null,
  gemini: createGeminiFormat('/v1beta/models/svc-2.1:generateContent') as ApiFormat,
  messages: messagesFormat as ApiFormat,
  responses: responsesFormat as ApiFormat,
}

export const unseal = (container: string): string | null => (container.startsWith('sealed:') ? container.slice(7) : null)
const isSealed = (container: string): boolean => container.startsWith('sealed:')
export const seal = (text: string): string => `sealed:${text}`

const targetFormats = { anthropic: anthropicFormat, gemini: geminiFormat, responses: responsesUpstream } as const

export interface SentRequest {
  readonly body: JsonObject
  readonly dropped: readonly string[]
}

export function toSentRequest(
  client: ClientApi,
  body: JsonObject,
  facts: Partial<TargetFacts> & Pick<TargetFacts, 'api'>,
  droppedFields: ReadonlySet<string> = new Set(),
): SentRequest {
  const whole = { model: 'svc-2.1', ...(client === 'messages' ? { max_tokens: 100 } : {}), ...body }
  const format = clientFormats[client]
  const context = { unseal, isSealed, targetApis: new Set(['anthropic', 'gemini', 'responses'] as const) }
  const translated = format?.toChat(whole, context)
  const chat = toChatRequest(translated?.chat ?? whole, {
    bytes: 1,
    native: translated?.native,
    ...(client === 'chat' ? {} : { format: client }),
  })
  const { api } = facts
  const { fields, dropped } = encodeForTarget(chat, {
    policy: {
      kind: api === 'anthropic' || api === 'gemini' ? api : 'compatible',
      responses: api === 'responses',
      passRequestFields: [],
      passCostFields: false,
    },
    facts: { ...plainChatTarget, takesMarks: api === 'anthropic', ...facts },
    droppedFields,
    withoutEncryptedReasoning: false,
  })
  const target = api === 'chat' ? null : targetFormats[api]
  return { body: JSON.parse(JSON.stringify(target === null ? fields : target.toRequest(fields))) as JsonObject, dropped }
}
