/** Reads an answer of `generateContent`, whole or streamed: each event of a stream is a whole answer with the next parts. */
import type { AnswerEvent } from '../../conversation/answer-event.ts'
import { maxCalls, TooManyCallsError } from '../answer-bounds.ts'
import { decideFinish } from '../chat/finish-reason.ts'
import { readFinishReason } from './finish-reason.ts'
import { isFields, readObjects, readString } from './read-json.ts'
import type { Fields } from './read-json.ts'
import { toChatUsage } from './usage-metadata.ts'

export type DecodedEvent =
  | Exclude<AnswerEvent, { kind: 'call' | 'usage' | 'signed-reasoning' }>
  | { readonly kind: 'start'; readonly id: string; readonly model: string }
  | {
      readonly kind: 'call'
      readonly index: number
      readonly id: string
      readonly name: string
      readonly arguments: string
      /** Of the thoughts before the call; empty without one. */
      readonly signature: string
    }
  /** Of the thoughts before the text. */
  | { readonly kind: 'text-signature'; readonly signature: string }
  /** As a `data:` URL. */
  | { readonly kind: 'image'; readonly url: string }
  | { readonly kind: 'usage'; readonly usage: Fields }
  /** The upstream reports that it gives no answer: the turn fails. */
  | { readonly kind: 'error'; readonly error: Fields }

export class GenerateDecoder {
  readonly #ids = new Set<string>()
  #hasStarted = false
  #calls = 0
  #id = ''

  /** @throws AnswerTooLargeError */
  decode(event: Fields): readonly DecodedEvent[] {
    const { promptFeedback: feedback, usageMetadata } = event
    const events: DecodedEvent[] = this.#start(event)
    // Several candidates are not requested.
    const candidate = readObjects(event['candidates']).find(({ index }) => index === undefined || index === 0)
    const blocked = isFields(feedback) ? readString(feedback['blockReason']) : ''
    if (candidate === undefined && blocked !== '') return [...events, { kind: 'error', error: toBlockedError(blocked) }]
    const { content, finishReason } = candidate ?? {}
    for (const part of readObjects(isFields(content) ? content['parts'] : undefined)) this.#addPart(part, events)
    const reason = readFinishReason(finishReason)
    if (reason !== null) events.push({ kind: 'finish', reason: decideFinish(reason, this.#calls > 0) })
    // Behind the output that it counts.
    const usage = toChatUsage(usageMetadata)
    if (usage !== null) events.push({ kind: 'usage', usage })
    return events
  }

  #start({ responseId, modelVersion }: Fields): DecodedEvent[] {
    if (this.#hasStarted) return []
    this.#hasStarted = true
    this.#id = readString(responseId)
    return [{ kind: 'start', id: this.#id, model: readString(modelVersion) }]
  }

  #addPart(part: Fields, events: DecodedEvent[]): void {
    const { text, thought, functionCall: call, inlineData: data } = part
    const signature = readString(part['thoughtSignature'])
    if (isFields(call)) return void events.push(this.#toCall(call, signature))
    if (typeof text === 'string' && text !== '')
      events.push(thought === true ? { kind: 'reasoning', text, field: 'reasoning_content' } : { kind: 'text', text })
    // A picture among the thoughts is a draft.
    else if (isFields(data) && thought !== true && readString(data['mimeType']).startsWith('image/'))
      events.push({ kind: 'image', url: `data:${readString(data['mimeType'])};base64,${readString(data['data'])}` })
    if (signature !== '') events.push({ kind: 'text-signature', signature })
  }

  #toCall({ id: sentId, name, args }: Fields, signature: string): DecodedEvent {
    const index = this.#calls++
    if (index >= maxCalls) throw new TooManyCallsError('too many calls')
    const sent = readString(sentId)
    const id = sent !== '' && !this.#ids.has(sent) ? sent : `${sent || 'call'}_${this.#id}_${index}`
    this.#ids.add(id)
    return { kind: 'call', index, id, name: readString(name), arguments: JSON.stringify(args ?? {}), signature }
  }
}

/** The codes of a content filter in chat completions. */
function toBlockedError(reason: string): Fields {
  return { code: 'content_filter', message: `The prompt was blocked by the content filter: ${reason}.` }
}
