/**
 * `POST /v1/images/generations`: the OpenAI image API over the product that generates images in chat.
 * `GET /v1/images/{hash}.{extension}`: a generated image, for holders of a signed link that has not expired.
 */
import type { Router } from '../../../system/vendor/koa-router.ts'
import { createImage, showImage } from '../../../api/models/images.ts'
import { GatewayError } from '../../../errors.ts'
import { createInboundWithChat } from '../../../exchange/inbound-with-chat.ts'
import { parseImageRequest } from '../../../tools/images/image-request.ts'
import { contentTypes, fileExtensions } from '../../../images/sniff.ts'
import { readJson } from '../../request/read-body.ts'
import { bypassKoa } from '../../response/response-writer.ts'
import { getExchange } from '../../request-context.ts'
import type { RouteDeps } from '../../route-deps.ts'
import { mount, getPathParams, toBodyReadOptions, toMemberOwner } from '../../endpoint-handler.ts'

export function mountImageRoutes(router: Router, { services, chain, turnHandlers }: RouteDeps): void {
  mount(router, createImage, async (ctx) => {
    const x = getExchange(ctx, 'turn', services)
    const chat = async (member?: string) => {
      const options = { ...toBodyReadOptions(ctx, services), owner: toMemberOwner(ctx, member) }
      return parseImageRequest(await readJson(ctx.req, options), services)
    }
    await chain.run({ ...x, inbound: createInboundWithChat(x.inbound, chat) }, turnHandlers.images, bypassKoa(ctx), services)
  })

  mount(router, showImage, async (ctx) => {
    const { hash = '', extension = '' } = getPathParams(ctx)
    const { exp, sig } = ctx.query
    turnHandlers.imageGenerator.verifyLink(`${hash}.${extension}`, { exp, sig })
    const openedImage = await services.images.open(hash)
    if (openedImage === null) throw new GatewayError('not_found')
    const { image, stream } = openedImage
    if (fileExtensions[image.kind] !== extension) {
      stream.destroy()
      throw new GatewayError('not_found')
    }
    ctx.set({
      'content-type': contentTypes[image.kind],
      'content-length': String(image.bytes),
      // The bytes behind a name never change; the link's expiry limits how long they may be shown.
      'cache-control': `private, max-age=${computeMaxAge(Number(exp), services.clock.now())}, immutable`,
      etag: `"${image.hash}"`,
      // Prevents that a browser interprets the bytes as anything but an image.
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

const maxAgeSeconds = 86_400

function computeMaxAge(exp: number, now: number): number {
  return Math.max(0, Math.min(maxAgeSeconds, Math.floor(exp - now / 1000)))
}
