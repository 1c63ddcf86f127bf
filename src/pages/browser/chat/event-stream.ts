/** Server-sent events from a response's body: the `data` of each as JSON, until `[DONE]` or the end. Comments are passed over. */
import { createParser } from 'eventsource-parser'

export async function* readEvents<Event>(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<Event> {
  const receivedData: string[] = []
  const parser = createParser({ onEvent: ({ data }) => receivedData.push(data) })
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  try {
    while (true) {
      const { done, value } = await reader.read()
      if (done) return
      parser.feed(value)
      for (const data of receivedData.splice(0)) {
        if (data === '[DONE]') return
        yield JSON.parse(data)
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
