/**
 * Hashing passwords costs tens of milliseconds and 19 MiB each, on threads that files and name look-ups need too. So only a few run at
 * once, a bounded number waits, and the rest is told to come back: a flood of sign-ins must not starve anything else.
 */
import { Busy } from './refusal.ts'
import { hashPassword, verifyPassword } from './password.ts'

export interface PasswordWorkOptions {
  /** Hashes computed at once. */
  readonly atOnce: number
  /** Hashes that may wait. */
  readonly waiting: number
}

/** About as long as a full queue takes. */
const comeBackMs = 3_000

export class PasswordWork {
  readonly #options: PasswordWorkOptions
  readonly #queue: (() => void)[] = []
  #running = 0
  /** Compared with where there is no account or no password, so that both take the same time. */
  #decoy: Promise<string> | undefined

  constructor(options: PasswordWorkOptions) {
    this.#options = options
  }

  /** @throws Busy */
  hash(password: string): Promise<string> {
    return this.#inTurn(() => hashPassword(password))
  }

  /** Against null it takes as long and says no. @throws Busy */
  async verify(password: string, phc: string | null): Promise<{ readonly ok: boolean; readonly rehash: boolean }> {
    const stored = phc ?? (await this.#decoyHash())
    const verdict = await this.#inTurn(() => verifyPassword(password, stored))
    return phc === null ? { ok: false, rehash: false } : verdict
  }

  /** Makes what unknown accounts are compared with, so that the first of them takes no longer than the second. */
  async warm(): Promise<void> {
    await this.#decoyHash()
  }

  #decoyHash(): Promise<string> {
    this.#decoy ??= hashPassword('nobody has this password')
    return this.#decoy
  }

  async #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#options.atOnce) {
      if (this.#queue.length >= this.#options.waiting) throw new Busy(comeBackMs)
      await new Promise<void>((resolve) => this.#queue.push(resolve))
    } else {
      this.#running += 1
    }
    try {
      return await work()
    } finally {
      // The place goes to the next in line, or is free.
      const next = this.#queue.shift()
      if (next === undefined) this.#running -= 1
      else next()
    }
  }
}
