/**
 * How many calls to one upstream run at once, and how many wait for a place. What lies below would queue without bound and without a word;
 * here a call is let in, waits for a stated time in a line of a stated length, or is turned away.
 */
export class Gate {
  readonly #options: GateOptions
  #running = 0
  /** First come, first served: each is told when it is let in. */
  readonly #line: (() => void)[] = []

  constructor(options: GateOptions) {
    this.#options = options
  }

  get running(): number {
    return this.#running
  }

  get waiting(): number {
    return this.#line.length
  }

  /** Takes a place if one is free and nobody waits for it. Each place taken is given back by `leave`. */
  enter(): boolean {
    if (this.#running >= this.#options.places || this.#line.length > 0) return false
    this.#running++
    return true
  }

  /** Waits for a place. False where the line is full, the time is up, or `giveUp` was called by whom it was handed to. */
  wait(onGiveUp: (giveUp: () => void) => void): Promise<boolean> {
    if (this.#line.length >= this.#options.queue) return Promise.resolve(false)
    return new Promise((resolve) => {
      const letIn = (): void => {
        clearTimeout(timer)
        resolve(true)
      }
      const giveUp = (): void => {
        const place = this.#line.indexOf(letIn)
        if (place === -1) return
        this.#line.splice(place, 1)
        clearTimeout(timer)
        resolve(false)
      }
      const timer = setTimeout(giveUp, this.#options.waitMs)
      this.#line.push(letIn)
      onGiveUp(giveUp)
    })
  }

  /** Gives a place back, to the first in line. */
  leave(): void {
    const letIn = this.#line.shift()
    if (letIn === undefined) this.#running--
    else letIn()
  }
}

export interface GateOptions {
  /** Calls at once. */
  readonly places: number
  /** Calls that wait at most. */
  readonly queue: number
  readonly waitMs: number
}
