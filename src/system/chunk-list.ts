/** A list of received chunks with a bounded count. */

/** Up to this many chunks are kept uncopied: more than any long body with chunks of normal size has. */
const maxChunks = 1_024

export class ChunkList {
  readonly #chunks: Buffer[] = []
  /** Number of merged chunks at the front. Merging bounds memory: each chunk takes two hundred bytes of heap, even with one byte of data. */
  #mergedCount = 0

  add(chunk: Buffer): void {
    this.#chunks.push(chunk)
    if (this.#chunks.length === this.#mergedCount + maxChunks)
      this.#chunks.push(Buffer.concat(this.#chunks.splice(this.#mergedCount++)))
  }

  /** In order of arrival. */
  get chunks(): readonly Buffer[] {
    return this.#chunks
  }
}

export function concatChunks(chunks: readonly Buffer[]): Buffer {
  const [first] = chunks
  return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
}
