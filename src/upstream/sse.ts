/** Server-sent events, split out of a byte stream (WHATWG HTML, 9.2). Bytes that are no UTF-8 become U+FFFD, as they would for any reader. */
import { StringDecoder } from 'node:string_decoder'

export interface ServerEvent {
  /** Its `data` lines, joined by line feeds. */
  readonly data: string
  /** It calls itself an error (`event: error`), whatever its data says. */
  readonly isError: boolean
}

/** Larger than any real event; a peer that never ends one must not fill the memory. */
const maxEventLength = 32 * 1024 * 1024

export class EventTooLarge extends Error {}

/** `push` bytes, take events. An event is handed over without its blank line; comments and empty lines are left out. */
export class EventSplitter {
  /** A character may be cut in two. */
  readonly #decoder = new StringDecoder('utf8')
  #holdsBytes = false
  #begun = false
  /** The pieces of an event that has not ended, joined once when it has: joining them at each would cost a long event its square. */
  #pieces: string[] = []
  #size = 0
  /** A carriage return at the end of a chunk may be half of a CRLF. */
  #heldReturn = false

  /** The events completed by this chunk; those without data are not reported. @throws EventTooLarge */
  push(chunk: Buffer): ServerEvent[] {
    let text = this.#textOf(chunk)
    if (!this.#begun && text !== '') {
      this.#begun = true
      if (text.startsWith(byteOrderMark)) text = text.slice(1)
    }
    if (this.#heldReturn || text.includes('\r')) text = this.#withoutReturns(text)
    if (text === '') return []
    if (this.#pieces.length > 0) {
      if (!this.#endsWith(text)) return this.#keep(text)
      text = this.#pieces.join('') + text
      this.#pieces = []
      this.#size = 0
    }
    const events: ServerEvent[] = []
    let from = 0
    for (let to = text.indexOf('\n\n'); to !== -1; to = text.indexOf('\n\n', from)) {
      const event = eventOf(text.slice(from, to))
      if (event !== null) events.push(event)
      from = to + 2
    }
    if (from < text.length) this.#keep(text.slice(from))
    return events
  }

  /** What stood unended at the end of the stream; null when that was nothing. */
  end(): ServerEvent | null {
    const rest = this.#pieces.join('') + this.#decoder.end()
    this.#pieces = []
    return rest.trim() === '' ? null : eventOf(rest)
  }

  /** Nearly every chunk ends with its event's line feed, and so in no half character. */
  #textOf(chunk: Buffer): string {
    const isWhole = chunk[chunk.length - 1] === 0x0a
    const text = isWhole && !this.#holdsBytes ? chunk.toString('utf8') : this.#decoder.write(chunk)
    this.#holdsBytes = !isWhole
    return text
  }

  /** Whether the kept event ends within this text. */
  #endsWith(text: string): boolean {
    return text.includes('\n\n') || (text.startsWith('\n') && this.#pieces.at(-1)?.endsWith('\n') === true)
  }

  #keep(text: string): [] {
    this.#size += text.length
    if (this.#size > maxEventLength) throw new EventTooLarge()
    this.#pieces.push(text)
    return []
  }

  #withoutReturns(text: string): string {
    const whole = this.#heldReturn ? `\r${text}` : text
    this.#heldReturn = whole.endsWith('\r')
    return (this.#heldReturn ? whole.slice(0, -1) : whole).replaceAll(/\r\n?/g, '\n')
  }
}

const byteOrderMark = '\uFEFF'

/** What an event can begin with; a colon alone begins a comment. The first piece of an answer may end within it. */
const eventFields = ['data:', 'event:', 'id:', 'retry:', ':'] as const

/**
 * Whether bytes that begin so are events, whatever the content type says of them: some upstreams name the wrong one, and a document in
 * the place of a stream is mostly an error that must be read. Null where only the content type can tell.
 */
export function beginsAsEvents(chunk: Buffer): boolean | null {
  const start = chunk.toString('utf8', 0, 64).replace(/^[\uFEFF\s]+/, '')
  if (start === '') return null
  if (eventFields.some((field) => start.startsWith(field) || field.startsWith(start))) return true
  return /^[[{<]/.test(start) ? false : null
}

function eventOf(event: string): ServerEvent | null {
  // Nearly every event of nearly every upstream is this one line.
  if (event.startsWith('data: ') && !event.includes('\n')) return { data: event.slice(6), isError: false }
  let data: string | null = null
  let isError = false
  for (const line of event.split('\n')) {
    if (line === 'event: error' || line === 'event:error') isError = true
    if (!line.startsWith('data:')) continue
    const value = line.charCodeAt(5) === 0x20 ? line.slice(6) : line.slice(5)
    data = data === null ? value : `${data}\n${value}`
  }
  return data === null ? null : { data, isError }
}
