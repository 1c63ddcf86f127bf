/** The connection that a call was sent on, from its request to the end of its response. */
import type { Connection } from './connection-tracker.ts'

/** A kept connection that is lost later than this after a request may have been lost while the upstream worked on it. */
const staleConnectionMs = 1_000

export class AttemptConnection {
  /** Null before the request is sent and after the response. */
  #connection: Connection | null = null
  /** When the request was sent on a kept connection, and the bytes that this connection had received by then. */
  #sentOnKept: { readonly at: number; readonly bytesRead: number } | null = null

  /** `isKept`: an earlier request used it. */
  use(connection: Connection, isKept: boolean, monotonicMs: number): void {
    this.#connection = connection
    if (isKept) this.#sentOnKept = { at: monotonicMs, bytesRead: connection.bytesRead }
  }

  /** Whether the upstream had closed the kept connection before the request reached it: it has answered nothing, not even a part of a head. */
  isStale(monotonicMs: number): boolean {
    const sentRequest = this.#sentOnKept
    if (sentRequest === null || this.#connection?.bytesRead !== sentRequest.bytesRead) return false
    return monotonicMs - sentRequest.at < staleConnectionMs
  }

  /** From here on it may serve another call, or is the caller's to destroy. */
  release(): Connection | null {
    const connection = this.#connection
    this.#connection = null
    return connection
  }

  /** No other call is to use it. */
  destroy(): void {
    this.release()?.destroy()
  }
}
