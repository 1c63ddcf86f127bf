/** Reads a chunk or a whole chat completion as events of an answer. Unknown shapes are ignored. */
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'
import type { AnswerEvent } from '../../conversation/answer-event.ts'
import { toText } from '../shared/read-json.ts'
import { readCallSignatures } from './call-signatures.ts'
import { toPictureUrl } from './picture-parts.ts'

/** What the first choice has, as `delta` or `message`, and the usage. */
export function readAnswerEvents({ choices, usage }: JsonObject): readonly AnswerEvent[] {
  const choice: unknown = Array.isArray(choices) ? choices.find(isFirstChoice) : undefined
  const events: AnswerEvent[] = []
  if (isRecord(choice)) readChoice(choice, events)
  if (isRecord(usage)) events.push({ kind: 'usage', usage })
  return events
}

function isFirstChoice(choice: unknown): boolean {
  return isRecord(choice) && (typeof choice['index'] !== 'number' || choice['index'] === 0)
}

function readChoice({ delta, message, finish_reason: reason, stop_reason: sequence }: JsonObject, events: AnswerEvent[]): void {
  if (isRecord(delta)) readMessage(delta, events)
  else if (isRecord(message)) readMessage(message, events)
  if (typeof sequence === 'string') events.push({ kind: 'stop-sequence', sequence })
  if (typeof reason === 'string' && reason !== '') events.push({ kind: 'finish', reason })
}

function readMessage(message: JsonObject, events: AnswerEvent[]): void {
  const { annotations, images, tool_calls: calls, function_call: legacyCall } = message
  // Servers use three fields for the same text, and some send it twice: one field counts.
  const thought = joinTexts(message['reasoning_content'])
  const reasoning = thought || joinTexts(message['reasoning']) || joinTexts(message['reasoning_details'])
  if (reasoning !== '')
    events.push({ kind: 'reasoning', text: reasoning, field: thought === '' ? 'reasoning' : 'reasoning_content' })
  for (const signedReasoning of readCallSignatures(message)) events.push({ kind: 'signed-reasoning', signed: signedReasoning })
  const text = joinTexts(message['content']) + joinTexts(message['refusal'])
  if (text !== '') events.push({ kind: 'text', text })
  if (Array.isArray(annotations))
    for (const annotation of annotations.filter(isRecord)) events.push({ kind: 'citation', annotation })
  if (Array.isArray(images)) for (const image of images.filter(isRecord)) readPicture(image, events)
  if (Array.isArray(calls) && calls.length > 0) for (const call of calls.filter(isRecord)) events.push(readCall(call))
  else if (isRecord(legacyCall)) events.push(readCall({ index: 0, function: legacyCall }))
}

function readPicture(image: JsonObject, events: AnswerEvent[]): void {
  const url = toPictureUrl(image)
  const { index } = image
  if (url !== null) events.push({ kind: 'image', url, ...(typeof index === 'number' ? { index } : {}) })
}

function readCall({ index, id, function: called }: JsonObject): AnswerEvent {
  const { name, arguments: args } = isRecord(called) ? called : {}
  return {
    kind: 'call',
    index: typeof index === 'number' ? index : null,
    id: toText(id),
    name: toText(name),
    arguments: typeof args === 'object' && args !== null ? JSON.stringify(args) : toText(args),
  }
}

/** A string, or the texts of a list of parts. */
function joinTexts(value: unknown): string {
  if (!Array.isArray(value)) return toText(value)
  return value.map((part: unknown) => (isRecord(part) ? toText(part['text']) : '')).join('')
}
