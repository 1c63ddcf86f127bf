/** Content of an answer that a vendor sends as a list of parts: its text, its reasoning, and its pictures apart. */
import { isRecord } from '../../../exchange/request/chat-request.ts'
import { toText } from '../../shared/read-json.ts'

type Fields = Readonly<Record<string, unknown>>

/** Whether the content is a part or a list of them, or the reasoning no string (Envoy AI Gateway before Bedrock). */
export function hasParts({ content, reasoning_content: reasoning }: Fields): boolean {
  return (typeof content === 'object' && content !== null) || (typeof reasoning === 'object' && reasoning !== null)
}

/** The message or delta with strings as its content and its reasoning. Returns the same object if nothing must change. */
export function joinContentParts(sent: Fields): Fields {
  if (!hasParts(sent)) return sent
  const { reasoning_content: thought } = sent
  const message = typeof thought === 'object' && thought !== null ? { ...sent, reasoning_content: readTexts(thought) } : sent
  const { content } = message
  if (typeof content !== 'object' || content === null) return message
  const parts = { text: '', reasoning: '', images: [] as unknown[] }
  for (const part of (Array.isArray(content) ? content : [content]) as unknown[]) addPart(part, parts)
  const { text, reasoning, images } = parts
  return {
    ...message,
    content: text,
    ...(reasoning === '' ? {} : { reasoning_content: toText(message['reasoning_content']) + reasoning }),
    ...(images.length === 0 ? {} : { images: [...toList(message['images']), ...images] }),
  }
}

/** Mistral nests the text of its reasoning in parts once more; the depth is bounded by `parseJson`. */
function addPart(part: unknown, parts: { text: string; reasoning: string; readonly images: unknown[] }): void {
  if (typeof part === 'string') parts.text += part
  if (!isRecord(part)) return
  const { type } = part
  if (typeof type === 'string' && /thinking|reasoning|thought/.test(type))
    parts.reasoning += readTexts(part['thinking'] ?? part['reasoning'] ?? part['text'] ?? part['summary'])
  else if (part['thought'] === true) parts.reasoning += readTexts(part['text'])
  else if (part['text'] !== undefined) parts.text += readTexts(part['text'])
  else if (typeof part['refusal'] === 'string') parts.text += part['refusal']
  else if (imageFields.some((name) => part[name] !== undefined)) parts.images.push(part)
}

const imageFields = ['image_url', 'inline_data', 'inlineData', 'b64_json'] as const

/** A text, or the texts of parts. */
function readTexts(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return value.map(readTexts).join('')
  return isRecord(value) ? readTexts(value['text'] ?? value['thinking'] ?? value['value']) : ''
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
