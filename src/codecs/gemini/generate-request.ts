/** Translates a chat completion request to a request of `generateContent`. Fields are described in `docs/upstreams.md`. */
import { isRecord } from '../../exchange/request/chat-request.ts'
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { readPreparedParts } from '../../exchange/request/prepared-parts.ts'
import type { PreparedParts } from '../../exchange/request/prepared-parts.ts'
import { thinkingConfigField } from '../../exchange/request/gemini-fields.ts'
import { readRawJson } from '../../exchange/request/raw-json.ts'
import { toGenerationConfig, toSafetySettings } from './generation-config.ts'
import { toToolConfig, toTools } from './request-tools.ts'
import { toContents } from './to-contents.ts'

/** @throws GatewayError `invalid_request` for a part or a tool that the API has no place for */
export function prepareGenerateParts({ messages, tools }: JsonObject): Pick<PreparedParts, 'fields' | 'facts'> {
  const { systemInstruction, contents } = toContents(Array.isArray(messages) ? messages : [])
  return {
    fields: { ...(systemInstruction === null ? {} : { systemInstruction }), contents, ...toTools(tools) },
    facts: {},
  }
}

/** The body; the address has the model and whether to stream. @throws GatewayError like `prepareGenerateParts` */
export function toGenerateRequest(chat: JsonObject): Record<string, unknown> {
  const fields: JsonObject = Object.fromEntries(Object.entries(chat).map(([name, value]) => [name, readRawJson(value)]))
  const parts: Omit<PreparedParts, 'dropped'> = readPreparedParts(chat) ?? prepareGenerateParts(fields)
  if (parts.facts['isNative'] === true) return toNativeGenerate(fields, parts)
  // Without tools there is nothing to choose from.
  const toolConfig = parts.fields['tools'] === undefined ? null : toToolConfig(fields['tool_choice'])
  return {
    ...parts.fields,
    ...(toolConfig === null ? {} : { toolConfig }),
    ...toSafetySettings(fields),
    generationConfig: toGenerationConfig(fields),
  }
}

/** A request that came in this API, with what the gateway sets and without what the target rejects. */
function toNativeGenerate(
  { max_completion_tokens: cap, max_tokens: earlier }: JsonObject,
  { fields, rejected = new Set() }: Omit<PreparedParts, 'dropped'>,
): Record<string, unknown> {
  const config = readRawJson(fields['generationConfig'])
  const acceptedSettings = Object.entries(isRecord(config) ? config : {}).filter(
    ([name]) => !rejected.has(chatNames[name] ?? name),
  )
  return { ...fields, generationConfig: { ...Object.fromEntries(acceptedSettings), maxOutputTokens: cap ?? earlier } }
}

/** Settings by their own names, with the fields under which a rejection of them is remembered. */
const chatNames: Readonly<Partial<Record<string, string>>> = {
  topK: 'top_k',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  thinkingConfig: thinkingConfigField,
}

export function toGeneratePath({ model, stream }: JsonObject): string {
  const name = String(model).replace(/^models\//, '')
  return `/models/${encodeURIComponent(name)}:${stream === true ? 'streamGenerateContent?alt=sse' : 'generateContent'}`
}
