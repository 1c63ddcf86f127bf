/** Creates the Koa application: CORS, the entry middleware, the API's routes, then the website. */
import type { Middleware } from 'koa'
import { Router } from '../system/vendor/koa-router.ts'
import { Application } from './application.ts'
import { createConsoleGate } from './auth/console-gate.ts'
import { cors } from './request/cors.ts'
import { createEntryMiddleware } from './entry-middleware.ts'
import type { RouteDeps } from './route-deps.ts'
import { mountChatRoutes } from './routes/models/chat.ts'
import { mountDiagnosticRoutes } from './routes/diagnostics.ts'
import { mountEmbeddingRoute } from './routes/models/embeddings.ts'
import { mountGeminiRoutes } from './routes/models/gemini.ts'
import { mountImageRoutes } from './routes/models/images.ts'
import { mountMcpRoutes } from './routes/mcp.ts'
import { mountModelRoutes } from './routes/models/models.ts'
import { mountUsageRoutes } from './routes/usage.ts'
import { mountNoticeRoute } from './routes/notices.ts'
import { mountOperationRoutes } from './routes/operations.ts'
import { mountTokenCountRoute } from './routes/models/token-count.ts'
import { createCommonHeaders } from './response/page-headers.ts'

export function createApp(deps: RouteDeps): Application {
  const app = new Application(createCommonHeaders(deps.services), deps.services.bodyDiscarder)
  app.slowReaderMs = deps.services.config.timeouts.slowReaderMs
  // The entry middleware renders every failure. Koa's own printing would write stack traces to stderr, past the log.
  app.silent = true
  // Two routers, the API's first: a router tries its routes one by one, and a turn must not try the website's.
  // Paths are case-sensitive and strict, so that `/METRICS` cannot bypass a rule written for `/metrics`.
  const api = new Router({ strict: true, sensitive: true })
  mountChatRoutes(api, deps)
  mountGeminiRoutes(api, deps)
  mountTokenCountRoute(api, deps)
  mountModelRoutes(api, deps)
  mountUsageRoutes(api, deps)
  mountMcpRoutes(api, deps)
  mountImageRoutes(api, deps)
  mountEmbeddingRoute(api, deps)
  mountNoticeRoute(api, deps.services)
  mountOperationRoutes(api, deps)
  mountDiagnosticRoutes(api, deps)
  const gate = createConsoleGate(deps.services)
  const website = lazy(async () => (await import('./website.ts')).createWebsite(deps, api, gate, 'members'))
  // CORS stands before the entry middleware, so that a web page can read its refusals too. A preflight is not counted as a request.
  app.use(cors(deps.services))
  app.use(createEntryMiddleware(deps.services))
  if (gate.services !== null) {
    const ownDeps = { ...deps, services: gate.services }
    const consoleSite = lazy(async () => (await import('./website.ts')).createWebsite(ownDeps, new Router(), gate, 'console'))
    app.use(async (ctx, next) => (gate.isConsoleHost(ctx) ? (await consoleSite())(ctx, next) : next()))
  }
  app.use(createRouteTable(api))
  app.use(async (ctx, next) => (await website())(ctx, next))
  return app
}

/** Looks routes without a parameter up in a map, so that a turn's path is not matched against any expression. The router handles the rest. */
function createRouteTable(router: Router): Middleware {
  const staticRoutes = router.stack.filter(({ paramNames }) => paramNames.length === 0)
  const handlers = new Map(
    staticRoutes.flatMap(({ path, methods, stack: [handler] }) =>
      methods.map((method) => [`${method} ${String(path)}`, handler as Middleware]),
    ),
  )
  const route = router.routes() as Middleware
  return (ctx, next) => (handlers.get(`${ctx.method} ${ctx.path}`) ?? route)(ctx, next)
}

/** Loads the website at its first request: starting and serving turns do not need it, and it is a fifth of the code they would load. */
function lazy(load: () => Promise<Middleware>): () => Promise<Middleware> {
  let loadingMiddleware: Promise<Middleware> | undefined
  return () => {
    loadingMiddleware ??= load().catch((error: unknown) => {
      // The load fails when the process has no file descriptor left; the next request tries again.
      loadingMiddleware = undefined
      throw error
    })
    return loadingMiddleware
  }
}
