/** The Koa application: the door, then one table of routes. */
import Koa from 'koa'
import { Router } from '@koa/router'
import { cors } from './cors.ts'
import { door } from './door.ts'
import type { RouteParts } from './route-parts.ts'
import { chatRoutes } from './routes/chat.ts'
import { connectRoutes } from './routes/connect.ts'
import { imageRoutes } from './routes/images.ts'
import { mcpRoutes } from './routes/mcp.ts'
import { membershipRoutes } from './routes/membership/routes.ts'
import { modelRoutes } from './routes/models.ts'
import { operationRoutes } from './routes/operations.ts'
import { loadAssets } from '../pages/assets.ts'
import { commonHeaders } from './page-headers.ts'
import { serveOn } from './serve.ts'
import { refuseUnknown } from './unknown.ts'
import { assetRoutes } from './routes/assets.ts'
import { missingPage, pageRoutes } from './routes/pages.ts'

export function createApp(parts: RouteParts): Koa {
  const app = new Koa()
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
  const site = new Router({ strict: true, sensitive: true })
  const assets = loadAssets()
  membershipRoutes(serveOn(site, parts.services), parts.services)
  connectRoutes(site, parts, assets)
  assetRoutes(site, assets)
  pageRoutes(site, parts, assets)
  app.use(commonHeaders(parts.services))
  // Before the door, so that a page can read the door's refusals too; a question about permission is no request yet and is not counted.
  app.use(cors(parts.services))
  app.use(door(parts.services))
  app.use(api.routes())
  app.use(site.routes())
  app.use(missingPage(parts, assets))
  app.use(refuseUnknown([...api.stack, ...site.stack], parts.services))
  return app
}
