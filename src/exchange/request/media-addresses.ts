/**
 * Addresses in the parts of messages. A model server may fetch what they name (pictures, video, sound, files), with the rights of a machine
 * in the operator's network.
 */
import { thinkingField } from './anthropic-fields.ts'
import { isRecord } from './chat-request.ts'
import type { ChatRequest } from './chat-request.ts'
import { findNativeExtra } from './form/native-request.ts'
import { getAnalysis } from './request-analysis.ts'
import { callSignaturesField } from './gemini-fields.ts'
import { reasoningItemsField } from './responses-fields.ts'

/** Different addresses that are examined; more are too many for a request. */
export const maxMediaAddresses = 100
/** Characters of an address that are examined. A longer one is too long. */
export const maxAddressLength = 2_048

/** Fields of a message whose addresses no server fetches, and calls of tools, whose arguments are texts. */
const unfetchedFields: ReadonlySet<string> = new Set([
  'annotations',
  'citations',
  'tool_calls',
  'function_call',
  thinkingField,
  reasoningItemsField,
  callSignaturesField,
])
/** Fields of a message that name media by a text alone. */
const mediaFields: ReadonlySet<string> = new Set([
  'image',
  'images',
  'image_url',
  'video',
  'videos',
  'video_url',
  'audio',
  'audios',
  'audio_url',
  'file',
  'files',
  'file_url',
  'attachments',
])
/** Fields of a part that name what it shows; their value is an address unless it is a `data:` URL. */
const addressFields: ReadonlySet<string> = new Set([
  'url',
  'uri',
  'path',
  'image',
  'video',
  'audio',
  'image_url',
  'video_url',
  'audio_url',
  'input_image',
  'input_video',
  'file_url',
])
/** Fields that servers read as words. */
const wordFields: ReadonlySet<string> = new Set([
  'type',
  'text',
  'summary',
  'refusal',
  'detail',
  'format',
  'filename',
  'name',
  'title',
  'media_type',
])
/** Any scheme before slashes, and those that need none. Blanks before it are removed by most servers. */
const anyAddress = /^[\s\p{Cc}]*(?:[a-z][a-z0-9+.-]{0,30}:[\\/]|(?:file|https?|ftp):)/iu
const dataUrl = /^[\s\p{Cc}]*data:/iu

/** The different addresses in a request, each cut to a length that is refused; at most one more than `maxMediaAddresses`. */
export function findMediaAddresses(chat: Pick<ChatRequest, 'messages'>): readonly string[] {
  const analysis = getAnalysis(chat)
  if (analysis !== undefined) return analysis.mediaAddresses
  const addresses = new Set<string>()
  for (const message of chat.messages) {
    if (!isRecord(message)) continue
    for (const field in message) {
      const value = message[field]
      // Nearly all messages have nothing else.
      if (typeof value === 'string' && (field === 'role' || field === 'content')) continue
      if (addresses.size > maxMediaAddresses) return [...addresses]
      const isExamined = typeof value === 'string' ? mediaFields.has(foldName(field)) : !unfetchedFields.has(field)
      // Servers read parts also in other fields than `content`, such as `reasoning_content`.
      if (isExamined) collectAddresses({ [field]: value }, addresses)
    }
  }
  for (const value of findNativeExtra(chat)?.prompt ?? [])
    if (isRecord(value) && !Object.keys(value).every((field) => unfetchedFields.has(field))) collectAddresses(value, addresses)
  return [...addresses]
}

function collectAddresses(value: object, addresses: Set<string>): void {
  for (const [field, inner] of Object.entries(value) as [string, unknown][]) {
    if (addresses.size > maxMediaAddresses) return
    if (typeof inner === 'object' && inner !== null) collectAddresses(inner, addresses)
    else if (typeof inner === 'string' && isAddress(field, inner)) addresses.add(inner.slice(0, maxAddressLength + 1))
  }
}

function isAddress(field: string, value: string): boolean {
  const name = foldName(field)
  if (wordFields.has(name) || value === '') return false
  return !dataUrl.test(value) && (addressFields.has(name) || anyAddress.test(value))
}

/** Servers in Go ignore the case of names, as Unicode defines it: they read `Content`, and `Type` after `type`. */
function foldName(name: string): string {
  return name.toUpperCase().toLowerCase()
}
