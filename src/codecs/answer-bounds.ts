/**
 * Bounds of one answer of an upstream, checked before its parts are processed. An answer beyond them is a failure of the upstream: the turn
 * is refunded. Honest answers stay far below.
 */
import { isRecord } from '../exchange/request/chat-request.ts'
import { findStringEnd } from '../system/parse-json.ts'

/** Characters of one event of a stream. */
export const maxEventLength = 4 * 1024 * 1024
/** Bytes of a whole answer to a chat; products that process documents have `limits.answerBytes`, as aggregated streams have. */
export const maxChatDocumentBytes = 16 * 1024 * 1024
/** Bytes of a stream that is forwarded, in parts of `limits.answerBytes`. */
export const forwardedAnswerFactor = 4
export const maxChoices = 64
/** Tool calls of one answer. */
export const maxCalls = 512
/** Pieces of calls in one event. */
export const maxCallPieces = 1_024
/** Values (and the names of fields) of one event, and of one document: parsing and writing them takes time for each. */
const maxEventValues = 100_000
const maxDocumentValues = 500_000
/** Shorter texts have fewer values. */
const minCountedLength = 256 * 1024

export class AnswerTooLargeError extends Error {}

/** A member can ask a model for many calls: what was forwarded before them is charged. */
export class TooManyCallsError extends AnswerTooLargeError {}

/** @throws AnswerTooLargeError for an event with too many values */
export function checkEventValues(text: string): void {
  if (text.length > minCountedLength && hasMoreValues(text, maxEventValues)) throw new AnswerTooLargeError('too many values')
}

/** Whether a whole answer to a chat has too many values to be parsed in this thread. */
export function hasTooManyValues(text: string): boolean {
  return text.length > minCountedLength && hasMoreValues(text, maxDocumentValues)
}

/** Whether a whole answer has too many choices, or too many calls in all of them. */
export function hasTooManyParts({ choices }: Readonly<Record<string, unknown>>): boolean {
  if (!Array.isArray(choices)) return false
  return choices.length > maxChoices || choices.reduce<number>((count, choice) => count + countCalls(choice), 0) > maxCalls
}

function countCalls(choice: unknown): number {
  const message = isRecord(choice) ? choice['message'] : undefined
  const calls = isRecord(message) ? message['tool_calls'] : undefined
  if (Array.isArray(calls)) return calls.length
  return isRecord(calls) ? 1 : 0
}

const quote = 0x22
const comma = 0x2c
const openings: ReadonlySet<number> = new Set([0x5b, 0x7b])

/** Counts commas and opening brackets outside strings: there are about as many values. */
function hasMoreValues(text: string, max: number): boolean {
  let count = 0
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (char === quote) i = findStringEnd(text, i + 1)
    else if ((char === comma || openings.has(char)) && ++count > max) return true
  }
  return false
}
