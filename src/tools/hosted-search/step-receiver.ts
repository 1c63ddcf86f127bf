/** The client of one call of the model within a turn: passes events on, and keeps what would end the response. */
import type { ResponseSink } from '../../exchange/response-sink.ts'

export class StepReceiver implements ResponseSink {
  readonly #outer: ResponseSink
  #headersSent = false
  #hasEnded = false

  constructor(outer: ResponseSink) {
    this.#outer = outer
  }

  /** The answer has ended, so that the reader has all of it. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  get disconnected(): boolean {
    return this.#outer.disconnected
  }

  /** Of this call: before its first frame, another target can be called. */
  get headersSent(): boolean {
    return this.#headersSent
  }

  onDisconnect(listener: () => void): void {
    this.#outer.onDisconnect(listener)
  }

  writeHead(status: number, headers: Readonly<Record<string, string>>): void {
    this.#headersSent = true
    if (!this.#outer.headersSent) this.#outer.writeHead(status, headers)
  }

  write(frames: string): boolean {
    return this.#outer.write(frames)
  }

  onDrain(listener: () => void): void {
    this.#outer.onDrain(listener)
  }

  end(frames = ''): void {
    if (frames !== '') this.#outer.write(frames)
    this.#hasEnded = true
  }

  reply(status: number): void {
    this.#hasEnded = status === 200
  }

  validateHeaders(): void {}

  // The turn around it decides how the connection ends.
  destroy(): void {}
}
