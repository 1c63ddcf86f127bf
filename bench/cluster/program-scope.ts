/** Replaces a test as the scope of the test helpers: ends their programs when this program ends, in any way. */
import type { TestScope } from '../../test/support/test-scope.ts'

export class ProgramScope implements TestScope {
  readonly #cleanups: (() => unknown)[] = []

  teardown(end: () => unknown): void {
    this.#cleanups.unshift(end)
  }

  plan(_count: 0, reason: string): never {
    throw new Error(reason)
  }

  fail(reason: string): never {
    throw new Error(reason)
  }

  async close(): Promise<void> {
    for (let end = this.#cleanups.shift(); end !== undefined; end = this.#cleanups.shift()) await end()
  }
}
