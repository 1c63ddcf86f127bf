/** The body of an answer from elsewhere, as far as one is prepared to read it. */
import type { Dispatcher } from 'undici'
import { inOnePiece, Parts } from '../system/parts.ts'

type Body = Dispatcher.ResponseData['body']

/** The first bytes of a body, at most as many as were agreed on. */
export class BoundedBody {
  readonly #longest: number
  readonly #chunks = new Parts()
  #size = 0

  constructor(longest: number) {
    this.#longest = longest
  }

  /** False where it was too much; what fits is kept. */
  take(chunk: Buffer): boolean {
    const room = this.#longest - this.#size
    if (room > 0) this.#chunks.add(chunk.length > room ? chunk.subarray(0, room) : chunk)
    this.#size = Math.min(this.#longest, this.#size + chunk.length)
    return chunk.length <= room
  }

  bytes(): Buffer {
    return inOnePiece(this.#chunks.all)
  }

  text(): string {
    return this.bytes().toString('utf8')
  }
}

/** All of it, or null where it is longer than that; the rest is not waited for. */
export async function readBounded(body: Body, longest: number): Promise<Buffer | null> {
  const read = new BoundedBody(longest)
  for await (const chunk of body as AsyncIterable<Buffer>) {
    if (read.take(chunk)) continue
    discard(body)
    return null
  }
  return read.bytes()
}

/** Ends the connection that an unwanted body is coming on. */
export function discard(body: Body): void {
  // Being cut off is an error to the stream; unheard, it would end the process.
  body.on('error', () => undefined)
  body.destroy()
}
