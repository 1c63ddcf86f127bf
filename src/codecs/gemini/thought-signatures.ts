/**
 * Signatures of the model's thoughts, on its calls and on its text. A chat completion has them where Google's own compatible endpoint has
 * them, and where the client's API has no such place, in a private field of the message.
 */
import { callSignaturesField } from '../../exchange/request/gemini-fields.ts'
import { isFields, readObjects, readString } from './read-json.ts'
import type { Fields } from './read-json.ts'

/** Stands for a signature that the history does not have, because another model made the call: newer models reject a call without one. */
export const unknownSignature = 'skip_thought_signature_validator'

export interface ThoughtSignatures {
  /** Of the text; empty without one. */
  readonly text: string
  readonly byCall: ReadonlyMap<string, string>
}

/** Of an assistant's message. */
export function readSignatures(message: Fields): ThoughtSignatures {
  const byCall = new Map<string, string>()
  let text = readSignature(message)
  for (const entry of readObjects(message[callSignaturesField])) {
    const [id, signature] = [readString(entry['id']), readSignature(entry)]
    if (id === '') text = signature || text
    else if (signature !== '') byCall.set(id, signature)
  }
  return { text, byCall }
}

/** The signature in `extra_content` of a call or a message; empty without one. */
export function readSignature({ extra_content: extra }: Fields): string {
  const google = isFields(extra) ? extra['google'] : undefined
  return isFields(google) ? readString(google['thought_signature']) : ''
}

export function toSignatureFields(signature: string): Fields {
  return signature === '' ? {} : { extra_content: { google: { thought_signature: signature } } }
}
