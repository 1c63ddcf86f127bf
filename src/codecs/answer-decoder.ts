/**
 * How the answers of an upstream's API are read. A decoder owns the state of one answer and is tested as a table of JSON. It repairs what its
 * API may send otherwise, so that encoders receive sound events: each call has an id that is unique in the answer.
 */
import type { AnswerEvent } from '../conversation/answer-event.ts'
import type { JsonObject } from '../exchange/api-format/api-format.ts'

export interface AnswerDecoder {
  /** What an event of the stream means; empty for one without a meaning. @throws AnswerTooLargeError */
  decode(event: JsonObject): readonly DecodedEvent[]
  /** A whole answer; null for a document that is none. @throws AnswerTooLargeError */
  decodeWhole(document: JsonObject): readonly (AnswerEvent | FailedEvent)[] | null
}

/** The upstream reports that it broke off, or gives no answer: the turn fails. */
export interface FailedEvent {
  readonly kind: 'error'
  readonly error: unknown
}

export type DecodedEvent =
  | AnswerEvent
  | FailedEvent
  /** The upstream has sent its last event. */
  | { readonly kind: 'end' }
