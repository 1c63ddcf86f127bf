/** Parts of a message's content. */
import { invalidRequest } from '../../../errors.ts'
import { isRecord } from '../../../exchange/request/chat-request.ts'
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
  const [, mediaType, data] = (typeof url === 'string' && dataUrlHead.test(url.slice(0, maxHeadLength)) && splitData(url)) || []
  if (mediaType !== undefined) return { type: 'base64', media_type: mediaType === 'image/jpg' ? 'image/jpeg' : mediaType, data }
  if (typeof url === 'string' && /^https?:\/\//.test(url)) return { type: 'url', url }
  throw invalidPart(path)
}

const dataUrlHead = /^data:[\w.+-]+\/[\w.+-]+(?:;[^,;]*)*;base64,/
/** Of what stands before the data; millions of parameters would exceed the stack of the pattern. */
const maxHeadLength = 1_024

/** Without a regular expression over the data, which has megabytes. */
function splitData(url: string): readonly [string, string, string] {
  const comma = url.indexOf(',')
  const mediaType = url.slice('data:'.length, url.indexOf(';'))
  return [url.slice(0, comma), mediaType, url.slice(comma + 1)]
}

function invalidPart(path: string) {
  return invalidRequest(
    {
      en: `'${path}' cannot be sent to this model; use text, images, or files as base64.`,
      zh: `'${path}' 无法发送给该模型，请使用文本、图片或 base64 文件。`,
    },
    path,
  )
}
