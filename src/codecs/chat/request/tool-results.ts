/**
 * Results of tools for targets of chat completions. Their schema has texts alone in a message of the role `tool`, and no flag for a call that
 * failed: the files follow in a message of the user, and the flag becomes the beginning of the text.
 */
import { getFilePartKind } from '../../../conversation/media/find-media.ts'
import { breakpointsField } from '../../../exchange/request/anthropic-fields.ts'
import { isRecord } from '../../../exchange/request/chat-request.ts'
import { toolErrorField } from '../../../exchange/request/gemini-fields.ts'
import { emptyResult } from '../../shared/placeholders.ts'
import { toText } from '../../shared/read-json.ts'

type Fields = Readonly<Record<string, unknown>>

const errorPrefix = 'Error: '

/** The text of a result, whose call has failed if `isError`. A text that says so itself stays as it is. */
export function toResultText(text: string, isError: boolean): string {
  const resultText = text === '' ? emptyResult : text
  return isError && !/^error\b/i.test(resultText) ? errorPrefix + resultText : resultText
}

/** The messages with each failed call named in the text of its result. The same list if there is none. */
export function writeToolErrors(messages: readonly unknown[]): readonly unknown[] {
  if (!messages.some(isFailed)) return messages
  return messages.map((message) => {
    if (!isFailed(message)) return message
    const { content } = message
    if (!Array.isArray(content)) return { ...message, content: toResultText(typeof content === 'string' ? content : '', true) }
    return { ...message, content: prefixFirstText(content as unknown[]) }
  })
}

/**
 * The messages with texts alone in results of tools. Their files follow the last result of the turn, in the next message of the user or in a
 * message of their own.
 */
export function attachToolMedia(messages: readonly unknown[]): readonly unknown[] {
  if (!messages.some((message) => isFailed(message) || isListResult(message))) return messages
  const encodedMessages: unknown[] = []
  let attachedFiles: Fields[] = []
  for (const message of messages) {
    if (isRecord(message) && message['role'] === 'tool') {
      const { result, files } = splitResult(message)
      encodedMessages.push(result)
      attachedFiles.push(...files)
      continue
    }
    const isUser = isRecord(message) && message['role'] === 'user'
    if (attachedFiles.length > 0 && !isUser) encodedMessages.push({ role: 'user', content: attachedFiles })
    encodedMessages.push(attachedFiles.length > 0 && isUser ? { ...message, ...prependParts(attachedFiles, message) } : message)
    attachedFiles = []
  }
  return attachedFiles.length === 0 ? encodedMessages : [...encodedMessages, { role: 'user', content: attachedFiles }]
}

/** The text of a result says where its files were. */
function splitResult(message: Fields): { readonly result: Fields; readonly files: readonly Fields[] } {
  const isError = message[toolErrorField] === true
  const { content, tool_call_id: id } = message
  if (!Array.isArray(content)) {
    if (!isError) return { result: message, files: [] }
    return { result: { ...message, content: toResultText(typeof content === 'string' ? content : '', true) }, files: [] }
  }
  const { lines, attached } = splitFiles((content as unknown[]).filter(isRecord), { isFile, callId: toText(id) })
  const text = toResultText(lines.join('\n'), isError)
  const files = attached.map((each) => (typeof each === 'string' ? toTextPart(each) : each))
  return { result: { ...message, content: text, ...moveMarks(message, text) }, files }
}

/** The texts of a result, which say where its files were; and the files, with texts that say what they belong to. */
export function splitFiles(
  parts: readonly Fields[],
  { isFile, callId }: { isFile(part: Fields): boolean; readonly callId: string },
): { readonly lines: readonly string[]; readonly attached: readonly (string | Fields)[] } {
  const files = parts.filter(isFile)
  const isFirst = (i: number): boolean => i === 0 || !isFile(parts[i - 1] ?? {})
  const groups = parts.filter((part, i) => isFile(part) && isFirst(i)).length
  let count = 0
  const lines = parts.flatMap((part, i) => {
    if (!isFile(part)) return typeof part['text'] === 'string' && part['text'] !== '' ? [part['text']] : []
    count++
    if (groups > 1) return [`Attachment ${count} of this result is below.`]
    return isFirst(i) ? ['The result is attached below.'] : []
  })
  const labelledFiles = groups > 1 ? files.flatMap((file, i) => [`Attachment ${i + 1}:`, file]) : files
  return { lines, attached: files.length === 0 ? [] : [`Attached to the result of the tool call ${callId}:`, ...labelledFiles] }
}

/** A mark within a result becomes one at its end. */
function moveMarks({ content, [breakpointsField]: own }: Fields, text: string): Fields {
  if (Array.isArray(own))
    return { [breakpointsField]: (own as unknown[]).map((mark) => (isRecord(mark) ? { ...mark, end: text.length } : mark)) }
  const mark = (content as readonly unknown[]).findLast(
    (part) => isRecord(part) && !isFile(part) && part['cache_control'] !== undefined,
  )
  return isRecord(mark) ? { [breakpointsField]: [{ end: text.length, cache_control: mark['cache_control'] }] } : {}
}

function prependParts(parts: readonly Fields[], { content, [breakpointsField]: breakpoints }: Fields): Fields {
  if (Array.isArray(content)) return { content: [...parts, ...(content as unknown[])] }
  if (typeof content !== 'string' || content === '') return { content: parts }
  // The places of marks in a text are kept in the parts that it becomes.
  const marks = Array.isArray(breakpoints) ? (breakpoints as unknown[]).filter(isRecord) : []
  return { content: [...parts, ...splitAtMarks(content, marks)], [breakpointsField]: undefined }
}

/** The text in parts that end at its marks. Blank text before a mark stays with the next part. */
export function splitAtMarks(text: string, marks: readonly Fields[]): readonly Fields[] {
  const parts: Fields[] = []
  let from = 0
  let blankTo = 0
  for (const { end, cache_control: mark } of marks) {
    const to = typeof end === 'number' ? Math.min(end, text.length) : 0
    if (to <= blankTo) continue
    const isBlank = text.slice(blankTo, to).trim() === ''
    blankTo = to
    if (isBlank) continue
    parts.push({ ...toTextPart(text.slice(from, to)), cache_control: mark })
    from = to
  }
  return from < text.length ? [...parts, toTextPart(text.slice(from))] : parts
}

/** Parts with the flag in the first text; before files in a text of its own. */
function prefixFirstText(parts: readonly unknown[]): readonly unknown[] {
  const [first, ...rest] = parts
  if (isRecord(first) && typeof first['text'] === 'string')
    return [{ ...first, text: toResultText(first['text'], true) }, ...rest]
  return [toTextPart(errorPrefix.trim()), ...parts]
}

function isFailed(message: unknown): message is Fields {
  return isRecord(message) && message[toolErrorField] === true
}

function isListResult(message: unknown): boolean {
  return isRecord(message) && message['role'] === 'tool' && Array.isArray(message['content'])
}

function isFile(part: Fields): boolean {
  return getFilePartKind(part) !== null
}

function toTextPart(text: string): Fields {
  return { type: 'text', text }
}
