/** Translates the content of messages and of tool results. */
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { invalidRequest } from '../../errors.ts'
import type { GatewayError } from '../../errors.ts'
import { invalidField, isAbsent, isObject, readOptionalText, requireList, requireObject, requireText } from '../shared/fields.ts'
import { requireFileData, requireImageUrl } from '../shared/image-data.ts'

type PartTranslator = (part: JsonObject, path: string) => JsonObject

/** By `type`; the values are parts of a chat message. */
const translators: Readonly<Record<string, PartTranslator>> = {
  input_text: toTextPart('text'),
  output_text: toTextPart('text'),
  text: toTextPart('text'),
  summary_text: toTextPart('text'),
  refusal: toTextPart('refusal'),
  // Codex puts the text of a message to another agent here, as the model wrote it.
  encrypted_content: toTextPart('encrypted_content'),
  input_image: toImagePart,
  input_file: toFilePart,
  input_audio: toAudioPart,
}

/** @throws GatewayError naming the part */
export function translateParts(content: unknown, path: string): readonly JsonObject[] {
  if (isAbsent(content)) return []
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return requireList(content, path).map((part, i) => translatePart(requireObject(part, `${path}[${i}]`), `${path}[${i}]`))
}

function translatePart(part: JsonObject, path: string): JsonObject {
  const type = requireText(part['type'], `${path}.type`)
  const translate = Object.hasOwn(translators, type) ? translators[type] : undefined
  if (translate === undefined)
    throw invalidField(`${path}.type`, `is not supported: '${type.slice(0, 64)}'`, `不受支持：'${type.slice(0, 64)}'`)
  return translate(part, path)
}

/** One string where all parts are texts, because some servers accept nothing else. Empty texts are left out. */
export function joinParts(parts: readonly JsonObject[], separator: string): string | readonly JsonObject[] {
  const filledParts = parts.filter((part) => part['type'] !== 'text' || part['text'] !== '')
  return filledParts.every(isTextPart) ? joinTexts(filledParts, separator) : filledParts
}

export function joinTexts(parts: readonly JsonObject[], separator: string): string {
  return parts.flatMap((part) => (isTextPart(part) ? [String(part['text'])] : [])).join(separator)
}

export function isTextPart(part: JsonObject): boolean {
  return part['type'] === 'text'
}

function toTextPart(field: string): PartTranslator {
  return (part, path) => {
    const text = part[field]
    if (typeof text !== 'string') throw invalidField(`${path}.${field}`, 'must be a string', '必须是字符串')
    return { type: 'text', text }
  }
}

function toImagePart(part: JsonObject, path: string): JsonObject {
  if (isAbsent(part['image_url']) && !isAbsent(part['file_id'])) throw fileError(`${path}.file_id`)
  const url = requireImageUrl(part['image_url'], `${path}.image_url`)
  const detail = readOptionalText(part['detail'], `${path}.detail`)
  // Chat completions have no `original`.
  return {
    type: 'image_url',
    image_url: { url, ...(detail !== undefined ? { detail: detail === 'original' ? 'high' : detail } : {}) },
  }
}

function toFilePart(part: JsonObject, path: string): JsonObject {
  for (const field of ['file_id', 'file_url']) if (!isAbsent(part[field])) throw fileError(`${path}.${field}`)
  const filename = readOptionalText(part['filename'], `${path}.filename`)
  const { file_data: data } = part
  const isAddress = typeof data === 'string' && /^https?:\/\//i.test(data.slice(0, 8))
  const file_data = isAddress ? data : requireFileData(data, `${path}.file_data`)
  return { type: 'file', file: { file_data, ...(filename === undefined ? {} : { filename }) } }
}

function toAudioPart(part: JsonObject, path: string): JsonObject {
  const { input_audio: audio } = part
  if (!isObject(audio))
    throw invalidField(
      `${path}.input_audio`,
      "must be an object with 'data' and 'format'",
      "必须是带有 'data' 和 'format' 的对象",
    )
  return { type: 'input_audio', input_audio: audio }
}

/** The gateway downloads nothing for a member, and uploaded files belong to the operator's account. */
function fileError(path: string): GatewayError {
  return invalidRequest(
    { en: `'${path}' refers to a file; send its contents instead.`, zh: `'${path}' 引用了文件，请直接发送内容。` },
    path,
  )
}
