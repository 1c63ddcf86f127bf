/**
 * Yields the data of each event of a `text/event-stream`, wherever its bytes are split: inside a character, a line end or an event.
 * Comments are skipped. An event without its blank line at the end of the stream still counts.
 */
import { createParser } from 'eventsource-parser'

export async function* parseEventData(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const receivedData: string[] = []
  const parser = createParser({ onEvent: ({ data }) => receivedData.push(data) })
  const decoder = new TextDecoder()
  for await (const piece of chunks) {
    parser.feed(decoder.decode(piece, { stream: true }))
    yield* receivedData.splice(0)
  }
  parser.feed(`${decoder.decode()}\n\n`)
  yield* receivedData
}
