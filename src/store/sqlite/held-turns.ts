/** The turns held last, so that ending one need not read it again: fixed room, each place taken over by a later turn. */
import type { EndingTurn } from '../turn-columns.ts'

/** A power of two; more than ever run at once in one process, and where not, the table still knows. */
const places = 4096

export class HeldTurns {
  readonly #rows: (EndingTurn | undefined)[] = Array<EndingTurn | undefined>(places).fill(undefined)

  keep(turn: EndingTurn): void {
    this.#rows[turn.id % places] = turn
  }

  /** The turn as it was held, once: whoever asks is about to end it. */
  take(id: number): EndingTurn | undefined {
    const place = id % places
    const turn = this.#rows[place]
    if (turn?.id !== id) return undefined
    this.#rows[place] = undefined
    return turn
  }

  forget(): void {
    this.#rows.fill(undefined)
  }
}
