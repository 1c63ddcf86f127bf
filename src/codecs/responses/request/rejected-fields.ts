/** Models differ in the settings that they accept, and reject others by name. A turn can do without these. */
import { customToolsField, encryptedReasoningField, summaryField } from '../../../exchange/request/responses-fields.ts'

/** The words of a rejection, and the fields of a chat completion that it comes from. */
const rejections: readonly (readonly [RegExp, readonly string[]])[] = [
  [/\bencrypted content is not supported\b|\breasoning\.encrypted_content\b/i, [encryptedReasoningField]],
  [/\breasoning\.summary\b|\breasoning summar(?:y|ies)\b/i, [summaryField]],
  [/\bcustom\b.{0,40}\btools?\b|\btools?\b.{0,40}\bcustom\b/i, [customToolsField]],
  [/\bparallel_tool_calls\b/i, ['parallel_tool_calls']],
  [/\breasoning\.effort\b/i, ['reasoning_effort']],
  [/\btext\.verbosity\b/i, ['verbosity']],
  [/\btemperature\b/i, ['temperature']],
  [/\btop_p\b/i, ['top_p']],
]

/** The field as such is rejected, and not its value, which is the member's own. */
const isRejection =
  /\b(?:unsupported parameter|unknown parameter|not supported|does(?: not|n't) support (?:reasoning|encrypted|custom)|must be verified|unsupported .{0,30}tool type|extra inputs are not permitted)\b/i

export function findRejectedFields(text: string): readonly string[] | null {
  if (!isRejection.test(text)) return null
  return rejections.find(([pattern]) => pattern.test(text))?.[1] ?? null
}

/** Types of items and tools, and fields of them, which not every server of this API has. */
export function isNativeRejected(text: string): boolean {
  return (
    /\b(?:unknown|unsupported) parameter:? ['"`]?(?:(?:input|tools)[.[]\d|client_metadata|reasoning\.context)/i.test(text) ||
    /\b(?:(?:input|tools)[.[]\d[^ ]{0,200}|client_metadata|reasoning\.context): extra inputs are not permitted\b/i.test(text) ||
    /\btool_choice\b[^\n]{0,80}\btools\b|\b(?:role|variant)\b[^\n]{0,60}\bdeveloper\b|\bdeveloper\b[^\n]{0,60}\brole\b/i.test(
      text,
    ) ||
    /\b(?:invalid|unsupported|unknown|unrecognized|unexpected)\b[^\n]{0,60}\b(?:namespace|tool_search|additional_tools|agent_message)\b/i.test(
      text,
    )
  )
}
