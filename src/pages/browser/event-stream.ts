/** Server-sent events from a response's body: the `data` of each, until `[DONE]` or the end. Comments are passed over. */
export async function* eventsOf<Event>(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<Event> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let waiting = ''
  try {
    while (true) {
      const { done, value } = await reader.read()
      if (done) return
      waiting += value
      const events = waiting.split(/\r?\n\r?\n/)
      waiting = events.pop() ?? ''
      for (const event of events) {
        const data = event
          .split(/\r?\n/)
          .filter((line) => line.startsWith('data:'))
          .map((line) => line.slice(5).trimStart())
          .join('\n')
        if (data === '[DONE]') return
        if (data !== '') yield JSON.parse(data)
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
