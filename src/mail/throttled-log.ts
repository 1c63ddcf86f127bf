/**
 * Writes the first line of its kind at once and at most one a minute after that, with the number of events since the last one. A mail
 * server that is away, a stranger with a list of addresses, or a full disk causes hundreds of the same event.
 */
import type { Logger } from 'pino'

const intervalMs = 60_000

interface LineState {
  writtenMs: number
  count: number
}

export class ThrottledLog {
  readonly #log: Pick<Logger, 'warn' | 'error'>
  readonly #clock: { monotonicMs(): number }
  readonly #countField: string
  /** By level and message, which are few. */
  readonly #lines = new Map<string, LineState>()

  /** @param countField the field with the number of events */
  constructor(log: Pick<Logger, 'warn' | 'error'>, clock: { monotonicMs(): number }, countField = 'emails') {
    this.#log = log
    this.#clock = clock
    this.#countField = countField
  }

  write(level: 'warn' | 'error', fields: Readonly<Record<string, unknown>>, message: string, count = 1): void {
    const key = `${level} ${message}`
    const now = this.#clock.monotonicMs()
    const line = this.#lines.get(key) ?? { writtenMs: -Infinity, count: 0 }
    this.#lines.set(key, line)
    line.count += count
    if (now - line.writtenMs < intervalMs) return
    this.#log[level]({ ...fields, [this.#countField]: line.count }, message)
    line.writtenMs = now
    line.count = 0
  }
}
