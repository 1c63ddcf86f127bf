/** Joins the pieces of a streamed answer, so that it can be written as a whole one. Their order stays. */
import type { AnswerEvent } from './answer-event.ts'

type Changeable<Event> = { -readonly [Name in keyof Event]: Event[Name] }

export class AnswerCollector {
  readonly #events: Changeable<AnswerEvent>[] = []
  readonly #calls = new Map<number | null, Changeable<Extract<AnswerEvent, { kind: 'call' }>>>()

  push(pieces: readonly AnswerEvent[]): void {
    for (const piece of pieces) if (!this.#join(piece)) this.#events.push({ ...piece })
  }

  get events(): readonly AnswerEvent[] {
    return this.#events
  }

  #join(piece: AnswerEvent): boolean {
    const last = this.#events.at(-1)
    if (piece.kind === 'call') return this.#joinCall(piece)
    if ((piece.kind !== 'text' && piece.kind !== 'reasoning') || last?.kind !== piece.kind) return false
    // Log probabilities stay with their text.
    if (last.kind === 'text' && (last.logprobs !== undefined || (piece.kind === 'text' && piece.logprobs !== undefined)))
      return false
    last.text += piece.text
    return true
  }

  #joinCall(piece: Extract<AnswerEvent, { kind: 'call' }>): boolean {
    const call = this.#calls.get(piece.index)
    if (call === undefined || piece.index === null) {
      const newCall = { ...piece }
      this.#calls.set(piece.index, newCall)
      this.#events.push(newCall)
      return true
    }
    call.arguments += piece.arguments
    if (call.name === '') call.name = piece.name
    if (piece.isComplete === true) call.isComplete = true
    return true
  }
}
