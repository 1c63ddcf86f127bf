/**
 * The memory that texts of large requests stand in. What each would get of its own is garbage that only V8's slow collector finds: beside a
 * neighbour with long prompts that came several times a second, and everybody waited for it. Shared memory is not counted by V8, so there is
 * little of it, and it is lent again and again.
 */

/** As long as nearly all prompts are; longer texts have memory of their own. */
const pieceBytes = 4 * 1024 * 1024
const mostPieces = 8

export class LentMemory {
  readonly #free: SharedArrayBuffer[] = []
  #made = 0
  /** What is not given back is gone one day, and another piece may be made. */
  readonly #lost = new FinalizationRegistry<null>(() => this.#made--)

  /** Null where a text of so many bytes is better off by itself. */
  lend(bytes: number): SharedArrayBuffer | null {
    if (bytes > pieceBytes) return null
    const piece = this.#free.pop()
    if (piece !== undefined || this.#made === mostPieces) return piece ?? null
    const made = new SharedArrayBuffer(pieceBytes)
    this.#made++
    this.#lost.register(made, null)
    return made
  }

  /** Nobody reads in it any more. */
  giveBack(piece: SharedArrayBuffer): void {
    this.#free.push(piece)
  }
}

/** One text in lent memory, from when it has been written till nobody reads in it any more. */
export class Lending {
  readonly #giveBack: () => void
  /** Sendings that have not been read to their end. */
  #open = 0
  #isOver = false

  constructor(giveBack: () => void) {
    this.#giveBack = giveBack
  }

  /** To be called before anything is read in it: another text may stand there by now. @throws Error when the request is over */
  mustLast(): void {
    if (this.#isOver) throw new Error('the request is over')
  }

  sends(): void {
    this.mustLast()
    this.#open++
  }

  hasSent(): void {
    this.#open--
  }

  /**
   * The request is over. Where a sending was broken off, a socket may still hold on to what it was given: that memory is lent to nobody
   * again.
   */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#open === 0) this.#giveBack()
  }
}
