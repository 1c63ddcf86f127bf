/** Koa without its listeners on responses that the application writes itself, and with headers common to every response. */
import Koa from 'koa'
import type { Context } from 'koa'
import { BodyDiscarder } from '../system/body-reads/body-discarder.ts'

type MiddlewareChain = (ctx: Context) => Promise<unknown>

/** Koa's request handling, which its types leave out. */
const koa = Koa.prototype as unknown as { handleRequest(this: Koa, ctx: Context, middleware: MiddlewareChain): Promise<void> }

export class Application extends Koa {
  readonly bodyDiscarder: BodyDiscarder
  /** A client that takes nothing of a whole answer for this long is disconnected; 0: it is not. */
  slowReaderMs = 0
  readonly #commonHeaders: () => Readonly<Record<string, string>>

  /** @param commonHeaders returns the headers of every response; called once a request */
  constructor(commonHeaders: () => Readonly<Record<string, string>> = () => ({}), bodyDiscarder = new BodyDiscarder()) {
    super()
    this.#commonHeaders = commonHeaders
    this.bodyDiscarder = bodyDiscarder
  }

  get commonHeaders(): Readonly<Record<string, string>> {
    return this.#commonHeaders()
  }

  /**
   * Koa adds six listeners to each response and its socket before it knows whether it will write that response. `ResponseWriter` has
   * listeners of its own, so the middleware runs first and Koa handles only what is left to it.
   */
  async handleRequest(ctx: Context, middleware: MiddlewareChain): Promise<void> {
    const { res } = ctx
    res.statusCode = 404
    let thrownError: unknown
    try {
      await middleware(ctx)
      if (ctx.respond === false) return
    } catch (error) {
      thrownError = error
    }
    // Last, because a response with a header already set takes Node's slow path for the headers given to `writeHead`.
    if (!res.headersSent)
      for (const [name, value] of Object.entries(this.commonHeaders)) if (!res.hasHeader(name)) res.setHeader(name, value)
    await new Promise<void>((resolve) => this.bodyDiscarder.respondAfterBody(ctx.req, res, resolve))
    const { statusCode } = res
    await koa.handleRequest.call(this, ctx, async () => {
      if (thrownError !== undefined) throw thrownError
      res.statusCode = statusCode
    })
  }
}
