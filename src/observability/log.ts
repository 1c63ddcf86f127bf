/**
 * The log: one JSON line per event, with the request id; never a secret, and above `debug` never text of a prompt. Servers and libraries quote
 * what they were given in their errors, so quoted text of error messages is left out of all lines of other levels.
 */
import { systemClock } from '../system/clock.ts'
import { writeSync } from 'node:fs'
import { pino } from 'pino'
import type { Logger, LoggerOptions } from 'pino'
import { GatewayError } from '../errors.ts'
import { UpstreamFailure } from '../exchange/upstream-failure.ts'

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
  /** Masks further secrets from now on. Earlier ones stay masked: a key that was replaced may still be valid. */
  addSecrets(secrets: readonly string[]): void
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
  const output = new SecretMask(secrets, destination)
  const base = worker === undefined ? null : { worker }
  const options: LoggerOptions = {
    level,
    base,
    timestamp: () => `,"time":"${new Date(systemClock.now()).toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: logsWords(level) ? toFullError : toSafeError },
  }
  return { log: pino(options, output), output, worker, addSecrets: (more) => output.add(more) }
}

/** The newest ones of a server whose secrets are replaced again and again. */
const maxSecrets = 1_000

/** Masks secrets in the lines on their way to a destination. Every line of the log passes here. */
class SecretMask implements LogDestination {
  #secrets: readonly string[] = []
  #pattern: RegExp | null = null
  readonly #destination: LogDestination & { flushSync?(): void }

  constructor(secrets: readonly string[], destination: LogDestination) {
    this.#destination = destination
    this.add(secrets)
  }

  add(secrets: readonly string[]): void {
    const all = [...new Set([...secrets, ...this.#secrets])].slice(0, maxSecrets)
    if (all.length === 0) return
    // The longest first: a secret may be part of another. Lines are JSON, so a secret is looked for as JSON writes it.
    const alternatives = all
      .toSorted((one, other) => other.length - one.length)
      .map((secret) => escapePattern(JSON.stringify(secret).slice(1, -1)))
    this.#secrets = all
    this.#pattern = new RegExp(alternatives.join('|'), 'g')
  }

  write(lines: string): void {
    this.#destination.write(this.#pattern === null ? lines : lines.replace(this.#pattern, '…'))
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
  systemClock.every(flushEveryMs, () => log.flush()).unref()
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
    const until = systemClock.monotonicMs() + drainTimeoutMs
    while (this.#pending.length > 0 && systemClock.monotonicMs() < until) {
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
    const retry = (): void => {
      this.#retryScheduled = false
      this.#drain()
    }
    systemClock.after(retryMs, retry).unref()
  }

  #writeSome(bytes: Buffer): number {
    const writtenBytes = this.#writeBytes(bytes)
    if (writtenBytes > 0) this.#isAtLineStart = bytes[writtenBytes - 1] === newline
    return writtenBytes
  }

  /** Starts a new line, also after half of one. */
  #formatLossNotice(): Buffer {
    const notice = {
      level: 'warn',
      time: new Date(systemClock.now()).toISOString(),
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

/** Whether lines of this level may hold the words of upstreams and libraries, which may quote a prompt. */
export function logsWords(level: string): boolean {
  return (pino.levels.values[level] ?? Infinity) <= (pino.levels.values['debug'] ?? 0)
}

/** An error's name, message, stack and causes; no other properties. */
function toFullError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) }
  return {
    name: error.name,
    message: error.message,
    stack: error.stack,
    ...(error.cause === undefined ? {} : { cause: toFullError(error.cause) }),
  }
}

/** The same without what a message quotes. */
function toSafeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: `a ${typeof error} that is no error` }
  const { code } = error as { readonly code?: unknown }
  return {
    name: error.name,
    ...(typeof code === 'string' && errorCode.test(code) ? { code } : {}),
    message: removeQuotes(error),
    stack: getStackFrames(error),
    ...(error.cause === undefined ? {} : { cause: toSafeError(error.cause) }),
  }
}

/** The calls of a stack, which begins with the message. */
function getStackFrames({ stack = '', message }: Error): string {
  const at = stack.indexOf(message)
  const frames = at === -1 ? [] : stack.slice(at + message.length).split('\n')
  return frames.filter((line) => line.startsWith('    at ')).join('\n')
}

const errorCode = /^[A-Z][A-Z0-9_]{1,60}$/

/**
 * The message without the text from its first quote to its last. Those of the system quote files and hosts alone, and operators need them;
 * `UpstreamFailure` holds no text of the upstream; a message to a member may, and its code identifies it.
 */
function removeQuotes(error: Error): string {
  if (error instanceof GatewayError) return error.code
  if (error instanceof UpstreamFailure || ('errno' in error && 'syscall' in error)) return error.message
  const message = error.message.slice(0, maxMessageLength)
  const from = message.search(openingQuote)
  const to = Math.max(...closingQuotes.map((quote) => message.lastIndexOf(quote)))
  const unquotedMessage = from === -1 ? message : `${message.slice(0, from)}…${to > from ? message.slice(to + 1) : ''}`
  return unquotedMessage.replaceAll(emailAddress, '…')
}

/** An apostrophe within a word opens none. */
const openingQuote = /["“`<{[]|(?<!\w)'/
const closingQuotes = ['"', '”', '`', '>', '}', ']', "'"] as const
const emailAddress = /\S{1,100}@\S{1,100}/g
const maxMessageLength = 500
