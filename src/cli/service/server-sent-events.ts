/**
 * The data of each event of a `text/event-stream`, whatever way its bytes are cut: inside a character, inside a line end, inside
 * an event. Comments are passed over. An event without its blank line at the end of the stream still counts.
 */
export async function* eventData(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let data: string[] = []
  for await (const line of lines(pieces)) {
    if (line === '') {
      if (data.length > 0) yield data.join('\n')
      data = []
    } else if (line.startsWith('data:')) {
      data.push(line.slice(line.startsWith('data: ') ? 6 : 5))
    }
  }
  if (data.length > 0) yield data.join('\n')
}

async function* lines(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const piece of pieces) {
    const parts = (rest + decoder.decode(piece, { stream: true })).split('\n')
    rest = parts.pop() ?? ''
    for (const part of parts) yield part.endsWith('\r') ? part.slice(0, -1) : part
  }
  rest += decoder.decode()
  if (rest !== '') yield rest.endsWith('\r') ? rest.slice(0, -1) : rest
}
