/** Pictures in a chat completion, in each vendor's form. */
import type { AnswerEvent } from '../../conversation/answer-event.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'
import { toText } from '../shared/read-json.ts'

/** A `data:` URL or an address; null for a part that is no picture. The later pieces of a picture in a stream are neither. */
export function toPictureUrl(part: Readonly<Record<string, unknown>>): string | null {
  const url = isRecord(part['image_url']) ? part['image_url']['url'] : part['image_url']
  if (typeof url === 'string') return url
  const inline = part['inlineData'] ?? part['inline_data']
  if (isRecord(inline) && typeof inline['data'] === 'string')
    return `data:${toText(inline['mimeType'] ?? inline['mime_type']) || 'image/png'};base64,${inline['data']}`
  return typeof part['b64_json'] === 'string' ? `data:image/png;base64,${part['b64_json']}` : null
}

/** Whether a picture begins with this URL; a later piece of one has none. */
export function isPictureStart(url: string): boolean {
  return /^(?:data|https?):/.test(url)
}

type Picture = Extract<AnswerEvent, { kind: 'image' }>

/** Joins pictures of a stream that arrive in pieces. They wait for the end of the answer. */
export class PictureJoiner {
  #pictures: { -readonly [Name in keyof Picture]: Picture[Name] }[] = []

  /** The events without pieces, and the pictures before the end. Returns the same list if it has neither. */
  join(events: readonly AnswerEvent[]): readonly AnswerEvent[] {
    if (this.#pictures.length === 0 && !events.some(isPiece)) return events
    const passedEvents: AnswerEvent[] = []
    for (const event of events) {
      if (isPiece(event)) this.#add(event)
      else if (event.kind === 'finish') passedEvents.push(...this.takeAll(), event)
      else passedEvents.push(event)
    }
    return passedEvents
  }

  takeAll(): readonly AnswerEvent[] {
    const pictures = this.#pictures
    this.#pictures = []
    return pictures
  }

  #add(piece: Picture): void {
    const openPicture = this.#pictures.findLast(({ index }) => index === piece.index)
    if (openPicture === undefined || isPictureStart(piece.url)) this.#pictures.push({ ...piece })
    else openPicture.url += piece.url
  }
}

function isPiece(event: AnswerEvent): event is Picture {
  return event.kind === 'image' && event.index !== undefined
}
