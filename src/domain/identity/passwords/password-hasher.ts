/**
 * Limits concurrent password hashing. One hash costs tens of milliseconds and 19 MiB on threads that files and name look-ups need too. A few
 * hashes run at once, a bounded number waits, and further callers are refused, so that a flood of sign-ins starves nothing else.
 */
import { TooManyAttempts } from '../limits/attempt-limits.ts'
import { decoyHash, hashPassword, verifyPassword } from './password.ts'

interface PasswordHasherOptions {
  /** Hashes computed at once. */
  readonly maxConcurrent: number
  /** Hashes that may wait in the queue. */
  readonly maxPending: number
}

/** About the time a full queue takes. */
const retryAfterMs = 3_000

export class PasswordHasher {
  readonly #options: PasswordHasherOptions
  readonly #queue: (() => void)[] = []
  #running = 0

  constructor(options: PasswordHasherOptions) {
    this.#options = options
  }

  /** @throws TooManyAttempts */
  hash(password: string): Promise<string> {
    return this.#enqueue(() => hashPassword(password))
  }

  /** A null hash takes as long and returns false. @throws TooManyAttempts */
  async verify(password: string, phc: string | null): Promise<{ readonly ok: boolean; readonly rehash: boolean }> {
    const verdict = await this.#enqueue(() => verifyPassword(password, phc ?? decoyHash))
    return phc === null ? { ok: false, rehash: false } : verdict
  }

  async #enqueue<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#options.maxConcurrent) {
      if (this.#queue.length >= this.#options.maxPending) throw new TooManyAttempts(retryAfterMs)
      await new Promise<void>((resolve) => this.#queue.push(resolve))
    } else {
      this.#running += 1
    }
    try {
      return await work()
    } finally {
      // The slot goes to the next in the queue, or becomes free.
      const next = this.#queue.shift()
      if (next === undefined) this.#running -= 1
      else next()
    }
  }
}
