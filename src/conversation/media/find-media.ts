/** Finds the media of a content part, in the forms that chat-completion servers accept. */
import { measureFile } from './measure-file.ts'
import type { MediaItem, MediaKind } from './media-item.ts'

export interface FoundMedia {
  readonly item: MediaItem
  /** Characters of the request that are the file or its address. */
  readonly length: number
  /** The part without them; its texts cost tokens as other texts do. */
  readonly rest: Readonly<Record<string, unknown>>
}

/** What a type of part holds, whatever its file is. */
export const filePartKinds = ['image', 'document', 'audio', 'video'] as const
export type FilePartKind = (typeof filePartKinds)[number]

type Fields = Readonly<Record<string, unknown>>

/**
 * Where each type of part holds its file: field, and the names within it, the first of which holds the contents or an address. A part whose
 * field is a string has it there.
 */
const partShapes: Readonly<
  Record<string, { readonly kind: FilePartKind; readonly field: string; readonly names: readonly string[] }>
> = {
  image_url: { kind: 'image', field: 'image_url', names: ['url'] },
  input_image: { kind: 'image', field: 'image_url', names: ['url'] },
  image: { kind: 'image', field: 'source', names: ['data', 'url'] },
  file: { kind: 'document', field: 'file', names: ['file_data', 'file_url', 'data', 'url'] },
  input_file: { kind: 'document', field: 'file_data', names: [] },
  document: { kind: 'document', field: 'source', names: ['data', 'url'] },
  input_audio: { kind: 'audio', field: 'input_audio', names: ['data', 'url'] },
  audio_url: { kind: 'audio', field: 'audio_url', names: ['url'] },
  video_url: { kind: 'video', field: 'video_url', names: ['url'] },
  video: { kind: 'video', field: 'video', names: ['url', 'data'] },
}

/** Null for a part that is no file. */
export function getFilePartKind({ type }: Fields): FilePartKind | null {
  return typeof type === 'string' && Object.hasOwn(partShapes, type) ? (partShapes[type]?.kind ?? null) : null
}

/** Null for a part that is no file: it is text, or unknown, and is counted as JSON. */
export function findMedia(part: Fields): FoundMedia | null {
  const { type } = part
  const shape = typeof type === 'string' && Object.hasOwn(partShapes, type) ? partShapes[type] : undefined
  if (shape === undefined) return null
  const { kind, field, names } = shape
  const { type: _, [field]: holder, ...others } = part
  if (typeof holder === 'string') return measure(holder, kind, {}, others)
  if (!isFields(holder)) return null
  // Text in a document's source is text.
  if (holder['type'] === 'text' || holder['type'] === 'content') return null
  const name = names.find((each) => typeof holder[each] === 'string')
  if (name === undefined) return null
  const { [name]: contents, ...facts } = holder
  return measure(String(contents), kind, facts, { ...others, ...facts })
}

function measure(contents: string, kind: MediaKind, facts: Fields, rest: Fields): FoundMedia {
  const { media_type: mediaType, filename, format } = facts
  const item = measureFile(contents, {
    kind,
    mediaType: typeof mediaType === 'string' ? mediaType : null,
    extension: toExtension(filename) ?? (typeof format === 'string' ? format : null),
  })
  return { item, length: contents.length, rest }
}

function toExtension(filename: unknown): string | null {
  if (typeof filename !== 'string') return null
  const dot = filename.lastIndexOf('.')
  return dot === -1 ? null : filename.slice(dot + 1)
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
