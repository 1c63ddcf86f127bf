/** `GET /v1/models` and `GET /v1/models/{id}`: the products that the caller's plan has. */
import type { Router } from '@koa/router'
import { GatewayError } from '../../errors.ts'
import type { Answer, Exchange, Slots } from '../../exchange/exchange.ts'
import { nothingUsed } from '../../exchange/exchange.ts'
import type { Product } from '../../membership/product.ts'
import { effectivePrice } from '../../config/products.ts'
import type { Services } from '../../gateway/services.ts'
import type { House } from '../house.ts'
import { takeOver } from '../client.ts'
import { exchangeOf } from '../door.ts'

/** When this catalogue of products was published (Unix seconds); a fixed date, so that lists compare equal. */
const catalogueDate = 1_767_225_600

export function modelRoutes(router: Router, { services, chain }: House): void {
  router.get('/v1/models', async (ctx) => {
    const list = async (x: Exchange & Partial<Slots>): Promise<Answer> =>
      document({ object: 'list', data: available(x, services).map((product) => toItem(product, services)) })
    await chain.run(exchangeOf(ctx, 'query', services), list, takeOver(ctx), services)
  })
  router.get('/v1/models/:id', async (ctx) => {
    const item = async (x: Exchange & Partial<Slots>): Promise<Answer> => {
      const product = available(x, services).find(({ id }) => id === ctx.params['id'])
      if (product === undefined) throw unknownModel(available(x, services))
      return document(toItem(product, services))
    }
    await chain.run(exchangeOf(ctx, 'query', services), item, takeOver(ctx), services)
  })
}

function available({ caller }: Partial<Slots>, { products, clock }: Services): readonly Product[] {
  // Only a chain without `auth` has no caller; then every product is on the list.
  return caller === undefined ? products.all : products.availableTo(caller.plan, clock.now())
}

function toItem(product: Product, { names, config }: Services): Record<string, unknown> {
  const { input, output, discountPercent, effectiveInput, effectiveOutput } = effectivePrice(config, product.tier)
  return {
    id: product.id,
    object: 'model',
    created: catalogueDate,
    owned_by: names.slug,
    name: product.name,
    tier: product.tier,
    capabilities: product.capabilities,
    context_length: product.contextLength,
    max_output_tokens: product.maxOutputTokens,
    pricing: {
      input,
      output,
      discount_percent: discountPercent,
      effective_input: effectiveInput,
      effective_output: effectiveOutput,
      currency: 'USD',
      per: 1_000_000,
    },
    shutdown_date: product.shutdownDate,
  }
}

function unknownModel(products: readonly Product[]): GatewayError {
  const ids = products.map(({ id }) => id).join(', ')
  return new GatewayError('not_found', {
    param: 'model',
    message: { en: `No such model. Available ids: ${ids}.`, zh: `没有该模型。可用模型:${ids}。` },
  })
}

function document(body: unknown): Answer {
  return {
    usage: nothingUsed,
    last: {
      kind: 'reply',
      reply: {
        status: 200,
        headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'private, no-store' },
        body: JSON.stringify(body),
      },
    },
  }
}
