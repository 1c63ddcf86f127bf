/**
 * Pool of buffers for the texts of large requests. Buffers allocated per request are garbage that only V8's major collector finds: several
 * times a second with a neighbour that sends long prompts, and each collection delays every request. V8 does not count shared memory, so
 * the pool is small and its buffers are reused.
 */

/** Longer than nearly all prompts; longer texts get memory of their own. */
const bufferBytes = 4 * 1024 * 1024
const maxBuffers = 8

export class BufferPool {
  readonly #free: SharedArrayBuffer[] = []
  #allocated = 0
  /** A buffer that is never released is eventually collected, and another one may be allocated. */
  readonly #reclaimed = new FinalizationRegistry<null>(() => this.#allocated--)

  /** Returns null if the text is too long or the pool is empty; the text then gets memory of its own. */
  acquire(bytes: number): SharedArrayBuffer | null {
    if (bytes > bufferBytes) return null
    const buffer = this.#free.pop()
    if (buffer !== undefined || this.#allocated === maxBuffers) return buffer ?? null
    const newBuffer = new SharedArrayBuffer(bufferBytes)
    this.#allocated++
    this.#reclaimed.register(newBuffer, null)
    return newBuffer
  }

  /** Returns the buffer to the pool. The caller must hold no reference. */
  release(buffer: SharedArrayBuffer): void {
    this.#free.push(buffer)
  }
}
