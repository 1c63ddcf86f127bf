/** The log: one JSON line an event, the request id in each; never a secret, never a word of a prompt. */
import { writeSync } from 'node:fs'
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
  const writing = new Writing((bytes) => writeSync(2, bytes))
  return gathering(
    (lines) => writing.write(lines),
    () => writing.settle(),
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

/** A reader that takes nothing just now: as much is kept for him. */
const keptBytes = 1_048_576
const settleMs = 1_000
const pauseMs = 10
const againMs = 100
const nothing = Buffer.alloc(0)
const lineEnd = 10

/**
 * Writes at once, since a round trip through the thread pool costs more than the write. What cannot be written (a full disk, a reader that
 * went away or stands still) is left out, and how much is told when there is room again: a log must neither hold up nor end what it tells of.
 */
export class Writing {
  /** Gives how many bytes were taken. Throws as the system does. */
  readonly #put: (bytes: Uint8Array) => number
  #waiting: Buffer = nothing
  #lost = 0
  #triesAgain = false
  /** The last line that was taken was taken whole. */
  #isAtStart = true

  constructor(put: (bytes: Uint8Array) => number) {
    this.#put = put
  }

  write(lines: string): void {
    const bytes = Buffer.from(lines)
    if (this.#waiting.length === 0 && this.#lost > 0 && this.#isTaken(this.#loss())) this.#lost = 0
    if (this.#lost > 0 || this.#waiting.length + bytes.length > keptBytes) this.#lost += bytes.length
    else this.#waiting = this.#waiting.length === 0 ? bytes : Buffer.concat([this.#waiting, bytes])
    this.#drain()
  }

  /** Waits a little for a reader who takes nothing just now: after this there may be no other time. */
  settle(): void {
    const until = performance.now() + settleMs
    while (this.#waiting.length > 0 && performance.now() < until) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs)
      this.#drain()
    }
  }

  #drain(): void {
    try {
      while (this.#waiting.length > 0) this.#waiting = this.#waiting.subarray(this.#take(this.#waiting))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return this.#tryAgain()
      this.#lost += this.#waiting.length
      this.#waiting = nothing
    }
  }

  #tryAgain(): void {
    if (this.#triesAgain) return
    this.#triesAgain = true
    setTimeout(() => {
      this.#triesAgain = false
      this.#drain()
    }, againMs).unref()
  }

  #take(bytes: Buffer): number {
    const taken = this.#put(bytes)
    if (taken > 0) this.#isAtStart = bytes[taken - 1] === lineEnd
    return taken
  }

  /** Begins a line of its own, also behind half of one. */
  #loss(): Buffer {
    const told = { level: 'warn', time: new Date().toISOString(), msg: `${this.#lost} bytes of the log could not be written` }
    return Buffer.from(`${this.#isAtStart ? '' : '\n'}${JSON.stringify(told)}\n`)
  }

  #isTaken(line: Buffer): boolean {
    try {
      return this.#take(line) === line.length
    } catch {
      return false
    }
  }
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

  /** The logger asks for it after a line that is fatal. */
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
