/**
 * A list of received chunks. Beyond a few of them, or a few kilobytes, it copies them to blocks: a chunk takes two hundred bytes of heap even
 * with one byte of data, and thousands of chunks of a long body are freed one by one into a heap that keeps them.
 */
import { freeMemory } from './free-memory.ts'

/** Up to this many chunks and bytes are kept uncopied: nearly all requests have no more. */
const maxChunks = 16
const maxUncopiedBytes = 128 * 1024
const blockBytes = 1024 * 1024

export class ChunkList {
  readonly #ownsChunks: boolean
  #chunks: Buffer[] = []
  #bytes = 0
  /** The part of the last block that is free; null before there are blocks. */
  #free: Buffer | null = null

  /** @param options.ownsChunks no one else uses the chunks: their memory is freed when they are copied */
  constructor({ ownsChunks = false } = {}) {
    this.#ownsChunks = ownsChunks
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#free !== null) return this.#copy(chunk)
    this.#chunks.push(chunk)
    if (this.#chunks.length <= maxChunks && this.#bytes <= maxUncopiedBytes) return
    const chunks = this.#chunks
    this.#chunks = []
    for (const each of chunks) this.#copy(each)
  }

  /** In order of arrival. Do not add to the list afterwards. */
  get chunks(): readonly Buffer[] {
    if (this.#free === null) return this.#chunks
    const last = this.#chunks.at(-1)
    return last === undefined ? [] : [...this.#chunks.slice(0, -1), last.subarray(0, last.length - this.#free.length)]
  }

  #copy(chunk: Buffer): void {
    let rest = chunk
    while (rest.length > 0) {
      if (this.#free === null || this.#free.length === 0)
        this.#chunks.push(
          (this.#free = Buffer.from(new ArrayBuffer(this.#bytes <= maxUncopiedBytes ? maxUncopiedBytes : blockBytes))),
        )
      const copiedBytes = rest.copy(this.#free)
      this.#free = this.#free.subarray(copiedBytes)
      rest = rest.subarray(copiedBytes)
    }
    const { buffer } = chunk
    if (this.#ownsChunks && buffer.byteLength === chunk.byteLength) freeMemory(buffer)
  }
}

export function concatChunks(chunks: readonly Buffer[]): Buffer {
  const [first] = chunks
  return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
}
