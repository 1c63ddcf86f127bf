/** The body of an answer from elsewhere, as far as one is prepared to read it. */
import type { Dispatcher } from 'undici'

type Body = Dispatcher.ResponseData['body']

/** All of it, or null where it is longer than that; the rest is not waited for. */
export async function readBounded(body: Body, longest: number): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > longest) {
      discard(body)
      return null
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Ends the connection that an unwanted body is coming on. */
export function discard(body: Body): void {
  // Being cut off is an error to the stream; unheard, it would end the process.
  body.on('error', () => undefined)
  body.destroy()
}
