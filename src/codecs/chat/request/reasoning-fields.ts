/** The reasoning of earlier answers, and the signatures on their calls, as targets of chat completions accept them. */
import { isRecord } from '../../../exchange/request/chat-request.ts'
import type { RequestForm } from '../../../exchange/request/form/request-form.ts'
import { callSignaturesField, signatureFields } from '../../../exchange/request/gemini-fields.ts'

type Fields = Readonly<Record<string, unknown>>

/** Fields of an assistant's message that hold its reasoning. */
const reasoningFields = ['reasoning_content', 'reasoning'] as const

export function encodeReasoning(message: Fields, reasoning: RequestForm['reasoning']): Fields {
  if (reasoning === 'kept' || message['role'] !== 'assistant') return message
  const writtenFields = reasoningFields.filter((field) => message[field] !== undefined)
  if (reasoning === 'required') return writtenFields.includes('reasoning_content') ? message : addReasoning(message)
  if (writtenFields.length === 0) return message
  const { reasoning_content: _, reasoning: __, ...rest } = message
  return rest
}

/** In the one field that the rejections name. */
function addReasoning({ reasoning, ...message }: Fields): Fields {
  return { ...message, reasoning_content: typeof reasoning === 'string' ? reasoning : '' }
}

/** The value that Google documents for calls of another model, or of a history that was written by hand. */
const placeholderSignature = { extra_content: { google: { thought_signature: 'skip_thought_signature_validator' } } }

/** A message and its calls with the signatures that a client of another API has returned. */
export function encodeSignatures(message: Fields, signatures: RequestForm['signatures']): Fields {
  const { [callSignaturesField]: list } = message
  const entries = Array.isArray(list) && signatures !== 'removed' ? (list as unknown[]).filter(isRecord) : []
  // A signature without a call is one of the text.
  const ofText = entries.filter(({ id }) => typeof id !== 'string')
  const signedMessage = ofText.length === 0 ? message : { ...message, ...Object.assign({}, ...ofText), ...joinDetails(ofText) }
  return signCalls(signedMessage, new Map(entries.map(({ id, ...fields }) => [id, fields])), signatures)
}

/** Entries of OpenRouter, which arrive one by one. */
function joinDetails(entries: readonly Fields[]): Fields {
  const details = entries.flatMap(({ reasoning_details: list }) => (Array.isArray(list) ? (list as unknown[]) : []))
  return details.length === 0 ? {} : { reasoning_details: details }
}

function signCalls(message: Fields, known: ReadonlyMap<unknown, Fields>, signatures: RequestForm['signatures']): Fields {
  const { tool_calls: calls } = message
  if (!Array.isArray(calls) || calls.length === 0) return message
  const isUnsigned = signatures === 'required' && known.size === 0 && !calls.some(hasSignature)
  if (known.size === 0 && !isUnsigned) return message
  return {
    ...message,
    tool_calls: calls.map((call: unknown, i) => {
      if (!isRecord(call)) return call
      return { ...call, ...(isUnsigned && i === 0 ? placeholderSignature : known.get(call['id'])) }
    }),
  }
}

function hasSignature(call: unknown): boolean {
  return isRecord(call) && signatureFields.some((field) => call[field] !== undefined)
}
