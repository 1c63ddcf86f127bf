/**
 * The client of an exchange in another API format: takes the frames of a chat completion and sends the format's own events. An error of
 * the encoder is thrown to the writer, which ends the turn.
 */
import type { AnswerEncoder } from '../exchange/api-format/api-format.ts'
import type { Client } from '../exchange/client.ts'
import { ChunkParser } from './chunk-parser.ts'

export class EncodingClient implements Client {
  readonly #inner: Client
  readonly #encoder: AnswerEncoder
  readonly #chunks = new ChunkParser()

  constructor(inner: Client, encoder: AnswerEncoder) {
    this.#inner = inner
    this.#encoder = encoder
  }

  get disconnected(): boolean {
    return this.#inner.disconnected
  }

  get headersSent(): boolean {
    return this.#inner.headersSent
  }

  onDisconnect(listener: () => void): void {
    this.#inner.onDisconnect(listener)
  }

  writeHead(status: number, headers: Readonly<Record<string, string>>): void {
    const opening = this.#encoder.start()
    this.#inner.writeHead(status, headers)
    if (opening !== '') this.#inner.write(opening)
  }

  write(frames: string): boolean {
    const events = this.encodeFrames(frames)
    return events === '' || this.#inner.write(events)
  }

  onDrain(listener: () => void): void {
    this.#inner.onDrain(listener)
  }

  expectEnd(): void {
    this.#inner.expectEnd?.()
  }

  end(frames = ''): void {
    this.#inner.end(this.encodeFrames(frames) + this.#encoder.end())
  }

  destroy(): void {
    this.#inner.destroy()
  }

  validateHeaders(headers: Readonly<Record<string, string>>): void {
    this.#inner.validateHeaders(headers)
  }

  reply(status: number, headers: Readonly<Record<string, string>>, body: string | Uint8Array): void {
    this.#inner.reply(status, headers, body)
  }

  /** The events of whole frames of a chat completion, without the events that end the stream. */
  encodeFrames(frames: string): string {
    let events = ''
    for (let from = 0; from < frames.length;) {
      const end = frames.indexOf(frameEnd, from)
      const to = end === -1 ? frames.length : end
      events += this.#encodeFrame(frames, from, to)
      from = to + frameEnd.length
    }
    return events
  }

  #encodeFrame(frames: string, from: number, to: number): string {
    if (frames.startsWith(doneFrame, from)) return ''
    if (frames.startsWith(dataPrefix, from)) return this.#encoder.push(this.#chunks.parse(frames, from + dataPrefix.length, to))
    return frames.startsWith(':', from) ? this.#encoder.heartbeat() : ''
  }
}

// Written by `src/upstream/response/client-events.ts` and `src/exchange/completion-result.ts`: one line of JSON in each frame.
const frameEnd = '\n\n'
const dataPrefix = 'data: '
const doneFrame = 'data: [DONE]'
