/** The client's end of a turn inside another request: its answer is kept, and it leaves when the one outside does. */
import type { Client } from '../../exchange/client.ts'

export class CapturedClient implements Client {
  readonly opened = false
  #body: string | null = null
  readonly #outer: Pick<Client, 'left' | 'onLeave'>

  constructor(outer: Pick<Client, 'left' | 'onLeave'>) {
    this.#outer = outer
  }

  /** The whole answer, once there is one. */
  get body(): string | null {
    return this.#body
  }

  get left(): boolean {
    return this.#outer.left
  }

  onLeave(listener: () => void): void {
    this.#outer.onLeave(listener)
  }

  reply(_status: number, _headers: Readonly<Record<string, string>>, body: string | Uint8Array): void {
    this.#body = typeof body === 'string' ? body : Buffer.from(body).toString('utf8')
  }

  // Nothing but the body leaves.
  prove(): void {}

  // A turn in here never streams: nobody could read it before its end.
  open(): void {}

  write(): boolean {
    return true
  }

  onDrain(): void {}

  end(): void {}

  cut(): void {}
}
