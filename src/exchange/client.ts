/** The client's end of the line, as the exchange needs it. The HTTP house implements it; tests script it. */
export interface Client {
  /** The client has gone; nothing written now is seen by anybody. */
  readonly left: boolean
  /** The status line is out: from here on only frames can follow. */
  readonly opened: boolean
  /** Called once, at once, when the client leaves before the end. */
  onLeave(listener: () => void): void
  open(status: number, headers: Readonly<Record<string, string>>): void
  /** False when the client reads more slowly than we write: wait for `onDrain` before the next one. May leave with what follows at once. */
  write(frames: string): boolean
  /** Called once, when what was written has been taken. */
  onDrain(listener: () => void): void
  /** The last word. */
  end(frames?: string): void
  /** No last word: the line is cut, so that nobody takes what was said for the whole or waits for more. */
  cut(): void
  /** @throws where no answer can carry one of these */
  prove(headers: Readonly<Record<string, string>>): void
  /** A whole answer at once, for a client that has seen nothing yet. */
  reply(status: number, headers: Readonly<Record<string, string>>, body: string | Uint8Array): void
}
