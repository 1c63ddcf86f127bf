/** Direct-mapped cache of recent holds; saves one SELECT per settlement. A slot is overwritten by a later hold. */
import type { SettlementTurn } from '../../ledger/turn-columns.ts'

/** A power of two, larger than the number of concurrent turns of one process; a miss reads the table. */
const slotCount = 4096

export class HoldCache {
  readonly #rows: (SettlementTurn | undefined)[] = Array<SettlementTurn | undefined>(slotCount).fill(undefined)

  put(turn: SettlementTurn): void {
    this.#rows[turn.id % slotCount] = turn
  }

  /** Returns the held turn and removes it: the caller is about to end it. */
  consume(id: number): SettlementTurn | undefined {
    const slot = id % slotCount
    const turn = this.#rows[slot]
    if (turn?.id !== id) return undefined
    this.#rows[slot] = undefined
    return turn
  }

  clear(): void {
    this.#rows.fill(undefined)
  }
}
