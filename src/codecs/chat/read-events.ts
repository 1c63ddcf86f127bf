/** Reads the parts of a chat completion that other formats have a place for. Unknown shapes are ignored. */
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'
import type { AnswerEvent, CallPiece, ReasoningField, SignedReasoning } from '../../conversation/answer-event.ts'
import { callSignaturesField } from '../../exchange/request/gemini-fields.ts'
import { readSignedText, signedFields } from '../shared/sealed-reasoning.ts'
import { readCallSignatures } from './call-signatures.ts'

export interface ChatDelta {
  readonly text: string
  readonly refusal: string
  readonly reasoning: string
  /** The field that the upstream uses for reasoning; it accepts its own reasoning in the same field. */
  readonly reasoningField: ReasoningField
  /** It is a whole message. */
  readonly isWhole: boolean
  /** Whole pieces of reasoning that the upstream signed or encrypted. */
  readonly signedReasoning: readonly SignedReasoning[]
  readonly calls: readonly CallPiece[]
  readonly annotations: readonly JsonObject[]
  readonly finishReason: string | null
  /** The stop sequence, where the upstream names it. */
  readonly stopSequence: string | null
}

/** The first choice of a chunk (`delta`) or of a whole completion (`message`); null without one. */
export function readChatDelta(document: JsonObject): ChatDelta | null {
  const { choices } = document
  const choice: unknown = Array.isArray(choices) ? choices.find(isFirstChoice) : undefined
  if (!isRecord(choice)) return null
  const { delta: sentDelta, message, finish_reason: finish, stop_reason: stop } = choice
  const delta = isRecord(sentDelta) ? sentDelta : isRecord(message) ? message : none
  const { annotations, reasoning_content: content } = delta
  const reasoningContent = toText(content)
  return {
    text: toText(delta['content']),
    refusal: toText(delta['refusal']),
    // Servers use three fields for the same text, and some send it twice: one field counts.
    reasoning: reasoningContent || toText(delta['reasoning']) || toText(delta['reasoning_details']),
    reasoningField: reasoningContent === '' ? 'reasoning' : 'reasoning_content',
    isWhole: delta === message,
    signedReasoning: readSignedReasoning(delta),
    calls: readCalls(delta),
    annotations: Array.isArray(annotations) ? annotations.filter(isRecord) : [],
    finishReason: typeof finish === 'string' && finish !== '' ? finish : null,
    stopSequence: typeof stop === 'string' ? stop : null,
  }
}

/** The same as events, with the usage. Signed reasoning of a whole message has its text with it. */
export function readAnswerEvents(document: JsonObject): readonly AnswerEvent[] {
  const { usage } = document
  const delta = readChatDelta(document)
  const events: AnswerEvent[] = []
  if (delta !== null) addEvents(delta, events)
  if (isRecord(usage)) events.push({ kind: 'usage', usage })
  return events
}

function addEvents(delta: ChatDelta, events: AnswerEvent[]): void {
  const { reasoning, reasoningField, signedReasoning, isWhole, annotations, calls, stopSequence, finishReason } = delta
  const text = delta.text + delta.refusal
  const isSigned = signedReasoning.some(({ field }) => field !== callSignaturesField)
  if (reasoning !== '' && !(isWhole && isSigned)) events.push({ kind: 'reasoning', text: reasoning, field: reasoningField })
  for (const signed of signedReasoning) {
    const signedText = isWhole ? readSignedText(signed) : ''
    if (signedText !== '') events.push({ kind: 'reasoning', text: signedText, field: reasoningField })
    events.push({ kind: 'signed-reasoning', signed })
  }
  if (text !== '') events.push({ kind: 'text', text })
  for (const annotation of annotations) events.push({ kind: 'citation', annotation })
  for (const call of calls) events.push({ kind: 'call', ...call })
  if (stopSequence !== null) events.push({ kind: 'stop-sequence', sequence: stopSequence })
  if (finishReason !== null) events.push({ kind: 'finish', reason: finishReason })
}

function isFirstChoice(choice: unknown): boolean {
  return isRecord(choice) && (typeof choice['index'] !== 'number' || choice['index'] === 0)
}

const none: JsonObject = {}

const unsigned: readonly SignedReasoning[] = []

/** Nearly every chunk has none. */
function readSignedReasoning(delta: JsonObject): readonly SignedReasoning[] {
  let signed = unsigned
  for (const field of signedFields) {
    const values = delta[field]
    if (Array.isArray(values)) signed = [...signed, ...values.filter(isRecord).map((value) => ({ field, value }))]
  }
  const ofCalls = readCallSignatures(delta)
  return ofCalls.length === 0 ? signed : [...signed, ...ofCalls]
}

function readCalls(delta: JsonObject): readonly CallPiece[] {
  const { tool_calls: calls, function_call: legacyCall } = delta
  if (Array.isArray(calls) && calls.length > 0) return calls.filter(isRecord).map(readCall)
  return isRecord(legacyCall) ? [readCall({ index: 0, function: legacyCall })] : []
}

function readCall(call: JsonObject): CallPiece {
  const { index, id, function: called } = call
  const { name, arguments: args } = isRecord(called) ? called : {}
  return {
    index: typeof index === 'number' ? index : null,
    id: typeof id === 'string' ? id : '',
    name: typeof name === 'string' ? name : '',
    arguments: typeof args === 'string' ? args : typeof args === 'object' && args !== null ? JSON.stringify(args) : '',
  }
}

/** A string, or a list of parts with texts. */
function toText(value: unknown): string {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return ''
  return value.map((part: unknown) => (isRecord(part) && typeof part['text'] === 'string' ? part['text'] : '')).join('')
}
