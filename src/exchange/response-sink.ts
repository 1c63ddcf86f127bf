/** Port: the client's side of an exchange. The HTTP layer implements it; tests script it. */
export interface ResponseSink {
  /** The client has disconnected; later writes are lost. */
  readonly disconnected: boolean
  /** The status line has been sent; only frames can follow. */
  readonly headersSent: boolean
  /** Registers a listener, called once and immediately when the client disconnects before the end. */
  onDisconnect(listener: () => void): void
  writeHead(status: number, headers: Readonly<Record<string, string>>): void
  /** Returns false on backpressure: wait for `onDrain` before the next write. The frames may be sent together with later ones. */
  write(frames: string): boolean
  /** Calls the listener once, when the written frames have drained. */
  onDrain(listener: () => void): void
  /** Only `end` follows, as soon as the turn is settled: what was written may wait some milliseconds for it. */
  expectEnd?(): void
  /** Sends the last frames and ends the response. */
  end(frames?: string): void
  /** Closes the connection without a final frame, so that the client does not take the response for complete. */
  destroy(): void
  /** @throws Error if a header cannot be sent */
  validateHeaders(headers: Readonly<Record<string, string>>): void
  /** Sends a complete response; nothing may have been sent before. */
  reply(status: number, headers: Readonly<Record<string, string>>, body: string | Uint8Array): void
}
