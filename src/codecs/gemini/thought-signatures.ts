/**
 * Signatures of the model's thoughts, on its calls and on its text. A chat completion has them where Google's own compatible endpoint has
 * them, and where the client's API has no such place, in a private field of the message.
 */
import { isRecord } from '../../exchange/request/chat-request.ts'
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { readObjects, toText } from '../shared/read-json.ts'
import { callSignaturesField } from '../../exchange/request/gemini-fields.ts'

/** Stands for a signature that the history does not have, because another model made the call: newer models reject a call without one. */
export const unknownSignature = 'skip_thought_signature_validator'

interface ThoughtSignatures {
  /** Of the text; empty without one. */
  readonly text: string
  readonly byCall: ReadonlyMap<string, string>
}

/** Of an assistant's message. */
export function readSignatures(message: JsonObject): ThoughtSignatures {
  const byCall = new Map<string, string>()
  let text = readSignature(message)
  for (const entry of readObjects(message[callSignaturesField])) {
    const [id, signature] = [toText(entry['id']), readSignature(entry)]
    if (id === '') text = signature || text
    else if (signature !== '') byCall.set(id, signature)
  }
  return { text, byCall }
}

/** The signature in `extra_content` of a call or a message; empty without one. */
export function readSignature({ extra_content: extra }: JsonObject): string {
  const google = isRecord(extra) ? extra['google'] : undefined
  return isRecord(google) ? toText(google['thought_signature']) : ''
}

export function toSignatureFields(signature: string): JsonObject {
  return signature === '' ? {} : { extra_content: { google: { thought_signature: signature } } }
}
