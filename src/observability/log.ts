/** The log: one JSON line per event, with the request id; never a secret, never text of a prompt. */
import { writeSync } from 'node:fs'
import { pino } from 'pino'
import type { Logger, LoggerOptions } from 'pino'

/** Lines are written in batches, because a write costs more than a line. Fatal lines are written at once. */
const flushThresholdChars = 16_384
const flushEveryMs = 250

/** The sink of log lines. */
interface LogDestination {
  write(lines: string): void
}

export interface Log {
  readonly log: Logger
  /** The sink, for code that formats a line itself. */
  readonly output: LogDestination
  /** The number of the worker thread, included in each line; undefined in the main thread. */
  readonly worker: number | undefined
}

/**
 * Lines hold chosen fields only. The default destination is standard error; standard output is left to the user.
 *
 * @param secrets masked in every line: an upstream, a database or a mail server may repeat a secret in its error messages
 */
export function createLog(
  level: string,
  destination: LogDestination = createStderrLog(),
  worker?: number,
  secrets: readonly string[] = [],
): Log {
  const output = secrets.length === 0 ? destination : new SecretMask(secrets, destination)
  const base = worker === undefined ? null : { worker }
  const options: LoggerOptions = {
    level,
    base,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: toSafeError },
  }
  return { log: pino(options, output), output, worker }
}

/** Masks secrets in the lines on their way to a destination. Every line of the log passes here. */
class SecretMask implements LogDestination {
  readonly #pattern: RegExp
  readonly #destination: LogDestination & { flushSync?(): void }

  constructor(secrets: readonly string[], destination: LogDestination) {
    // Lines are JSON, so a secret is looked for as JSON writes it.
    const alternatives = secrets.map((secret) => escapePattern(JSON.stringify(secret).slice(1, -1)))
    this.#pattern = new RegExp(alternatives.join('|'), 'g')
    this.#destination = destination
  }

  write(lines: string): void {
    this.#destination.write(lines.replace(this.#pattern, '…'))
  }

  /** pino calls it after a fatal line. */
  flushSync(): void {
    this.#destination.flushSync?.()
  }
}

export function createStderrLog(): BufferedLog {
  const writer = new StderrWriter((bytes) => writeSync(2, bytes))
  return createBufferedLog(
    (lines) => writer.write(lines),
    () => writer.drainSync(),
  )
}

function escapePattern(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`)
}

/** Batches lines for a sink: the system, or in a worker the main thread. `drainSink` must deliver all lines before it returns. */
export function createBufferedLog(sink: (lines: string) => void, drainSink = (): void => undefined): BufferedLog {
  const log = new BufferedLog(sink, drainSink)
  setInterval(() => log.flush(), flushEveryMs).unref()
  process.on('exit', () => {
    try {
      log.flushSync()
    } catch {
      // Standard error is closed; there is nowhere left to report it.
    }
  })
  return log
}

/** Bytes kept for a reader that currently accepts none. */
const maxPendingBytes = 1_048_576
const drainTimeoutMs = 1_000
const drainPollMs = 10
const retryMs = 100
const emptyBuffer = Buffer.alloc(0)
const newline = 10

/**
 * Writes synchronously, because a round trip through the thread pool costs more than the write. Lines that cannot be written (full disk,
 * closed or stalled reader) are dropped, and their size is logged when writing works again: the log must neither block nor end the process.
 */
export class StderrWriter {
  /** Returns the number of bytes written. Throws the system's error. */
  readonly #writeBytes: (bytes: Uint8Array) => number
  #pending: Buffer = emptyBuffer
  #lostBytes = 0
  #retryScheduled = false
  /** The last write ended with a whole line. */
  #isAtLineStart = true

  constructor(writeBytes: (bytes: Uint8Array) => number) {
    this.#writeBytes = writeBytes
  }

  write(lines: string): void {
    const bytes = Buffer.from(lines)
    if (this.#pending.length === 0 && this.#lostBytes > 0 && this.#tryWriteLine(this.#formatLossNotice())) this.#lostBytes = 0
    if (this.#lostBytes > 0 || this.#pending.length + bytes.length > maxPendingBytes) this.#lostBytes += bytes.length
    else this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes])
    this.#drain()
  }

  /** Waits briefly for a reader that currently accepts nothing, at exit. */
  drainSync(): void {
    const until = performance.now() + drainTimeoutMs
    while (this.#pending.length > 0 && performance.now() < until) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, drainPollMs)
      this.#drain()
    }
  }

  #drain(): void {
    try {
      while (this.#pending.length > 0) this.#pending = this.#pending.subarray(this.#writeSome(this.#pending))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return this.#scheduleRetry()
      this.#lostBytes += this.#pending.length
      this.#pending = emptyBuffer
    }
  }

  #scheduleRetry(): void {
    if (this.#retryScheduled) return
    this.#retryScheduled = true
    setTimeout(() => {
      this.#retryScheduled = false
      this.#drain()
    }, retryMs).unref()
  }

  #writeSome(bytes: Buffer): number {
    const written = this.#writeBytes(bytes)
    if (written > 0) this.#isAtLineStart = bytes[written - 1] === newline
    return written
  }

  /** Starts a new line, also after half of one. */
  #formatLossNotice(): Buffer {
    const notice = {
      level: 'warn',
      time: new Date().toISOString(),
      msg: `${this.#lostBytes} bytes of the log could not be written`,
    }
    return Buffer.from(`${this.#isAtLineStart ? '' : '\n'}${JSON.stringify(notice)}\n`)
  }

  #tryWriteLine(line: Buffer): boolean {
    try {
      return this.#writeSome(line) === line.length
    } catch {
      return false
    }
  }
}

/** pino's own stream can buffer too, but measures the whole buffer at each line. */
export class BufferedLog implements LogDestination {
  readonly #sink: (lines: string) => void
  readonly #drainSink: () => void
  #buffer = ''

  constructor(sink: (lines: string) => void, drainSink: () => void) {
    this.#sink = sink
    this.#drainSink = drainSink
  }

  write(lines: string): void {
    this.#buffer += lines
    if (this.#buffer.length >= flushThresholdChars) this.flush()
  }

  /** pino calls it after a fatal line. */
  flushSync(): void {
    this.flush()
    this.#drainSink()
  }

  flush(): void {
    if (this.#buffer === '') return
    const lines = this.#buffer
    this.#buffer = ''
    this.#sink(lines)
  }
}

/** An error's name, message, stack and causes; no other properties. */
function toSafeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) }
  return {
    name: error.name,
    message: error.message,
    stack: error.stack,
    ...(error.cause === undefined ? {} : { cause: toSafeError(error.cause) }),
  }
}
