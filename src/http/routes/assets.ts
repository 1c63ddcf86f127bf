/** `GET /assets/{hash}/{name}`: the site's files, cacheable forever because their path changes with their content. */
import type { Router } from '../../system/vendor/koa-router.ts'
import type { Context } from 'koa'
import { GatewayError } from '../../errors.ts'
import { chooseEncoding } from '../response/choose-encoding.ts'
import type { Asset, Assets } from '../../pages/assets.ts'

export function mountAssetRoutes(router: Router, assets: Assets): void {
  router.get('/assets/:hash/:name', (ctx) => {
    const asset = assets.files.get(ctx.params['name'] ?? '')
    if (asset === undefined) throw new GatewayError('not_found')
    // During an update an older page requests this process with another version's hash: it gets the current file, uncached.
    const current = ctx.params['hash'] === assets.hash
    ctx.set('cache-control', current ? 'public, max-age=31536000, immutable' : 'no-store')
    sendAsset(ctx, asset)
  })
  // Browsers request these paths by default. They are PNG, because Safari before 26 and home screens show no SVG.
  for (const [path, name] of Object.entries({ '/favicon.ico': 'icon-48.png', '/apple-touch-icon.png': 'icon-180.png' }))
    router.get(path, (ctx) => {
      const icon = assets.files.get(name)
      if (icon === undefined) throw new GatewayError('not_found')
      ctx.set('cache-control', 'public, max-age=86400')
      sendAsset(ctx, icon)
    })
}

function sendAsset(ctx: Context, asset: Asset): void {
  ctx.type = asset.type
  ctx.vary('accept-encoding')
  const encoding = asset.type === 'image/png' || asset.type === 'font/woff2' ? null : chooseEncoding(ctx)
  if (encoding !== null) ctx.set('content-encoding', encoding)
  ctx.body = encoding === 'br' ? asset.br() : encoding === 'gzip' ? asset.gzip() : asset.identity()
}
