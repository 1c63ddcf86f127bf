/** The website and membership API: sign-in, account, OAuth, pages, assets, and the answers to unknown paths. */
import { Router } from '../system/vendor/koa-router.ts'
import type { Middleware } from 'koa'
import { GatewayError } from '../errors.ts'
import { loadAssets } from '../pages/assets.ts'
import { consolePath } from '../pages/views/operator/sections.ts'
import type { RouteDeps } from './route-deps.ts'
import { mountAssetRoutes } from './routes/assets.ts'
import { mountOAuthRoutes } from './routes/oauth.ts'
import { mountMembershipRoutes } from './routes/membership/routes.ts'
import { mountPaymentRoutes } from './routes/payments.ts'
import { createNotFoundPage, mountPageRoutes } from './routes/pages.ts'
import { mountSiteFileRoutes } from './routes/site-files.ts'
import { mountConsoleLiveRoute } from './routes/console-live.ts'
import { mountOperatorApi } from './routes/operator/routes.ts'
import { mountTurnsExportRoute } from './routes/turns-export.ts'
import { createServeEndpoint } from './endpoint-handler.ts'
import { compressResponses } from './response/compress-response.ts'
import { isFrontPage } from './auth/console-gate.ts'
import type { ConsoleGate } from './auth/console-gate.ts'
import { createNotFoundHandler } from './not-found.ts'

/** Creates the middleware for requests that no route of `api` matches: of the members' origin, or of the console's own. */
export function createWebsite(deps: RouteDeps, api: Router, gate: ConsoleGate, kind: 'members' | 'console'): Middleware {
  const site = new Router({ strict: true, sensitive: true })
  const assets = loadAssets()
  mountMembershipRoutes(createServeEndpoint(site, deps.services), deps.services)
  const openConsent = mountOAuthRoutes(site, deps, assets)
  mountAssetRoutes(site, assets)
  mountPaymentRoutes(site, deps.services)
  mountSiteFileRoutes(site, deps.services)
  mountPageRoutes(site, { services: deps.services, assets, openConsent, operations: deps.operations })
  mountConsoleLiveRoute(site, deps, assets)
  mountTurnsExportRoute(site, deps.services)
  mountOperatorApi(site, deps)
  // The router itself adds the fields that its routes use on the context.
  const route = site.routes() as Middleware
  const notFoundPage = createNotFoundPage(deps, assets)
  const notFound = createNotFoundHandler([...api.stack, ...site.stack], deps.services)
  const compress = compressResponses()
  return (ctx, next) =>
    compress(ctx, async () => {
      if (gate.isHidden(ctx, kind)) return notFoundPage(ctx, refuseHidden)
      if (kind === 'console' && isFrontPage(ctx)) return ctx.redirect(consolePath)
      await route(ctx, async () => notFoundPage(ctx, async () => notFound(ctx, next)))
    })
}

/** As a path that does not exist, whatever the method. */
async function refuseHidden(): Promise<never> {
  throw new GatewayError('not_found')
}
