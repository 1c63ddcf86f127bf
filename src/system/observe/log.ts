/** The log: one JSON line an event, the request id in each; never a secret, never a word of a prompt. */
import { pino } from 'pino'
import type { Logger, LoggerOptions } from 'pino'

/** Lines are written together: a write for each would cost more than the line. Trouble does not wait. */
const gatherBytes = 16_384
const flushEveryMs = 250

/** Where lines go. */
export interface Destination {
  write(lines: string): void
}

export interface Log {
  readonly log: Logger
  /** Where its lines go, for whoever prints one himself. */
  readonly lines: Destination
  /** Of several threads that serve the one whose lines these are; it stands on each. */
  readonly worker: number | undefined
}

/**
 * Lines hold chosen fields only, so there is nothing to redact. `destination` is where they go; standard error by default, so that
 * standard output stays free for people.
 */
export function createLog(level: string, destination: Destination = standardError(), worker?: number): Log {
  const base = worker === undefined ? null : { worker }
  const options: LoggerOptions = {
    level,
    base,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: toSafeError },
  }
  return { log: pino(options, destination), lines: destination, worker }
}

export function standardError(): Gathered {
  // Written at once: a round trip through the thread pool costs more than the write.
  const stream = pino.destination({ dest: 2, sync: true })
  return gathering(
    (lines) => void stream.write(lines),
    () => stream.flushSync(),
  )
}

/** Lines that are given together: to the system or, by a thread, to the one that writes them all. `settle`: all given must arrive now. */
export function gathering(give: (lines: string) => void, settle = (): void => undefined): Gathered {
  const lines = new Gathered(give, settle)
  setInterval(() => lines.passOn(), flushEveryMs).unref()
  process.on('exit', () => {
    try {
      lines.flushSync()
    } catch {
      // Nobody reads standard error any more; there is nowhere left to say so.
    }
  })
  return lines
}

/** The logger's own stream could gather, but measures all that it has gathered at each line. */
export class Gathered implements Destination {
  readonly #to: (lines: string) => void
  readonly #settle: () => void
  #lines = ''

  constructor(to: (lines: string) => void, settle: () => void) {
    this.#to = to
    this.#settle = settle
  }

  write(lines: string): void {
    this.#lines += lines
    if (this.#lines.length >= gatherBytes) this.passOn()
  }

  /** The logger asks for it after a line that is fatal. Where lines go to a file it waits for the disk, so it is nothing for every day. */
  flushSync(): void {
    this.passOn()
    this.#settle()
  }

  passOn(): void {
    if (this.#lines === '') return
    const lines = this.#lines
    this.#lines = ''
    this.#to(lines)
  }
}

/** An error's name, message and place, its causes too; nothing else that somebody hung on it. */
function toSafeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) }
  return {
    name: error.name,
    message: error.message,
    stack: error.stack,
    ...(error.cause === undefined ? {} : { cause: toSafeError(error.cause) }),
  }
}
