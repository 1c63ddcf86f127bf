/** Koa, but for its watch over responses that are none of its own any more, and with headers that every answer has. */
import Koa from 'koa'
import type { Context } from 'koa'

type Steps = (ctx: Context) => Promise<unknown>

/** Koa's own way with a request, which its types leave out. */
const koa = Koa.prototype as unknown as { handleRequest(this: Koa, ctx: Context, steps: Steps): Promise<void> }

export class Application extends Koa {
  readonly #everywhere: () => Readonly<Record<string, string>>

  /** Headers that every answer has, whoever writes it; asked for once a request. */
  constructor(everywhere: () => Readonly<Record<string, string>> = () => ({})) {
    super()
    this.#everywhere = everywhere
  }

  get everywhere(): Readonly<Record<string, string>> {
    return this.#everywhere()
  }

  /**
   * Koa listens on each response and its socket for an end that went wrong, six listeners a request, before it knows whether the answer
   * will be its own. Whoever takes a response over (`client.ts`) listens himself; so the steps go first, and Koa gets what is left to it.
   */
  async handleRequest(ctx: Context, steps: Steps): Promise<void> {
    const { res } = ctx
    res.statusCode = 404
    let thrown: unknown
    try {
      await steps(ctx)
      if (ctx.respond === false) return
    } catch (error) {
      thrown = error
    }
    // Last, because a response with a header on it takes Node's slow way with all that are given with its head.
    if (!res.headersSent)
      for (const [name, value] of Object.entries(this.everywhere)) if (!res.hasHeader(name)) res.setHeader(name, value)
    const { statusCode } = res
    await koa.handleRequest.call(this, ctx, async () => {
      if (thrown !== undefined) throw thrown
      res.statusCode = statusCode
    })
  }
}
