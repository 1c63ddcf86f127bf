/** `GET /v1/models` and `GET /v1/models/{id}`: the products that the caller's plan has. */
import type { Router } from '../router.ts'
import type { AnswerOf } from '../../api/endpoint.ts'
import { listModels, showModel } from '../../api/models.ts'
import { GatewayError } from '../../errors.ts'
import type { Answer, Exchange, Slots } from '../../exchange/exchange.ts'
import type { Product } from '../../membership/product.ts'
import type { Services } from '../../gateway/services.ts'
import type { RouteParts } from '../route-parts.ts'
import { takeOver } from '../client.ts'
import { exchangeOf } from '../door.ts'
import { mount, paramsOf } from '../serve.ts'
import { documentAnswer } from './document-answer.ts'
import { toPrice } from './price.ts'

/** When this catalogue of products was published (Unix seconds); a fixed date, so that lists compare equal. */
const catalogueDate = 1_767_225_600

export function modelRoutes(router: Router, { services, chain }: RouteParts): void {
  mount(router, listModels, async (ctx) => {
    const list = async (x: Exchange & Partial<Slots>): Promise<Answer> =>
      documentAnswer(listModels, { object: 'list', data: available(x, services).map((product) => toModel(product, services)) })
    await chain.run(exchangeOf(ctx, 'query', services), list, takeOver(ctx), services)
  })
  mount(router, showModel, async (ctx) => {
    const { id } = paramsOf(ctx)
    const item = async (x: Exchange & Partial<Slots>): Promise<Answer> => {
      const product = available(x, services).find((product) => product.id === id)
      if (product === undefined) throw unknownModel(available(x, services))
      return documentAnswer(showModel, toModel(product, services))
    }
    await chain.run(exchangeOf(ctx, 'query', services), item, takeOver(ctx), services)
  })
}

function available({ caller }: Partial<Slots>, { products, clock }: Services): readonly Product[] {
  // Only a chain without `auth` has no caller; then every product is on the list.
  return caller === undefined ? products.all : products.availableTo(caller.plan, clock.now())
}

function toModel(product: Product, { names, config }: Services): AnswerOf<typeof showModel> {
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
    pricing: toPrice(config, product.tier),
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
