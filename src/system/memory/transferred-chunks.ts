/** Passes the chunks of a long body or answer to another thread, so that its bytes exist once at any time. */
import { freeMemory } from './free-memory.ts'

/** Fewer bytes a chunk are joined, because each transfer has a cost. */
const smallChunkBytes = 4 * 1024

/** The chunks in memory of their own, to be transferred. Do not use the original chunks afterwards. */
export function toTransferableChunks(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer>[] {
  const bytes = countBytes(chunks)
  if (chunks.length * smallChunkBytes <= bytes) return chunks.map((chunk) => (ownsMemory(chunk) ? chunk : new Uint8Array(chunk)))
  const joinedBytes = new Uint8Array(bytes)
  let at = 0
  for (const chunk of chunks) {
    joinedBytes.set(chunk, at)
    at += chunk.length
  }
  return [joinedBytes]
}

/** Joins received chunks. Each is freed once it is copied: pages of the whole take memory only when they are written. */
export function joinTransferredChunks(chunks: readonly Uint8Array<ArrayBuffer>[]): Buffer<ArrayBuffer> {
  const [first] = chunks
  if (chunks.length === 1 && first !== undefined) return Buffer.from(first.buffer, first.byteOffset, first.length)
  const joinedBytes = Buffer.from(new ArrayBuffer(countBytes(chunks)))
  let at = 0
  for (const chunk of chunks) {
    joinedBytes.set(chunk, at)
    at += chunk.length
    freeMemory(chunk.buffer)
  }
  return joinedBytes
}

function countBytes(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((sum, { length }) => sum + length, 0)
}

function ownsMemory(chunk: Uint8Array): chunk is Uint8Array<ArrayBuffer> {
  return chunk.buffer instanceof ArrayBuffer && chunk.buffer.byteLength === chunk.byteLength
}
