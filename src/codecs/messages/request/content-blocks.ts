/** Parts of a message's content. */
import { isRecord } from '../../../exchange/request/chat-request.ts'
import { splitDataUrl } from '../../shared/data-url.ts'
import { invalidPart } from '../../shared/invalid-part.ts'
import type { JsonObject as JsonFields } from '../../../exchange/api-format/api-format.ts'

/** Null for a part without content. @throws GatewayError `invalid_request` for a part that the API has no place for */
export function toContentBlock(part: JsonFields, path: string): JsonFields | null {
  const { type } = part
  switch (type) {
    case 'text':
    case 'refusal': {
      const text = part[type]
      return typeof text === 'string' && text.trim() !== '' ? { type: 'text', text } : null
    }
    case 'image_url': {
      const image = part['image_url']
      const url = isRecord(image) ? image['url'] : image
      return { type: 'image', source: toSource(url, path) }
    }
    case 'file': {
      const { file_data: data, filename } = isRecord(part['file']) ? part['file'] : {}
      const title = typeof filename === 'string' && filename !== '' ? { title: filename } : {}
      return { type: 'document', source: toSource(data, path), ...title }
    }
    default:
      throw invalidPart(path)
  }
}

function toSource(url: unknown, path: string): JsonFields {
  const file = splitDataUrl(url)
  if (file !== null) return { type: 'base64', media_type: file.mediaType, data: file.data }
  if (typeof url === 'string' && /^https?:\/\//.test(url)) return { type: 'url', url }
  throw invalidPart(path)
}
