/**
 * Server-sent events, split out of a byte stream (WHATWG HTML, 9.2). Text is held as Latin-1, one character a byte, so that whatever
 * is passed on leaves as the bytes that came in.
 */

/** Larger than any real event; a peer that never ends one must not fill the memory. */
const maxEventBytes = 32 * 1024 * 1024

export class EventTooLarge extends Error {}

/** `push` bytes, take events. An event is handed over without its blank line; comments and empty lines are left out. */
export class EventSplitter {
  /** The pieces of an event that has not ended, joined once when it has: joining them at each would cost a long event its square. */
  #pieces: string[] = []
  #size = 0
  /** A carriage return at the end of a chunk may be half of a CRLF. */
  #heldReturn = false

  /** The `data` of each event completed by this chunk; comment-only events are not reported. @throws EventTooLarge */
  push(chunk: Buffer): string[] {
    let text = chunk.toString('latin1')
    if (this.#heldReturn || text.includes('\r')) text = this.#withoutReturns(text)
    if (text === '') return []
    if (this.#pieces.length > 0) {
      if (!this.#endsWith(text)) return this.#keep(text)
      text = this.#pieces.join('') + text
      this.#pieces = []
      this.#size = 0
    }
    const events: string[] = []
    let from = 0
    for (let to = text.indexOf('\n\n'); to !== -1; to = text.indexOf('\n\n', from)) {
      const data = dataOf(text.slice(from, to))
      if (data !== null) events.push(data)
      from = to + 2
    }
    if (from < text.length) this.#keep(text.slice(from))
    return events
  }

  /** What stood unended at the end of the stream; null when that was nothing. */
  end(): string | null {
    const rest = this.#pieces.join('')
    this.#pieces = []
    return rest.trim() === '' ? null : dataOf(rest)
  }

  /** Whether the kept event ends within this text. */
  #endsWith(text: string): boolean {
    return text.includes('\n\n') || (text.startsWith('\n') && this.#pieces.at(-1)?.endsWith('\n') === true)
  }

  #keep(text: string): [] {
    this.#size += text.length
    if (this.#size > maxEventBytes) throw new EventTooLarge()
    this.#pieces.push(text)
    return []
  }

  #withoutReturns(text: string): string {
    const whole = this.#heldReturn ? `\r${text}` : text
    this.#heldReturn = whole.endsWith('\r')
    return (this.#heldReturn ? whole.slice(0, -1) : whole).replaceAll(/\r\n?/g, '\n')
  }
}

function dataOf(event: string): string | null {
  // Nearly every event of nearly every upstream is this one line.
  if (event.startsWith('data: ') && !event.includes('\n')) return event.slice(6)
  let data: string | null = null
  for (const line of event.split('\n')) {
    if (!line.startsWith('data:')) continue
    const value = line.charCodeAt(5) === 0x20 ? line.slice(6) : line.slice(5)
    data = data === null ? value : `${data}\n${value}`
  }
  return data
}

/** Bytes held as Latin-1 → text. */
export function utf8Of(latin1: string): string {
  return Buffer.from(latin1, 'latin1').toString('utf8')
}
