/** Translates a chat completion request to a request of `generateContent`. Fields are described in `docs/upstreams.md`. */
import { readPreparedParts } from '../../exchange/request/prepared-parts.ts'
import type { PreparedParts } from '../../exchange/request/prepared-parts.ts'
import { RawJson } from '../../exchange/request/raw-json.ts'
import { toGenerationConfig, toSafetySettings } from './generation-config.ts'
import type { Fields } from './read-json.ts'
import { toToolConfig, toTools } from './request-tools.ts'
import { toContents } from './to-contents.ts'

/** @throws GatewayError `invalid_request` for a part or a tool that the API has no place for */
export function prepareGenerateParts({ messages, tools }: Fields): Pick<PreparedParts, 'fields' | 'facts'> {
  const { systemInstruction, contents } = toContents(Array.isArray(messages) ? messages : [])
  return {
    fields: { ...(systemInstruction === null ? {} : { systemInstruction }), contents, ...toTools(tools) },
    facts: {},
  }
}

/** The body; the address has the model and whether to stream. @throws GatewayError like `prepareGenerateParts` */
export function toGenerateRequest(chat: Fields): Record<string, unknown> {
  const fields: Fields = Object.fromEntries(Object.entries(chat).map(([name, value]) => [name, toValue(value)]))
  const parts = readPreparedParts(chat) ?? prepareGenerateParts(fields)
  // Without tools there is nothing to choose from.
  const toolConfig = parts.fields['tools'] === undefined ? null : toToolConfig(fields['tool_choice'])
  return {
    ...parts.fields,
    ...(toolConfig === null ? {} : { toolConfig }),
    ...toSafetySettings(fields),
    generationConfig: toGenerationConfig(fields),
  }
}

export function toGeneratePath({ model, stream }: Fields): string {
  const name = String(model).replace(/^models\//, '')
  return `/models/${encodeURIComponent(name)}:${stream === true ? 'streamGenerateContent?alt=sse' : 'generateContent'}`
}

/** Long values of a large request are serialized already. */
function toValue(value: unknown): unknown {
  return value instanceof RawJson ? value.toJSON() : value
}
