/**
 * Says whose an error is that nobody has caught: the test's in whose course it was thrown. It stands in for the runner's own
 * `async-hook-domain`, which has JavaScript called at the beginning and the end of every promise there is; what Node keeps for
 * AsyncLocalStorage tells the same at no price.
 */
import { AsyncLocalStorage, AsyncResource, executionAsyncResource } from 'node:async_hooks'

type Told = (error: unknown, by: string) => void

const inCourse = new AsyncLocalStorage<Domain>()

/** Made by the runner for each test, in the scope of the test's own AsyncResource, and once outside of all. */
export class Domain {
  /** Whose it is what is thrown outside of every test: the runner's root. */
  static #outermost: Domain | undefined
  readonly #parent: Domain | undefined
  readonly #told: Told
  #isOver = false

  constructor(told: Told) {
    this.#told = told
    this.#parent = inCourse.getStore() ?? Domain.#outermost
    const test = executionAsyncResource()
    if (!(test instanceof AsyncResource)) {
      Domain.#outermost = this
      return
    }
    // The runner calls through this whatever a test consists of; what that begins is in the test's course.
    const enter = test.runInAsyncScope.bind(test)
    test.runInAsyncScope = (body, self, ...words) =>
      enter(() => inCourse.run(this, Reflect.apply(body.bind, body, [self]), ...words))
  }

  onerror(error: unknown, by: string): void {
    this.#told(error, by)
  }

  destroy(): void {
    this.#isOver = true
  }

  /** To the innermost that is not over: what comes when a test has ended is its parent's, as is what it throws when it is told. */
  static tell(error: unknown, by: string, domain = inCourse.getStore() ?? Domain.#outermost): void {
    if (domain === undefined) throw error
    try {
      if (!domain.#isOver) return domain.onerror(error, by)
    } catch (again) {
      domain.destroy()
      return Domain.#tellAbove(domain, again, by)
    }
    Domain.#tellAbove(domain, error, by)
  }

  static #tellAbove(domain: Domain, error: unknown, by: string): void {
    if (domain === Domain.#outermost) throw error
    Domain.tell(error, by, domain.#parent ?? Domain.#outermost)
  }
}

for (const event of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(event, (error: unknown) => Domain.tell(error, event))
