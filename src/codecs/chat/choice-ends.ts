/**
 * The ends of a stream's choices. A chunk that finishes a choice is held until the stream ends, because some vendors name a finish reason with
 * each piece: a choice that goes on had not finished. Nothing follows the end of a choice.
 */
import { isRecord } from '../../exchange/request/chat-request.ts'

type Fields = Record<string, unknown>

export class ChoiceEnds {
  /** The chunk that finishes a choice, by its index and with that choice alone; null once it has been passed on. */
  readonly #held = new Map<number, Fields | null>()
  /** Choices that went on after a finish reason. */
  #continued: Set<number> | undefined
  readonly #complete: (chunk: Fields) => Fields

  /** @param complete receives the chunk that finishes a choice */
  constructor(complete: (chunk: Fields) => Fields) {
    this.#complete = complete
  }

  /** Whether a finish reason proves nothing in this stream. */
  get areUncertain(): boolean {
    return this.#continued !== undefined
  }

  /** The chunks that can be passed on. */
  hold(chunk: Fields): readonly Fields[] {
    const choices = toChoices(chunk)
    const passedChunks: Fields[] = []
    this.#takePureEnds(choices, passedChunks)
    if (choices.length === 0) passedChunks.push(chunk)
    else if (choices.length === 1) this.#holdChoice(chunk, choices[0], passedChunks)
    else
      for (const [at, choice] of choices.entries())
        this.#holdChoice({ ...pickAround(chunk, at), choices: [choice] }, choice, passedChunks)
    return passedChunks
  }

  /** The chunks that finish choices. @param isCut the stream was ended before the upstream's end */
  release({ isCut }: { readonly isCut: boolean }): readonly Fields[] {
    const ends: Fields[] = []
    for (const [index, chunk] of this.#held)
      if (chunk !== null)
        ends.push(this.#complete(isCut && this.#continued?.has(index) === true ? withFinish(chunk, 'length') : chunk))
    this.#held.clear()
    return ends
  }

  /** A chunk that only finishes a choice, as those of OpenAI do, keeps its place before what is of other choices or of none. */
  #takePureEnds(choices: readonly unknown[], passed: Fields[]): void {
    for (const [index, chunk] of this.#held) {
      const isOther = !choices.some((choice) => isRecord(choice) && toIndex(choice) === index)
      if (chunk === null || !isOther || !isPureEnd(chunk)) continue
      this.#held.set(index, null)
      passed.push(this.#complete(chunk))
    }
  }

  #holdChoice(chunk: Fields, choice: unknown, passed: Fields[]): void {
    if (!isRecord(choice)) return void passed.push(chunk)
    const index = toIndex(choice)
    const heldChunk = this.#held.get(index)
    // LiteLLM puts an empty choice beside the usage, and other servers end with empty deltas.
    if (heldChunk !== undefined && isEmptyMessage(choice['delta'])) {
      if (heldChunk !== null && isFinishing(choice) && this.#continued?.has(index) === true)
        this.#held.set(index, withFinish(heldChunk, choice['finish_reason']))
      return void passed.push({ ...chunk, choices: [] })
    }
    if (heldChunk !== undefined) (this.#continued ??= new Set()).add(index)
    if (heldChunk !== undefined && heldChunk !== null) passed.push(withFinish(heldChunk, null))
    if (isFinishing(choice)) this.#held.set(index, chunk)
    else {
      this.#held.delete(index)
      passed.push(chunk)
    }
  }
}

/** Whether a chunk finishes a choice, which nearly all do not. */
export function hasEnd(chunk: Fields): boolean {
  return toChoices(chunk).some(isFinishing)
}

function toChoices({ choices }: Fields): readonly unknown[] {
  return Array.isArray(choices) ? choices : []
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
