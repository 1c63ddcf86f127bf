/** The Koa application: the door, then one table of routes. */
import type { Middleware } from 'koa'
import { Router } from './router.ts'
import { Application } from './application.ts'
import { cors } from './cors.ts'
import { door } from './door.ts'
import type { RouteParts } from './route-parts.ts'
import { chatRoutes } from './routes/chat.ts'
import { imageRoutes } from './routes/images.ts'
import { mcpRoutes } from './routes/mcp.ts'
import { modelRoutes } from './routes/models.ts'
import { operationRoutes } from './routes/operations.ts'
import { commonHeaders } from './page-headers.ts'

export function createApp(parts: RouteParts): Application {
  const app = new Application(commonHeaders(parts.services))
  // The door answers every failure; Koa's own printing would put stack traces where only the log belongs.
  app.silent = true
  // Two tables, the API's first: a router tries its routes one by one, and a turn must not try the website's.
  // A path is one spelling: `/METRICS` is no other name of what its rules know as `/metrics`.
  const api = new Router({ strict: true, sensitive: true })
  chatRoutes(api, parts)
  modelRoutes(api, parts)
  mcpRoutes(api, parts)
  imageRoutes(api, parts)
  operationRoutes(api, parts)
  const website = loadedOnce(async () => (await import('./website.ts')).createWebsite(parts, api))
  // Before the door, so that a page can read the door's refusals too; a question about permission is no request yet and is not counted.
  app.use(cors(parts.services))
  app.use(door(parts.services))
  app.use(found(api))
  app.use(async (ctx, next) => (await website())(ctx, next))
  return app
}

/** Routes without a parameter are looked up: a turn waits for no expression to be tried on its path. The rest is the router's. */
function found(router: Router): Middleware {
  const plain = router.stack.filter(({ paramNames }) => paramNames.length === 0)
  const handlers = new Map(
    plain.flatMap(({ path, methods, stack: [handler] }) =>
      methods.map((method) => [`${method} ${String(path)}`, handler as Middleware]),
    ),
  )
  const route = router.routes() as Middleware
  return (ctx, next) => (handlers.get(`${ctx.method} ${ctx.path}`) ?? route)(ctx, next)
}

/** Loaded when it is first asked for: a start and a turn need nothing of it, and it is a fifth of what they would load. */
function loadedOnce(load: () => Promise<Middleware>): () => Promise<Middleware> {
  let loaded: Promise<Middleware> | undefined
  return () => {
    loaded ??= load().catch((error: unknown) => {
      // Without a descriptor to spare it could not be read just now.
      loaded = undefined
      throw error
    })
    return loaded
  }
}
