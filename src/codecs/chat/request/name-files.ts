/** Names of files: OpenAI's APIs require one, and other APIs have none or leave it out. */
import { isRecord } from '../../../exchange/request/chat-request.ts'
import { mapItems } from './map-items.ts'

type Fields = Readonly<Record<string, unknown>>

/** A message in which each file has a name. */
export function nameFiles(message: Fields): Fields {
  const { content } = message
  if (!Array.isArray(content)) return message
  const parts = mapItems(content as unknown[], namePart)
  return parts === content ? message : { ...message, content: parts }
}

export function toFileName(data: string): string {
  return data.startsWith('data:application/pdf') ? 'document.pdf' : 'file'
}

function namePart(part: Fields): Fields {
  const { type, file } = part
  if (type !== 'file' || !isRecord(file) || file['filename'] !== undefined || typeof file['file_data'] !== 'string') return part
  return { ...part, file: { filename: toFileName(file['file_data']), ...file } }
}
