/**
 * Streams that have just written, and gather what they are given until the next beat: a write costs as much as all else that is done for an
 * event, whatever it carries. A stream whose events are further apart than a beat is never kept waiting.
 */
import { Running } from '../upstream/running.ts'
import type { Placed } from '../upstream/running.ts'

/** Within this time the eye and the tools at the other end see two events as one. */
const beatMs = 4

export interface Paced extends Placed {
  /** Writes what it has gathered. False where that was nothing, and the next may be written at once. */
  beat(): boolean
}

export class Pace {
  readonly #streams = new Running<Paced>()
  #timer: NodeJS.Timeout | undefined

  add(stream: Paced): void {
    this.#streams.add(stream)
    if (this.#streams.size > 1) return
    // One timer for all: they share its beats, so most wait for less than one.
    if (this.#timer === undefined) this.#timer = setTimeout(() => this.#beat(), beatMs)
    else this.#timer.refresh()
  }

  #beat(): void {
    this.#streams.each((stream) => {
      if (!stream.beat()) this.#streams.remove(stream)
    })
    if (this.#streams.size > 0) this.#timer?.refresh()
  }
}
