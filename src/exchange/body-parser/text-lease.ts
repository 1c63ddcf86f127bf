import type { BufferLease } from '../request/raw-json.ts'

/** The use of a large request's text, from the end of writing until nothing reads it; then its memory is reused or freed. */
export class TextLease implements BufferLease {
  readonly #release: () => void
  /** Sends that have not been read to their end. */
  #openSends = 0
  #isClosed = false

  constructor(release: () => void) {
    this.#release = release
  }

  assertOpen(): void {
    if (this.#isClosed) throw new Error('the request is over')
  }

  beginSend(): void {
    this.assertOpen()
    this.#openSends++
  }

  endSend(): void {
    this.#openSends--
  }

  /** Ends the request. If a send was interrupted, a socket may still reference the buffer: it is then left to the garbage collector. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    if (this.#openSends === 0) this.#release()
  }
}
