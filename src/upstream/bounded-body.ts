/** Reads a response body up to a maximum size. */
import type { Dispatcher } from 'undici'
import { concatChunks, ChunkList } from '../system/memory/chunk-list.ts'

type Body = Dispatcher.ResponseData['body']

/** The first `maxBytes` of a body. */
export class BoundedBody {
  readonly #maxBytes: number
  readonly #chunks: ChunkList
  #size = 0

  /** @param options as of `ChunkList` */
  constructor(maxBytes: number, options: { readonly ownsChunks?: boolean } = {}) {
    this.#maxBytes = maxBytes
    this.#chunks = new ChunkList(options)
  }

  /** Returns false if the chunk did not fit; the part that fits is kept. */
  append(chunk: Buffer): boolean {
    // The list may free the chunk.
    const { length } = chunk
    const remainingBytes = this.#maxBytes - this.#size
    if (remainingBytes > 0) this.#chunks.add(length > remainingBytes ? chunk.subarray(0, remainingBytes) : chunk)
    this.#size = Math.min(this.#maxBytes, this.#size + length)
    return length <= remainingBytes
  }

  get size(): number {
    return this.#size
  }

  get chunks(): readonly Buffer[] {
    return this.#chunks.chunks
  }

  bytes(): Buffer {
    return concatChunks(this.#chunks.chunks)
  }

  text(): string {
    return this.bytes().toString('utf8')
  }
}

/** The whole body, or null if it is longer than `maxBytes`; the rest is not awaited. */
export async function readBounded(body: Body, maxBytes: number): Promise<Buffer | null> {
  const boundedBody = new BoundedBody(maxBytes)
  for await (const chunk of body as AsyncIterable<Buffer>) {
    if (boundedBody.append(chunk)) continue
    discard(body)
    return null
  }
  return boundedBody.bytes()
}

/** Closes the connection of a body that is not wanted. */
export function discard(body: Body): void {
  // Destroying the stream emits an error, which would end the process if it were unhandled.
  body.on('error', () => undefined)
  body.destroy()
}
