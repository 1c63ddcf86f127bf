/** Parts of a message's content as parts of the API. */
import { isRecord } from '../../exchange/request/chat-request.ts'
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { splitDataUrl } from '../shared/data-url.ts'
import { toText } from '../shared/read-json.ts'
import { invalidRequest } from '../../errors.ts'

/** The parts of a content; a string is one part. @throws GatewayError `invalid_request` for a part that the API has no place for */
export function toContentParts(content: unknown, path: string): JsonObject[] {
  if (typeof content === 'string') return content === '' ? [] : [{ text: content }]
  if (!Array.isArray(content)) return []
  return (content as unknown[]).flatMap((part, i) => {
    const contentPart = isRecord(part) ? toContentPart(part, `${path}.content[${i}]`) : null
    if (!isRecord(part) || contentPart === null) return []
    // A file has no place for its name.
    const name = readFileName(part)
    return name === '' ? [contentPart] : [{ text: `File: ${name}` }, contentPart]
  })
}

/** Empty where the name says nothing. */
function readFileName({ file }: JsonObject): string {
  const { filename } = isRecord(file) ? file : {}
  const name = toText(filename)
  return placeholderNames.has(name) ? '' : name
}

/** Stand where a client has given no name. */
const placeholderNames: ReadonlySet<string> = new Set(['document.pdf', 'document', 'file'])

/** Null for a part without content. */
function toContentPart(part: JsonObject, path: string): JsonObject | null {
  const { type } = part
  switch (type) {
    case 'text':
    case 'refusal': {
      const text = toText(part[type])
      return text === '' ? null : { text }
    }
    case 'image_url':
    case 'video_url': {
      const media = part[type]
      return toMediaPart(isRecord(media) ? media['url'] : media, path)
    }
    case 'input_audio': {
      const { data, format } = isRecord(part['input_audio']) ? part['input_audio'] : {}
      if (typeof data !== 'string') throw invalidPart(path)
      return { inlineData: { mimeType: `audio/${toText(format) || 'wav'}`, data } }
    }
    case 'file': {
      const { file_data: data } = isRecord(part['file']) ? part['file'] : {}
      return toMediaPart(data, path)
    }
    default:
      throw invalidPart(path)
  }
}

/** Contents as they are, or an address that the upstream fetches. */
function toMediaPart(url: unknown, path: string): JsonObject {
  if (typeof url !== 'string') throw invalidPart(path)
  if (/^https?:\/\//.test(url)) return { fileData: { ...toMimeType(url), fileUri: url } }
  const file = splitDataUrl(url)
  if (file === null) throw invalidPart(path)
  return { inlineData: { mimeType: file.mediaType, data: file.data } }
}

const mimeTypes: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  pdf: 'application/pdf',
  mp3: 'audio/mp3',
  wav: 'audio/wav',
  mp4: 'video/mp4',
  webm: 'video/webm',
  mov: 'video/quicktime',
}

/** The type by the ending of the path; the upstream finds out others. */
function toMimeType(url: string): JsonObject {
  const ending = /\.(\w{3,4})(?:[?#]|$)/.exec(url.slice(-maxEndingLength))?.[1]?.toLowerCase() ?? ''
  return Object.hasOwn(mimeTypes, ending) ? { mimeType: mimeTypes[ending] } : {}
}

const maxEndingLength = 512

function invalidPart(path: string) {
  return invalidRequest(
    {
      en: `'${path}' cannot be sent to this model; use text, or images, audio, video and files as base64.`,
      zh: `'${path}' 无法发送给该模型，请使用文本，或 base64 的图片、音频、视频和文件。`,
    },
    path,
  )
}
