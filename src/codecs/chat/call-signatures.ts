/** Signatures of a model's thoughts in a chat completion: on its calls, and on its text. */
import type { SignedReasoning } from '../../conversation/answer-event.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'
import { callSignaturesField, signatureFields } from '../../exchange/request/gemini-fields.ts'

type Fields = Readonly<Record<string, unknown>>

const none: readonly SignedReasoning[] = []

/** Those of a delta or a message; nearly none has any. A signature on a piece without an id belongs to no call that a client could return. */
export function readCallSignatures(delta: Fields): readonly SignedReasoning[] {
  const { tool_calls: calls } = delta
  const ofText = pickSignatures(delta)
  const ofCalls = Array.isArray(calls) ? (calls as unknown[]).filter(isRecord).flatMap(readCall) : none
  return ofText === null ? ofCalls : [{ field: callSignaturesField, value: ofText }, ...ofCalls]
}

function readCall(call: Fields): readonly SignedReasoning[] {
  const { id } = call
  const fields = typeof id === 'string' && id !== '' ? pickSignatures(call) : null
  return fields === null ? none : [{ field: callSignaturesField, value: { id, ...fields } }]
}

function pickSignatures(item: Fields): Fields | null {
  const names = signatureFields.filter((name) => item[name] !== undefined && item[name] !== null)
  const encryptedDetails = pickEncrypted(item['reasoning_details'])
  if (names.length === 0 && encryptedDetails.length === 0) return null
  const fields = Object.fromEntries(names.map((name) => [name, item[name]]))
  return encryptedDetails.length === 0 ? fields : { ...fields, reasoning_details: encryptedDetails }
}

/** OpenRouter's form of a signature: an entry that names its call. Its entries of text are reasoning, which returns as such. */
function pickEncrypted(details: unknown): readonly unknown[] {
  if (!Array.isArray(details)) return none
  return (details as unknown[]).filter((entry) => isRecord(entry) && entry['type'] === 'reasoning.encrypted')
}
