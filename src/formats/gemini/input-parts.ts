/** Files in parts: contents, or an address that the upstream may fetch. */
import { invalidRequest } from '../../errors.ts'
import type { GatewayError } from '../../errors.ts'
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { invalidField, isAbsent, readOptionalText, requireObject, requireText } from '../shared/fields.ts'
import { requireFileData, requireImageUrl } from '../shared/image-data.ts'

/** The file of a part, as a part of a chat message; null for a part without one. */
export function translateFile({ inlineData, fileData }: JsonObject, path: string): JsonObject | null {
  if (!isAbsent(inlineData)) {
    const { mimeType, data, displayName } = requireObject(inlineData, `${path}.inlineData`)
    const type = requireText(mimeType, `${path}.inlineData.mimeType`).toLowerCase()
    const name = readOptionalText(displayName, `${path}.inlineData.displayName`) ?? ''
    return toPart({ type, data: toStandardBase64(requireFileData(data, `${path}.inlineData.data`)), name }, `${path}.inlineData`)
  }
  if (isAbsent(fileData)) return null
  const { mimeType, fileUri } = requireObject(fileData, `${path}.fileData`)
  const uri = requireText(fileUri, `${path}.fileData.fileUri`)
  if (!/^https?:\/\//i.test(uri) || uploadedFile.test(uri)) throw uploadedFileError(`${path}.fileData.fileUri`)
  const type = readOptionalText(mimeType, `${path}.fileData.mimeType`) ?? ''
  if (type.startsWith('video/')) return { type: 'video_url', video_url: { url: uri } }
  if (type === '' || type.startsWith('image/')) return { type: 'image_url', image_url: { url: uri } }
  return { type: 'file', file: { filename: 'document', file_data: uri } }
}

/** Uploads belong to an account of Google's, which members and the operator do not share. */
const uploadedFile = /^https:\/\/generativelanguage\.googleapis\.com\//i

function toPart({ type, data, name }: Readonly<Record<'type' | 'data' | 'name', string>>, path: string): JsonObject {
  const url = `data:${type};base64,${data}`
  const [kind = '', subtype = ''] = type.split(/[/;]/)
  switch (kind) {
    case 'image':
      return { type: 'image_url', image_url: { url: requireImageUrl(url, `${path}.data`) } }
    case 'audio':
      return { type: 'input_audio', input_audio: { data, format: audioFormats[subtype] ?? subtype } }
    case 'video':
      return { type: 'video_url', video_url: { url } }
    case 'text':
      return { type: 'text', text: Buffer.from(data, 'base64').toString('utf8') }
    case 'application':
      return subtype === 'json'
        ? { type: 'text', text: Buffer.from(data, 'base64').toString('utf8') }
        : { type: 'file', file: { filename: name || (subtype === 'pdf' ? 'document.pdf' : 'file'), file_data: url } }
    default:
      throw invalidField(`${path}.mimeType`, 'must be the type of a file, as in image/png', '必须是文件类型，例如 image/png')
  }
}

/** Names of chat completions. */
const audioFormats: Readonly<Record<string, string>> = { mpeg: 'mp3', 'x-wav': 'wav', wave: 'wav' }

/** Clients send bytes in either alphabet of Base64. */
function toStandardBase64(data: string): string {
  if (!data.includes('-') && !data.includes('_')) return data
  return data.replaceAll('-', '+').replaceAll('_', '/')
}

function uploadedFileError(path: string): GatewayError {
  return invalidRequest(
    {
      en: `'${path}' names an uploaded file; send its contents as 'inlineData', or a public https address.`,
      zh: `'${path}' 引用了已上传的文件，请以 'inlineData' 直接发送内容，或使用公开的 https 地址。`,
    },
    path,
  )
}
