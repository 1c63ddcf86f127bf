/** Takes a test's place for what tests start: ends it when the program is over, however that comes. */
import type { Scope } from '../../test/support/scope.ts'

export class ProgramScope implements Scope {
  readonly #ends: (() => unknown)[] = []

  teardown(end: () => unknown): void {
    this.#ends.unshift(end)
  }

  plan(_count: 0, reason: string): never {
    throw new Error(reason)
  }

  fail(reason: string): never {
    throw new Error(reason)
  }

  async end(): Promise<void> {
    for (let end = this.#ends.shift(); end !== undefined; end = this.#ends.shift()) await end()
  }
}
