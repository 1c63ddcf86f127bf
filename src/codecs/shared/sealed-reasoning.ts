/** Reasoning in a sealed container: the client returns it with the next request, bound to the model that wrote it. */
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import type { ReasoningField, SignedReasoning } from '../../conversation/answer-event.ts'
import { thinkingField } from '../../exchange/request/anthropic-fields.ts'
import { callSignaturesField } from '../../exchange/request/gemini-fields.ts'
import { reasoningItemsField } from '../../exchange/request/responses-fields.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'
import { ownJsonBounds, parseJson } from '../../system/parse-json.ts'

export interface Reasoning {
  /** The field of a chat message that holds it. */
  readonly field: ReasoningField
  readonly text: string
  /** The form in which its upstream accepts it again. */
  readonly signed?: SignedReasoning
}

/** The private fields of a message for reasoning that its upstream has signed or encrypted. */
const signedFields = [thinkingField, reasoningItemsField, callSignaturesField] as const

export function sealReasoning(
  { field, text, signed }: Reasoning,
  context: { readonly model: string; seal(text: string): string },
): string {
  if (signed !== undefined) return context.seal(`${context.model}\n${signed.field}\n${JSON.stringify(signed.value)}`)
  return context.seal(`${context.model}\n${field}\n${text}`)
}

/**
 * What a client returns: the container, and the text that it was shown. Reasoning of another model, or of another service, is its text
 * alone, which models read as their own; signed and encrypted reasoning is bound to the model that wrote it. Null without a text.
 */
export function openReasoning(
  container: unknown,
  shownText: string,
  { model, unseal }: { readonly model: string; unseal(container: string): string | null },
): Reasoning | null {
  const unsealedText = typeof container === 'string' && container !== '' ? unseal(container) : null
  const [owner, field, ...lines] = unsealedText?.split('\n') ?? []
  const signedField = signedFields.find((each) => each === field)
  if (signedField !== undefined) {
    const value: unknown = parseJson(lines.join('\n'), ownJsonBounds)
    const reasoning = isRecord(value) ? toReasoning({ field: signedField, value }) : null
    return owner === model ? reasoning : toPlainReasoning(reasoning?.text ?? '')
  }
  if (field === 'reasoning_content' || field === 'reasoning') return { field, text: lines.join('\n') }
  return toPlainReasoning(shownText)
}

function toPlainReasoning(text: string): Reasoning | null {
  return text === '' ? null : { field: 'reasoning_content', text }
}

/** The signed reasoning with its text, which other upstreams accept. */
export function toReasoning(signed: SignedReasoning): Reasoning {
  return { field: 'reasoning_content', text: readSignedText(signed), signed }
}

/** Whether it belongs to the call of its id, which follows. */
export function isCallSignature({ field, value }: SignedReasoning): boolean {
  return field === callSignaturesField && value['id'] !== undefined
}

/** What a client shows of it; empty where its upstream shows nothing. */
export function readSignedText({ value: { thinking, summary } }: SignedReasoning): string {
  if (typeof thinking === 'string') return thinking
  if (!Array.isArray(summary)) return ''
  return (summary as unknown[])
    .flatMap((part) => (isRecord(part) && typeof part['text'] === 'string' ? part['text'] : []))
    .join('\n\n')
}

/** The fields of an assistant message that hold these texts; none without a text. */
export function toReasoningFields(parts: readonly Reasoning[]): JsonObject {
  const [first] = parts
  if (first === undefined) return {}
  const text = parts.flatMap((part) => (part.text === '' ? [] : [part.text])).join('\n\n')
  const signedValues = signedFields.map((field) => [
    field,
    parts.flatMap((part) => (part.signed?.field === field ? part.signed.value : [])),
  ])
  return {
    ...(text === '' ? {} : { [first.field]: text }),
    ...Object.fromEntries(signedValues.filter(([, values]) => values?.length !== 0)),
  }
}
