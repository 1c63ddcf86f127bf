/**
 * Where a citation stands in the answer: `start_index` to `end_index` of a `url_citation`, from 0 up to the text's length in UTF-16 code
 * units. A place that is none becomes 0–0, a citation of the answer as such: clients' types want two numbers.
 */
import { isRecord } from '../exchange/chat-request.ts'

/** The annotations with every place inside a text of this length. The same list where nothing is wrong with it. */
export function placedIn(annotations: unknown, length: number): unknown {
  if (!Array.isArray(annotations) || annotations.every((annotation) => isPlaced(annotation, length))) return annotations
  return annotations.map((annotation: unknown) => (isPlaced(annotation, length) ? annotation : withoutPlace(annotation)))
}

/** From and to, where they are a place in a text of this length. */
function placeOf(start: unknown, end: unknown, length: number): readonly [number, number] | null {
  return isIndex(start) && isIndex(end) && start <= end && end <= length ? [start, end] : null
}

function isIndex(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0
}

function isPlaced(annotation: unknown, length: number): boolean {
  const citation = citationOf(annotation)
  if (citation === null || (citation['start_index'] === undefined && citation['end_index'] === undefined)) return true
  return placeOf(citation['start_index'], citation['end_index'], length) !== null
}

/** OpenAI's chat keeps it under `url_citation`, others beside the type. */
function citationOf(annotation: unknown): Record<string, unknown> | null {
  if (!isRecord(annotation)) return null
  return isRecord(annotation['url_citation']) ? annotation['url_citation'] : annotation
}

function withoutPlace(annotation: unknown): unknown {
  if (!isRecord(annotation)) return annotation
  const nowhere = { start_index: 0, end_index: 0 }
  const inner = annotation['url_citation']
  return isRecord(inner) ? { ...annotation, url_citation: { ...inner, ...nowhere } } : { ...annotation, ...nowhere }
}

/** The citations of a stream, which may come before the text they point into: such are kept until their choice ends. */
export class StreamedCitations {
  /** How much of each choice's text has passed. */
  readonly #lengths = new Map<number, number>()
  #early: { readonly index: number; readonly annotations: unknown[] }[] = []

  /** The choice as it may pass now. */
  pass(choice: unknown): unknown {
    if (!isRecord(choice) || !isRecord(choice['delta'])) return choice
    const { delta, finish_reason: finish } = choice
    const { content, annotations } = delta
    const index = typeof choice['index'] === 'number' ? choice['index'] : 0
    let length = this.#lengths.get(index) ?? 0
    if (typeof content === 'string') this.#lengths.set(index, (length += content.length))
    const isLast = typeof finish === 'string' && finish !== ''
    const waiting = isLast && this.#early.length > 0 ? this.#takeEarly(index) : []
    if (!Array.isArray(annotations) && waiting.length === 0) return choice
    const list: unknown[] = [...waiting, ...(Array.isArray(annotations) ? (annotations as unknown[]) : [])]
    if (isLast) return withAnnotations(choice, delta, placedIn(list, length))
    const early = list.filter((annotation) => !isPlaced(annotation, length))
    if (early.length === 0) return choice
    this.#early.push({ index, annotations: early })
    const now = list.filter((annotation) => !early.includes(annotation))
    return withAnnotations(choice, delta, now.length === 0 ? undefined : now)
  }

  /** So much of a choice's text has passed by itself. */
  passed(index: number, length: number): void {
    this.#lengths.set(index, (this.#lengths.get(index) ?? 0) + length)
  }

  #takeEarly(wanted: number): unknown[] {
    const mine = this.#early.filter(({ index }) => index === wanted)
    this.#early = this.#early.filter(({ index }) => index !== wanted)
    return mine.flatMap(({ annotations }) => annotations)
  }
}

function withAnnotations(choice: Record<string, unknown>, delta: Record<string, unknown>, annotations: unknown): unknown {
  if (annotations === delta['annotations']) return choice
  return { ...choice, delta: { ...delta, annotations } }
}
