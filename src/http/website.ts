/** All that is no turn: where members sign in, what they look after, the pages, and what is told about paths that nobody offers. */
import { Router } from './router.ts'
import type { Middleware } from 'koa'
import { loadAssets } from '../pages/assets.ts'
import type { RouteParts } from './route-parts.ts'
import { assetRoutes } from './routes/assets.ts'
import { connectRoutes } from './routes/connect.ts'
import { membershipRoutes } from './routes/membership/routes.ts'
import { missingPage, pageRoutes } from './routes/pages.ts'
import { serveOn } from './serve.ts'
import { refuseUnknown } from './unknown.ts'

/** What a request falls to that none of the `api`'s routes took. */
export function createWebsite(parts: RouteParts, api: Router): Middleware {
  const site = new Router({ strict: true, sensitive: true })
  const assets = loadAssets()
  membershipRoutes(serveOn(site, parts.services), parts.services)
  connectRoutes(site, parts, assets)
  assetRoutes(site, assets)
  pageRoutes(site, parts, assets)
  // What its routes find on the context besides, the router puts there itself.
  const take = site.routes() as Middleware
  const missing = missingPage(parts, assets)
  const refuse = refuseUnknown([...api.stack, ...site.stack], parts.services)
  return (ctx, next) => take(ctx, async () => missing(ctx, async () => refuse(ctx, next)))
}
