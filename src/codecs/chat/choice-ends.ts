/**
 * The ends of a stream's choices. A chunk that finishes a choice is held until the stream ends, because some vendors name a finish reason with
 * each piece: a choice that goes on had not finished. Nothing follows the end of a choice.
 */
import { isRecord } from '../../exchange/request/chat-request.ts'

type Fields = Record<string, unknown>

export class ChoiceEnds {
  /** The chunk that finishes a choice, by its index and with that choice alone; null once it has been passed on. */
  #held: Map<number, Fields | null> | undefined
  /** Choices that went on after a finish reason. */
  readonly #continued = new Set<number>()

  readonly #complete: (chunk: Fields) => Fields

  /** @param complete receives the chunk that finishes a choice */
  constructor(complete: (chunk: Fields) => Fields) {
    this.#complete = complete
  }

  /** Whether a finish reason proves nothing in this stream. */
  get areUncertain(): boolean {
    return this.#continued.size > 0
  }

  /** The chunks that can be passed on. Nearly always it is this one. */
  hold(chunk: Fields): readonly Fields[] {
    const choices: readonly unknown[] = Array.isArray(chunk['choices']) ? chunk['choices'] : []
    if (this.#held === undefined && !choices.some(isFinishing)) return [chunk]
    const ends = this.#takePureEnds(choices)
    if (choices.length === 0) return [...ends, chunk]
    if (choices.length === 1) return [...ends, ...this.#holdChoice(chunk, choices[0])]
    return [
      ...ends,
      ...choices.flatMap((choice, at) => this.#holdChoice({ ...pickAround(chunk, at), choices: [choice] }, choice)),
    ]
  }

  /** The chunks that finish choices. @param isCut the stream was ended before the upstream's end */
  release({ isCut }: { readonly isCut: boolean }): readonly Fields[] {
    const held = [...(this.#held ?? [])]
    this.#held = undefined
    return held.flatMap(([index, chunk]) => {
      if (chunk === null) return []
      return [this.#complete(isCut && this.#continued.has(index) ? withFinish(chunk, 'length') : chunk)]
    })
  }

  /** A chunk that only finishes a choice, as those of OpenAI do, keeps its place before what is of other choices or of none. */
  #takePureEnds(choices: readonly unknown[]): readonly Fields[] {
    const ends = this.#held
    if (ends === undefined) return []
    return [...ends].flatMap(([index, chunk]) => {
      if (chunk === null || !isPureEnd(chunk) || choices.some((choice) => isRecord(choice) && toIndex(choice) === index))
        return []
      ends.set(index, null)
      return [this.#complete(chunk)]
    })
  }

  #holdChoice(chunk: Fields, choice: unknown): readonly Fields[] {
    if (!isRecord(choice)) return [chunk]
    const index = toIndex(choice)
    const ends = (this.#held ??= new Map<number, Fields | null>())
    const held = ends.get(index)
    // LiteLLM puts an empty choice beside the usage, and other servers end with empty deltas.
    if (held !== undefined && isEmptyMessage(choice['delta'])) {
      if (held !== null && isFinishing(choice) && this.#continued.has(index))
        ends.set(index, withFinish(held, choice['finish_reason']))
      return [{ ...chunk, choices: [] }]
    }
    if (isFinishing(choice)) ends.set(index, chunk)
    else ends.delete(index)
    const passed = isFinishing(choice) ? [] : [chunk]
    if (held === undefined) return passed
    this.#continued.add(index)
    return held === null ? passed : [withFinish(held, null), ...passed]
  }
}

/** What a chunk has beside its choices, for one of the chunks that it is divided into: the first alone has all of it, which may be long. */
export function pickAround(chunk: Fields, at: number): Fields {
  if (at === 0) return chunk
  const { id, object, created, model } = chunk
  return { id, object, created, model }
}

export function toIndex({ index }: Fields): number {
  return typeof index === 'number' ? index : 0
}

/** Whether a message or delta has nothing but a role. */
export function isEmptyMessage(message: unknown): boolean {
  if (!isRecord(message)) return message === undefined || message === null
  return Object.entries(message).every(
    ([name, value]) => name === 'role' || value === null || value === '' || (Array.isArray(value) && value.length === 0),
  )
}

function isFinishing(choice: unknown): boolean {
  return isRecord(choice) && typeof choice['finish_reason'] === 'string' && choice['finish_reason'] !== ''
}

function isPureEnd({ choices }: Fields): boolean {
  const [choice] = choices as readonly Fields[]
  return isRecord(choice?.['delta']) && Object.values(choice['delta']).every((value) => value === null || value === '')
}

function withFinish(chunk: Fields, reason: unknown): Fields {
  const [choice] = chunk['choices'] as readonly Fields[]
  return { ...chunk, choices: [{ ...choice, finish_reason: reason }] }
}
