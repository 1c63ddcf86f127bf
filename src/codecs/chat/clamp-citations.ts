/**
 * Positions of citations in the text: `start_index` to `end_index` of a `url_citation`, from 0 to the text's length in UTF-16 code units.
 * An invalid position becomes 0–0, a citation of the whole text, because clients' types require two numbers.
 */
import { isRecord } from '../../exchange/request/chat-request.ts'

/** The annotations with valid positions. Returns the same list if all are valid. */
export function clampCitations(annotations: unknown, length: number): unknown {
  if (!Array.isArray(annotations) || annotations.every((annotation) => hasValidSpan(annotation, length))) return annotations
  return annotations.map((annotation: unknown) => (hasValidSpan(annotation, length) ? annotation : resetSpan(annotation)))
}

/** A whole completion whose citations have valid positions. Returns the same completion if all are valid. */
export function clampCompletionCitations(completion: Record<string, unknown>): Record<string, unknown> {
  const { choices } = completion
  if (!Array.isArray(choices)) return completion
  const clampedChoices = choices.map(clampMessageCitations)
  return clampedChoices.every((choice, at) => choice === choices[at]) ? completion : { ...completion, choices: clampedChoices }
}

function clampMessageCitations(choice: unknown): unknown {
  const message = isRecord(choice) ? choice['message'] : undefined
  if (!isRecord(choice) || !isRecord(message) || message['annotations'] === undefined) return choice
  const { content, annotations } = message
  const clampedAnnotations = clampCitations(annotations, typeof content === 'string' ? content.length : 0)
  return clampedAnnotations === annotations ? choice : { ...choice, message: { ...message, annotations: clampedAnnotations } }
}

/** Start and end if they are valid in a text of this length. */
function parseSpan(start: unknown, end: unknown, length: number): readonly [number, number] | null {
  return isIndex(start) && isIndex(end) && start <= end && end <= length ? [start, end] : null
}

function isIndex(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0
}

function hasValidSpan(annotation: unknown, length: number): boolean {
  const citation = getCitation(annotation)
  if (citation === null || (citation['start_index'] === undefined && citation['end_index'] === undefined)) return true
  return parseSpan(citation['start_index'], citation['end_index'], length) !== null
}

/** OpenAI's chat puts it into `url_citation`, others beside the type. */
function getCitation(annotation: unknown): Record<string, unknown> | null {
  if (!isRecord(annotation)) return null
  return isRecord(annotation['url_citation']) ? annotation['url_citation'] : annotation
}

function resetSpan(annotation: unknown): unknown {
  if (!isRecord(annotation)) return annotation
  const emptySpan = { start_index: 0, end_index: 0 }
  const inner = annotation['url_citation']
  return isRecord(inner) ? { ...annotation, url_citation: { ...inner, ...emptySpan } } : { ...annotation, ...emptySpan }
}

/** Citations of a stream. They may arrive before the text that they refer to; those are held until their choice ends. */
export class StreamedCitations {
  /** Length of each choice's text so far. */
  readonly #lengths = new Map<number, number>()
  /** By the index of the choice. */
  readonly #pending = new Map<number, unknown[][]>()

  /** The choice with the citations that can be sent now. */
  process(choice: unknown): unknown {
    if (!isRecord(choice) || !isRecord(choice['delta'])) return choice
    const { delta, finish_reason: finish } = choice
    const { content, annotations } = delta
    const index = typeof choice['index'] === 'number' ? choice['index'] : 0
    let length = this.#lengths.get(index) ?? 0
    if (typeof content === 'string') this.#lengths.set(index, (length += content.length))
    const isLast = typeof finish === 'string' && finish !== ''
    const pendingCitations = isLast && this.#pending.size > 0 ? this.#takePending(index) : []
    if (!Array.isArray(annotations) && pendingCitations.length === 0) return choice
    const list: unknown[] = [...pendingCitations, ...(Array.isArray(annotations) ? (annotations as unknown[]) : [])]
    if (isLast) return withAnnotations(choice, delta, clampCitations(list, length))
    const [now, tooEarly]: [unknown[], unknown[]] = [[], []]
    for (const annotation of list) (hasValidSpan(annotation, length) ? now : tooEarly).push(annotation)
    if (tooEarly.length === 0) return choice
    const heldCitations = this.#pending.get(index)
    if (heldCitations === undefined) this.#pending.set(index, [tooEarly])
    else heldCitations.push(tooEarly)
    return withAnnotations(choice, delta, now.length === 0 ? undefined : now)
  }

  /** Adds to a choice's text length without processing a chunk. */
  recordText(index: number, length: number): void {
    this.#lengths.set(index, (this.#lengths.get(index) ?? 0) + length)
  }

  #takePending(index: number): unknown[] {
    const heldCitations = this.#pending.get(index) ?? []
    this.#pending.delete(index)
    return heldCitations.flat()
  }
}

function withAnnotations(choice: Record<string, unknown>, delta: Record<string, unknown>, annotations: unknown): unknown {
  if (annotations === delta['annotations']) return choice
  return { ...choice, delta: { ...delta, annotations } }
}
