/** The log: one JSON line an event, the request id in each; never a secret, never a word of a prompt. */
import { pino } from 'pino'
import type { Logger } from 'pino'

/** Lines are written together: a write for each would cost more than the line. Trouble does not wait. */
const gatherBytes = 16_384
const flushEveryMs = 250

interface Destination {
  write(line: string): void
}

export interface Log {
  readonly log: Logger
  /** Where its lines go, for whoever prints one himself. */
  readonly lines: Destination
}

/**
 * Lines hold chosen fields only, so there is nothing to redact. `destination` is where they go; standard error by default, so that
 * standard output stays free for people.
 */
export function createLog(level: string, destination: Destination = gathered()): Log {
  const options = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: toSafeError },
  }
  return { log: pino(options, destination), lines: destination }
}

function gathered(): Destination {
  const lines = new Gathered()
  setInterval(() => lines.flushSync(), flushEveryMs).unref()
  process.on('exit', () => {
    try {
      lines.flushSync()
    } catch {
      // Nobody reads standard error any more; there is nowhere left to say so.
    }
  })
  return lines
}

/** The stream could gather itself, but measures all that it has gathered at each line. */
class Gathered implements Destination {
  // Written at once: a round trip through the thread pool costs more than the write.
  readonly #stream = pino.destination({ dest: 2, sync: true })
  #lines = ''

  write(line: string): void {
    this.#lines += line
    if (this.#lines.length >= gatherBytes) this.#give()
  }

  /** The logger asks for it after a line that is fatal. */
  flushSync(): void {
    if (this.#lines !== '') this.#give()
    this.#stream.flushSync()
  }

  #give(): void {
    const lines = this.#lines
    this.#lines = ''
    this.#stream.write(lines)
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
