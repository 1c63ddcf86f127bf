/** Parts of a message's content. */
import { isRecord } from '../../../exchange/request/chat-request.ts'
import { invalidPart } from '../../shared/invalid-part.ts'
import { toFileName } from '../../chat/request/name-files.ts'
import type { JsonObject as JsonFields } from '../../../exchange/api-format/api-format.ts'

/** The content of a message of the client: a text stays one, because some servers accept nothing else. */
export function toInputContent(content: unknown, path: string): string | readonly JsonFields[] {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return []
  return (content as unknown[]).flatMap((part, i) => (isRecord(part) ? toInputPart(part, `${path}.content[${i}]`) : []))
}

/** The text of a content; null if it has other parts. */
export function readText(content: unknown, separator = ''): string | null {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  const texts = (content as unknown[]).map((part) => (isRecord(part) ? (part['text'] ?? part['refusal']) : ''))
  return texts.every((text) => typeof text === 'string') ? texts.join(separator) : null
}

/** @throws GatewayError `invalid_request` for a part that the API has no place for */
function toInputPart(part: JsonFields, path: string): readonly JsonFields[] {
  const { type, text } = part
  switch (type) {
    case 'text':
      return typeof text === 'string' && text !== '' ? [{ type: 'input_text', text }] : []
    case 'image_url': {
      const image = part['image_url']
      const { url, detail } = isRecord(image) ? image : { url: image, detail: undefined }
      if (typeof url !== 'string') throw invalidPart(path)
      return [{ type: 'input_image', image_url: url, detail: typeof detail === 'string' ? detail : 'auto' }]
    }
    case 'file': {
      const { file_data: data, filename } = isRecord(part['file']) ? part['file'] : {}
      if (typeof data !== 'string') throw invalidPart(path)
      return [{ type: 'input_file', filename: typeof filename === 'string' ? filename : toFileName(data), file_data: data }]
    }
    default:
      throw invalidPart(path)
  }
}
