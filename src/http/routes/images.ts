/**
 * `POST /v1/images/generations`: a picture as OpenAI's clients ask for one, over the product that paints in chat.
 * `GET /v1/images/{id}.{ext}`: a painted image, for whoever holds a link that was signed for it and has not expired.
 */
import type { Router } from '../router.ts'
import { createImage, showImage } from '../../api/images.ts'
import { GatewayError } from '../../errors.ts'
import { asking } from '../../exchange/asking.ts'
import { parsePictureRequest } from '../../tools/images/picture-request.ts'
import { contentTypes, endings } from '../../tools/images/sniff.ts'
import { readJson } from '../body.ts'
import { takeOver } from '../client.ts'
import { exchangeOf } from '../door.ts'
import type { RouteParts } from '../route-parts.ts'
import { mount, paramsOf } from '../serve.ts'

export function imageRoutes(router: Router, { services, chain, calls }: RouteParts): void {
  mount(router, createImage, async (ctx) => {
    const x = exchangeOf(ctx, 'turn', services)
    const chat = async () => parsePictureRequest(await readJson(ctx.req, services.config.limits.otherBodyBytes), services)
    await chain.run({ ...x, inbound: asking(x.inbound, chat) }, calls.pictures, takeOver(ctx), services)
  })

  mount(router, showImage, async (ctx) => {
    const { hash = '', ending = '' } = paramsOf(ctx)
    const { exp, sig } = ctx.query
    calls.painter.checkLink(`${hash}.${ending}`, { exp, sig })
    const found = await services.images.open(hash)
    if (found === null) throw new GatewayError('not_found')
    const { image, stream } = found
    if (endings[image.kind] !== ending) {
      stream.destroy()
      throw new GatewayError('not_found')
    }
    ctx.set({
      'content-type': contentTypes[image.kind],
      'content-length': String(image.bytes),
      // The bytes behind a name never change; how long it may be shown is what the link says.
      'cache-control': `private, max-age=${maxAge(Number(exp), services.clock.now())}, immutable`,
      etag: `"${image.hash}"`,
      // Whatever the bytes are taken for, they stay a picture and can load or run nothing.
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'content-disposition': 'inline',
      'cross-origin-resource-policy': 'cross-origin',
    })
    ctx.status = 200
    if (ctx.fresh) {
      stream.destroy()
      ctx.status = 304
      return
    }
    ctx.body = stream
    ctx.type = contentTypes[image.kind]
    ctx.length = image.bytes
  })
}

const longestAge = 86_400

function maxAge(exp: number, now: number): number {
  return Math.max(0, Math.min(longestAge, Math.floor(exp - now / 1000)))
}
