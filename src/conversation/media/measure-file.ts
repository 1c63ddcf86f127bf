/**
 * Kind, size and units of a file in base64. Reading is bounded: of pictures and recordings only the beginning is decoded, and a PDF is
 * searched once. A file that cannot be read has no units.
 */
import { countPdfPages } from './count-pdf-pages.ts'
import { readAudioSeconds, readVideoSeconds } from './read-seconds.ts'
import { readPixels } from './read-pixels.ts'
import type { MediaItem, MediaKind } from './media-item.ts'

interface FileFacts {
  /** By the type of the part; the file's own type decides. */
  readonly kind: MediaKind
  readonly mediaType: string | null
  /** From the file's name, or its format. */
  readonly extension: string | null
}

/** Base64 characters of a picture's or recording's beginning; its header may follow a preview. A multiple of four. */
const maxHeaderLength = 256 * 1024
const maxPrefixLength = 256

/** @param contents a `data:` URL, base64, or an address */
export function measureFile(contents: string, { kind, mediaType, extension }: FileFacts): MediaItem {
  if (/^https?:\/\//i.test(contents.slice(0, 8))) return { kind, bytes: null, units: null }
  const comma = contents.startsWith('data:') ? contents.slice(0, maxPrefixLength).indexOf(',') : -1
  const prefix = contents.slice(0, comma + 1)
  const start = comma + 1
  const isBase64 = comma === -1 || prefix.includes(';base64')
  const bytes = isBase64 ? Math.floor(((contents.length - start) * 3) / 4) : contents.length - start
  const ownType = /^data:([^;,]*)/.exec(prefix)?.[1] ?? mediaType ?? ''
  const decode = (length: number) => Buffer.from(contents.slice(start, start + length), 'base64')
  const header = decode(16)
  const actual = decideKind(kind, ownType.toLowerCase(), extension?.toLowerCase() ?? '', header)
  switch (actual) {
    case 'image':
      return { kind: actual, bytes, units: readPixels(decode(maxHeaderLength)) }
    case 'document':
      return { kind: actual, bytes, units: isPdf(header) ? countPdfPages(decode(contents.length)) : null }
    case 'audio':
      return { kind: actual, bytes, units: readAudioSeconds(decode(maxHeaderLength), bytes) }
    case 'video':
      return { kind: actual, bytes, units: readVideoSeconds(decode(maxHeaderLength)) }
    case 'office':
    case 'text':
      return { kind: actual, bytes, units: null }
  }
}

/** Files that models receive as text. */
const textExtensions =
  /^(?:txt|md|csv|tsv|json|jsonl|xml|html?|ya?ml|log|tex|css|[cm]?[jt]sx?|py|rb|go|rs|java|kt|c|h|cc|cpp|hpp|cs|php|swift|sh|sql)$/
const officeExtensions = /^(?:docx?|xlsx?|pptx?|odt|ods|odp|rtf|epub)$/

/** A `file` part may hold any kind; a part for pictures, sound or video holds just that. */
function decideKind(kind: MediaKind, mediaType: string, extension: string, header: Buffer): MediaKind {
  if (kind !== 'document') return kind
  if (isPdf(header)) return 'document'
  if (mediaType.startsWith('image/')) return 'image'
  if (mediaType.startsWith('audio/')) return 'audio'
  if (mediaType.startsWith('video/')) return 'video'
  if (mediaType.startsWith('text/') || mediaType === 'application/json') return 'text'
  if (/officedocument|opendocument|msword|ms-excel|ms-powerpoint|rtf|epub/.test(mediaType)) return 'office'
  if (mediaType === '' || mediaType === 'application/octet-stream') {
    if (textExtensions.test(extension)) return 'text'
    if (officeExtensions.test(extension)) return 'office'
  }
  return 'document'
}

function isPdf(header: Buffer): boolean {
  return header.subarray(0, 5).toString('latin1') === '%PDF-'
}
