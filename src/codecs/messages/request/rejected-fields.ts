/** Models differ in the settings that they accept, and reject others by name. A turn can do without these. */
import { effortField, thinkingSettingsField } from '../../../exchange/request/anthropic-fields.ts'

/** The words of a rejection beside a name, and the fields of a chat completion that it comes from. */
const rejections: readonly (readonly [RegExp, readonly string[]])[] = [
  [/`temperature` and `top_p` cannot both be specified/i, ['top_p']],
  [/\b(?:effort parameter|output_config\.effort|effort)\b/i, [effortField, 'reasoning_effort']],
  [/\bthinking\b/i, [thinkingSettingsField, 'thinking', 'reasoning_effort']],
  [/`?\btemperature\b/i, ['temperature']],
  [/`?\btop_p\b/i, ['top_p']],
  [/`?\btop_k\b/i, ['top_k']],
]

const isRejection =
  /\b(?:not supported|does(?: not|n't) support|unsupported|deprecated|extra inputs are not permitted|cannot both be specified)\b/i

export function findRejectedFields(text: string): readonly string[] | null {
  // The path of a message is no setting: what is wrong there is the member's own text.
  if (!isRejection.test(text) || /\b(?:messages|tools|system)\.\d/.test(text)) return null
  return rejections.find(([pattern]) => pattern.test(text))?.[1] ?? null
}

/** Messages of the role `system`, fields of blocks and tools, and settings and betas, which not every server of this API has. */
export function isNativeRejected(text: string): boolean {
  return (
    /\bmessages\.\d+\.role\b|\brole\b.{0,40}\bsystem\b|\banthropic-beta\b/i.test(text) ||
    /\b(?:(?:messages|tools|system)\.\d\S{0,200}|context_management\S{0,200}|cache_control): extra inputs are not permitted\b/i.test(
      text,
    )
  )
}
