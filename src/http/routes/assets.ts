/** `GET /assets/{hash}/{name}`: the site's files, cacheable for good because their address changes with their content. */
import type { Router } from '../router.ts'
import type { Context } from 'koa'
import { GatewayError } from '../../errors.ts'
import type { Asset, Assets } from '../../pages/assets.ts'

export function assetRoutes(router: Router, assets: Assets): void {
  router.get('/assets/:hash/:name', (ctx) => {
    const asset = assets.files.get(ctx.params['name'] ?? '')
    if (asset === undefined) throw new GatewayError('not_found')
    // During an update an older page asks this process for the hash of another: it gets today's file, for this once.
    const current = ctx.params['hash'] === assets.hash
    ctx.set('cache-control', current ? 'public, max-age=31536000, immutable' : 'no-store')
    send(ctx, asset)
  })
  // Browsers ask here unbidden.
  router.get('/favicon.ico', (ctx) => {
    const icon = assets.files.get('icon.svg')
    if (icon === undefined) throw new GatewayError('not_found')
    ctx.set('cache-control', 'public, max-age=86400')
    send(ctx, icon)
  })
}

function send(ctx: Context, asset: Asset): void {
  ctx.type = asset.type
  ctx.vary('accept-encoding')
  const encoding = ctx.acceptsEncodings('br', 'gzip', 'identity')
  if (encoding === 'br' || encoding === 'gzip') ctx.set('content-encoding', encoding)
  ctx.body = encoding === 'br' ? asset.br() : encoding === 'gzip' ? asset.gzip() : asset.plain()
}
