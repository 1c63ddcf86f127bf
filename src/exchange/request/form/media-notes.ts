/** Notes in place of files that a target does not take: a file that it rejects would make every later request of a session fail. */
import { getFilePartKind } from '../../../conversation/media/find-media.ts'
import type { FilePartKind } from '../../../conversation/media/find-media.ts'
import { isRecord } from '../chat-request.ts'

const notes: Readonly<Record<FilePartKind, string>> = {
  document: '(This document cannot be shown to the model. Extract its text with another tool.)',
  image: '(This image cannot be shown to the model.)',
  audio: '(This recording cannot be played to the model.)',
  video: '(This video cannot be shown to the model.)',
}

/** The messages with a note for each file of these kinds, and the kinds that were found. The same list if there are none. */
export function replaceMedia(
  messages: readonly unknown[],
  kinds: readonly FilePartKind[],
): { readonly messages: readonly unknown[]; readonly kinds: readonly FilePartKind[] } {
  const foundKinds = new Set<FilePartKind>()
  if (kinds.length === 0) return { messages, kinds: [] }
  const replacedMessages = messages.map((message) => {
    if (!isRecord(message) || !Array.isArray(message['content'])) return message
    const parts = message['content'] as readonly unknown[]
    const content = parts.map((part) => {
      const kind = isRecord(part) ? getFilePartKind(part) : null
      if (!isRecord(part) || kind === null || !kinds.includes(kind)) return part
      foundKinds.add(kind)
      const { cache_control: mark } = part
      return { type: 'text', text: notes[kind], ...(mark === undefined ? {} : { cache_control: mark }) }
    })
    return content.every((part, i) => part === parts[i]) ? message : { ...message, content: joinTexts(content) }
  })
  return foundKinds.size === 0 ? { messages, kinds: [] } : { messages: replacedMessages, kinds: [...foundKinds] }
}

/** Kinds of files in the messages, and whether a tool's result has one. */
export function listMedia(messages: readonly unknown[]): {
  readonly kinds: ReadonlySet<FilePartKind>
  readonly inToolResult: boolean
} {
  const kinds = new Set<FilePartKind>()
  let inToolResult = false
  for (const message of messages) {
    const content = isRecord(message) ? message['content'] : undefined
    if (!isRecord(message) || !Array.isArray(content)) continue
    for (const part of content as unknown[]) {
      const kind = isRecord(part) ? getFilePartKind(part) : null
      if (kind === null) continue
      kinds.add(kind)
      inToolResult ||= message['role'] === 'tool'
    }
  }
  return { kinds, inToolResult }
}

/** One text where only texts are left: some servers accept a list of parts only for files. */
function joinTexts(parts: readonly unknown[]): unknown {
  const texts = parts.map((part) => {
    const isText = isRecord(part) && part['type'] === 'text' && part['cache_control'] === undefined
    return isText && typeof part['text'] === 'string' ? part['text'] : null
  })
  return texts.every((text) => text !== null) ? texts.join('\n\n') : parts
}
