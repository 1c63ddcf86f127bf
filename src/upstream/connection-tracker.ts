/**
 * Tells a call which connection it uses. undici tells a handler only that its request starts; its diagnostics channel names the connection in
 * the same step of the event loop.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'

export interface Connection {
  destroy(): unknown
  /** Of all its requests. */
  readonly bytesRead: number
}

export interface ConnectionUser {
  /** `isKept`: an earlier request used this connection, so the other end may have given it up meanwhile. */
  setConnection(connection: Connection, isKept: boolean): void
}

const channel = 'undici:client:sendHeaders'

export class ConnectionTracker {
  #starting: ConnectionUser | null = null
  readonly #used = new WeakSet<Connection>()

  constructor() {
    subscribe(channel, this.#handleSend)
  }

  /** Call this when undici starts the request, which it then writes at once. */
  expectConnection(user: ConnectionUser): void {
    this.#starting = user
  }

  close(): void {
    unsubscribe(channel, this.#handleSend)
  }

  readonly #handleSend = (message: unknown): void => {
    if (this.#starting === null) return
    const { socket } = message as { readonly socket: Connection }
    this.#starting.setConnection(socket, this.#used.has(socket))
    this.#starting = null
    this.#used.add(socket)
  }
}
