/**
 * Attributes an uncaught error to the test during which it was thrown. It replaces the runner's `async-hook-domain`, which calls JavaScript
 * at the beginning and the end of every promise; Node's AsyncLocalStorage gives the same information at no cost.
 */
import { AsyncLocalStorage, AsyncResource, executionAsyncResource } from 'node:async_hooks'

type ErrorHandler = (error: unknown, by: string) => void

const currentDomain = new AsyncLocalStorage<Domain>()

/** Created by the runner for each test, in the scope of the test's own AsyncResource, and once outside of all tests. */
export class Domain {
  /** Receives errors that are thrown outside of every test: the runner's root. */
  static #root: Domain | undefined
  readonly #parent: Domain | undefined
  readonly #handler: ErrorHandler
  #isDestroyed = false

  constructor(handler: ErrorHandler) {
    this.#handler = handler
    this.#parent = currentDomain.getStore() ?? Domain.#root
    const test = executionAsyncResource()
    if (!(test instanceof AsyncResource)) {
      Domain.#root = this
      return
    }
    // The runner calls a test's functions through this; async work that they start belongs to the test.
    const enter = test.runInAsyncScope.bind(test)
    test.runInAsyncScope = (body, self, ...args) =>
      enter(() => currentDomain.run(this, Reflect.apply(body.bind, body, [self]), ...args))
  }

  onerror(error: unknown, by: string): void {
    this.#handler(error, by)
  }

  destroy(): void {
    this.#isDestroyed = true
  }

  /** Passes the error to the innermost open test: errors after a test's end, and errors of its handler, go to its parent. */
  static report(error: unknown, by: string, domain = currentDomain.getStore() ?? Domain.#root): void {
    if (domain === undefined) throw error
    try {
      if (!domain.#isDestroyed) return domain.onerror(error, by)
    } catch (handlerError) {
      domain.destroy()
      return Domain.#reportToParent(domain, handlerError, by)
    }
    Domain.#reportToParent(domain, error, by)
  }

  static #reportToParent(domain: Domain, error: unknown, by: string): void {
    if (domain === Domain.#root) throw error
    Domain.report(error, by, domain.#parent ?? Domain.#root)
  }
}

for (const event of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(event, (error: unknown) => Domain.report(error, event))
