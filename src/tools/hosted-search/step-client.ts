/** The client of one call of the model within a turn: passes frames on through a `StepReader`, and keeps what would end the response. */
import type { Client } from '../../exchange/client.ts'
import type { StepReader } from './step-reader.ts'

export class StepClient implements Client {
  readonly #outer: Client
  readonly #reader: StepReader
  #headersSent = false
  #body: string | null = null
  #hasEnded = false

  constructor(outer: Client, reader: StepReader) {
    this.#outer = outer
    this.#reader = reader
  }

  /** The whole answer; null for a stream. */
  get body(): string | null {
    return this.#body
  }

  /** The stream has ended, so that the reader has all of it. */
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
    const passed = this.#reader.readFrames(frames)
    return passed === '' || this.#outer.write(passed)
  }

  onDrain(listener: () => void): void {
    this.#outer.onDrain(listener)
  }

  end(frames = ''): void {
    const passed = this.#reader.readFrames(frames)
    if (passed !== '') this.#outer.write(passed)
    this.#hasEnded = true
  }

  reply(status: number, _headers: Readonly<Record<string, string>>, body: string | Uint8Array): void {
    if (status === 200) this.#body = typeof body === 'string' ? body : Buffer.from(body).toString()
  }

  validateHeaders(): void {}

  // The turn around it decides how the connection ends.
  destroy(): void {}
}
