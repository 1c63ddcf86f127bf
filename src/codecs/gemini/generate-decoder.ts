/** Reads an answer of `generateContent`, whole or streamed: each event of a stream is a whole answer with the next parts. */
import { isRecord } from '../../exchange/request/chat-request.ts'
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { readObjects, toText } from '../shared/read-json.ts'
import type { AnswerEvent } from '../../conversation/answer-event.ts'
import { callSignaturesField } from '../../exchange/request/gemini-fields.ts'
import type { AnswerDecoder, FailedEvent } from '../answer-decoder.ts'
import { CallIds } from '../shared/call-ids.ts'
import { decideFinish } from '../chat/finish-reason.ts'
import { readFinishReason } from './finish-reason.ts'
import { toSignatureFields } from './thought-signatures.ts'
import { readUsageMetadata } from './usage-metadata.ts'

type Decoded = AnswerEvent | FailedEvent

export class GenerateDecoder implements AnswerDecoder {
  readonly #ids: CallIds
  #hasStarted = false
  #calls = 0

  /** @param requestId ids of calls that the upstream gave none are derived from it */
  constructor(requestId: string) {
    this.#ids = new CallIds(requestId)
  }

  decodeWhole(document: JsonObject): readonly Decoded[] | null {
    return Array.isArray(document['candidates']) || document['promptFeedback'] !== undefined ? this.decode(document) : null
  }

  decode(event: JsonObject): readonly Decoded[] {
    const { promptFeedback: feedback, usageMetadata } = event
    const events: Decoded[] = this.#start(event)
    // Several candidates are not requested.
    const candidate = readObjects(event['candidates']).find(({ index }) => index === undefined || index === 0)
    const blockReason = isRecord(feedback) ? toText(feedback['blockReason']) : ''
    if (candidate === undefined && blockReason !== '') return [...events, { kind: 'error', error: toBlockedError(blockReason) }]
    const { content, finishReason } = candidate ?? {}
    for (const part of readObjects(isRecord(content) ? content['parts'] : undefined)) this.#addPart(part, events)
    const reason = readFinishReason(finishReason)
    if (reason !== null) events.push({ kind: 'finish', reason: decideFinish(reason, this.#calls > 0) })
    // Behind the output that it counts.
    const usage = readUsageMetadata(usageMetadata)
    if (usage !== null) events.push({ kind: 'usage', usage })
    return events
  }

  #start({ responseId, modelVersion }: JsonObject): Decoded[] {
    if (this.#hasStarted) return []
    this.#hasStarted = true
    return [{ kind: 'start', id: toText(responseId), model: toText(modelVersion) }]
  }

  #addPart(part: JsonObject, events: Decoded[]): void {
    const { text, thought, functionCall: call, inlineData: data } = part
    const signature = toText(part['thoughtSignature'])
    if (isRecord(call)) return void events.push(...this.#toCall(call, signature))
    if (typeof text === 'string' && text !== '')
      events.push(thought === true ? { kind: 'reasoning', text, field: 'reasoning_content' } : { kind: 'text', text })
    // A picture among the thoughts is a draft.
    else if (isRecord(data) && thought !== true && toText(data['mimeType']).startsWith('image/'))
      events.push({ kind: 'image', url: `data:${toText(data['mimeType'])};base64,${toText(data['data'])}` })
    if (signature !== '') events.push(toSignedEvent(toSignatureFields(signature)))
  }

  /** The signature of the thoughts before the call stands before it. */
  #toCall({ id: sentId, name, args }: JsonObject, signature: string): readonly AnswerEvent[] {
    const index = this.#calls++
    const id = this.#ids.add(toText(sentId))
    const signatureEvents = signature === '' ? [] : [toSignedEvent({ id, ...toSignatureFields(signature) })]
    return [
      ...signatureEvents,
      { kind: 'call', index, id, name: toText(name), arguments: JSON.stringify(args ?? {}), isComplete: true },
    ]
  }
}

function toSignedEvent(value: JsonObject): AnswerEvent {
  return { kind: 'signed-reasoning', signed: { field: callSignaturesField, value } }
}

/** The codes of a content filter in chat completions. */
function toBlockedError(reason: string): JsonObject {
  return { code: 'content_filter', message: `The prompt was blocked by the content filter: ${reason}.` }
}
