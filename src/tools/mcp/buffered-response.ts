/** The client of a turn inside another request: buffers the answer, and disconnects when the outer client does. */
import type { ResponseSink } from '../../exchange/response-sink.ts'

export class BufferedResponse implements ResponseSink {
  readonly headersSent = false
  #body: string | null = null
  readonly #outer: Pick<ResponseSink, 'disconnected' | 'onDisconnect'>

  constructor(outer: Pick<ResponseSink, 'disconnected' | 'onDisconnect'>) {
    this.#outer = outer
  }

  /** The complete answer, once there is one. */
  get body(): string | null {
    return this.#body
  }

  get disconnected(): boolean {
    return this.#outer.disconnected
  }

  onDisconnect(listener: () => void): void {
    this.#outer.onDisconnect(listener)
  }

  reply(_status: number, _headers: Readonly<Record<string, string>>, body: string | Uint8Array): void {
    this.#body = typeof body === 'string' ? body : Buffer.from(body).toString('utf8')
  }

  // Only the body is used.
  validateHeaders(): void {}

  // The inner turn never streams: its answer is read at its end.
  writeHead(): void {}

  write(): boolean {
    return true
  }

  onDrain(): void {}

  end(): void {}

  destroy(): void {}
}
