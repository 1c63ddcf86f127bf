/** Passes a stream on and adds it to a hash. */
import type { Hash } from 'node:crypto'

export async function* hashStream(source: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const piece of source) {
    hash.update(piece)
    yield piece
  }
}
