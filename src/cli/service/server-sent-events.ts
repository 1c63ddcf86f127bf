/**
 * The data of each event of a `text/event-stream`, whatever way its bytes are cut: inside a character, inside a line end, inside
 * an event. Comments are passed over. An event without its blank line at the end of the stream still counts.
 */
import { createParser } from 'eventsource-parser'

export async function* eventData(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const come: string[] = []
  const parser = createParser({ onEvent: ({ data }) => come.push(data) })
  const decoder = new TextDecoder()
  for await (const piece of pieces) {
    parser.feed(decoder.decode(piece, { stream: true }))
    yield* come.splice(0)
  }
  parser.feed(`${decoder.decode()}\n\n`)
  yield* come
}
