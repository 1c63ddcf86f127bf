/** Splits a byte stream into server-sent events (WHATWG HTML, 9.2). Invalid UTF-8 becomes U+FFFD, as in any reader. */
import { StringDecoder } from 'node:string_decoder'
import { AnswerTooLargeError, maxEventLength } from '../../codecs/answer-bounds.ts'

export interface ServerEvent {
  /** The `data` lines, joined by line feeds. */
  readonly data: string
  /** The event is named `error` (`event: error`), whatever its data is. */
  readonly isError: boolean
}

/** `push` bytes, receive events. Comments and empty lines are skipped. */
export class EventSplitter {
  readonly #maxEventLength: number
  /** A chunk may end inside a character. */
  readonly #decoder = new StringDecoder('utf8')
  #holdsBytes = false
  #begun = false
  /** Pieces of an incomplete event, joined once when it is complete: joining them each time would be quadratic for a long event. */
  #pieces: string[] = []
  #size = 0
  /** A carriage return at the end of a chunk may be half of a CRLF. */
  #heldReturn = false

  /** @param maxLength of one event, in characters: one that never ends must not exhaust memory */
  constructor(maxLength = maxEventLength) {
    this.#maxEventLength = maxLength
  }

  /** The events that this chunk completes; those without data are skipped. @throws AnswerTooLargeError */
  push(chunk: Buffer): ServerEvent[] {
    let text = this.#decode(chunk)
    if (!this.#begun && text !== '') {
      this.#begun = true
      if (text.startsWith(byteOrderMark)) text = text.slice(1)
    }
    if (this.#heldReturn || text.includes('\r')) text = this.#normalizeLineEnds(text)
    if (text === '') return []
    if (this.#pieces.length > 0) {
      if (!this.#completesEvent(text)) return this.#buffer(text)
      text = this.#pieces.join('') + text
      this.#pieces = []
      this.#size = 0
    }
    const events: ServerEvent[] = []
    let from = 0
    for (let to = text.indexOf('\n\n'); to !== -1; to = text.indexOf('\n\n', from)) {
      const event = parseEvent(text.slice(from, to))
      if (event !== null) events.push(event)
      from = to + 2
    }
    if (from < text.length) this.#buffer(text.slice(from))
    return events
  }

  /** The incomplete event at the end of the stream, or null. */
  end(): ServerEvent | null {
    const rest = this.#pieces.join('') + this.#decoder.end()
    this.#pieces = []
    return rest.trim() === '' ? null : parseEvent(rest)
  }

  /** Nearly every chunk ends with its event's line feed, so it does not end inside a character. */
  #decode(chunk: Buffer): string {
    const isWhole = chunk[chunk.length - 1] === 0x0a
    const text = isWhole && !this.#holdsBytes ? chunk.toString('utf8') : this.#decoder.write(chunk)
    this.#holdsBytes = !isWhole
    return text
  }

  /** Whether the buffered event ends within this text. */
  #completesEvent(text: string): boolean {
    return text.includes('\n\n') || (text.startsWith('\n') && this.#pieces.at(-1)?.endsWith('\n') === true)
  }

  #buffer(text: string): [] {
    this.#size += text.length
    if (this.#size > this.#maxEventLength) throw new AnswerTooLargeError('an event is too long')
    this.#pieces.push(text)
    return []
  }

  #normalizeLineEnds(text: string): string {
    const wholeText = this.#heldReturn ? `\r${text}` : text
    this.#heldReturn = wholeText.endsWith('\r')
    return (this.#heldReturn ? wholeText.slice(0, -1) : wholeText).replaceAll(/\r\n?/g, '\n')
  }
}

const byteOrderMark = '\uFEFF'

/** Possible beginnings of an event; a colon alone begins a comment. The first chunk may end inside one of them. */
const eventFields = ['data:', 'event:', 'id:', 'retry:', ':'] as const

/**
 * Whether these bytes begin an event stream, whatever the content type is: some upstreams send the wrong one, and a document in place of a
 * stream is usually an error that must be read. Null if only the content type can tell.
 */
export function looksLikeEventStream(chunk: Buffer): boolean | null {
  const start = chunk.toString('utf8', 0, 64).replace(/^[\uFEFF\s]+/, '')
  if (start === '') return null
  if (eventFields.some((field) => start.startsWith(field) || field.startsWith(start))) return true
  return /^[[{<]/.test(start) ? false : null
}

function parseEvent(event: string): ServerEvent | null {
  // Nearly every event is a single line of this form.
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
