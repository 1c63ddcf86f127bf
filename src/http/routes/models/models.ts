/** `GET /v1/models` and `GET /v1/models/{id}`: the products in the caller's plan. */
import type { Context } from 'koa'
import type { Router } from '../../../system/vendor/koa-router.ts'
import type { QueryOf, ResponseOf } from '../../../api/endpoint.ts'
import type { showGeminiModel } from '../../../api/models/gemini.ts'
import { listModels, showModel } from '../../../api/models/models.ts'
import type { GatewayConfig } from '../../../config/config.ts'
import { computeEffectivePrice } from '../../../config/products.ts'
import { GatewayError, invalidRequest } from '../../../errors.ts'
import type { CallResult, Exchange, Slots } from '../../../exchange/exchange.ts'
import type { Product, Tier } from '../../../domain/billing/catalog/product.ts'
import type { Services } from '../../../services/services.ts'
import type { RouteDeps } from '../../route-deps.ts'
import { validate } from '../../request/validate.ts'
import { bypassKoa } from '../../response/response-writer.ts'
import { getExchange } from '../../request-context.ts'
import { createDocumentAnswer, mount, getPathParams } from '../../endpoint-handler.ts'

/** The `created` value of every model (Unix seconds); fixed, so that lists compare equal. */
const catalogPublishedAt = 1_767_225_600

export function mountModelRoutes(router: Router, { services, chain }: RouteDeps): void {
  mount(router, listModels, async (ctx) => {
    const list = async (x: Exchange & Partial<Slots>): Promise<CallResult> => {
      const query = validate(listModels.query, ctx.query)
      const { page, hasMore } = selectPage(listAvailableProducts(x, services), query)
      return createDocumentAnswer(listModels, {
        object: 'list',
        data: page.map((product) => toModel(product, services)),
        has_more: hasMore,
        first_id: page[0]?.id ?? null,
        last_id: page.at(-1)?.id ?? null,
        ...(query.client_version === undefined ? {} : { models: [] }),
        ...(isGoogleClient(ctx) ? { models: page.filter(isChatProduct).map(toGeminiModel) } : {}),
      })
    }
    await chain.run(getExchange(ctx, 'unmetered', services), list, bypassKoa(ctx), services)
  })
  mount(router, showModel, async (ctx) => {
    const { id } = getPathParams(ctx)
    const show = async (x: Exchange & Partial<Slots>): Promise<CallResult> => {
      const product = listAvailableProducts(x, services).find((product) => product.id === id)
      if (product === undefined) throw createUnknownModelError(listAvailableProducts(x, services))
      const model = toModel(product, services)
      return createDocumentAnswer(showModel, isGoogleClient(ctx) ? { ...model, ...toGeminiModel(product) } : model)
    }
    await chain.run(getExchange(ctx, 'unmetered', services), show, bypassKoa(ctx), services)
  })
}

/** Google's SDKs send one of these; their newer versions read the list at this address. */
function isGoogleClient({ req: { headers } }: Context): boolean {
  return headers['x-goog-api-key'] !== undefined || headers['x-goog-api-client'] !== undefined
}

export function isChatProduct({ capabilities }: Product): boolean {
  return capabilities.includes('chat')
}

export function toGeminiModel({ id, name, contextLength, maxOutputTokens }: Product): ResponseOf<typeof showGeminiModel> {
  return {
    name: `models/${id}`,
    version: id,
    displayName: name,
    inputTokenLimit: contextLength,
    outputTokenLimit: maxOutputTokens,
    supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
  }
}

export function listAvailableProducts(
  { caller }: Partial<Slots>,
  { products, clock }: Pick<Services, 'clock' | 'products'>,
): readonly Product[] {
  // Only a chain without `auth` has no caller; the list then has every product.
  return caller === undefined ? products.all : products.availableTo(caller.plan, clock.now())
}

/** The first of the products after `after_id`, or the last of those before `before_id`. */
function selectPage(
  products: readonly Product[],
  { limit = products.length, after_id: after, before_id: before }: QueryOf<typeof listModels>,
): { readonly page: readonly Product[]; readonly hasMore: boolean } {
  const from = after === undefined ? 0 : findIndex(products, after, 'after_id') + 1
  const to = before === undefined ? products.length : findIndex(products, before, 'before_id')
  const candidates = products.slice(from, to)
  const page = before !== undefined && after === undefined ? candidates.slice(-limit) : candidates.slice(0, limit)
  return { page, hasMore: page.length < candidates.length }
}

function findIndex(products: readonly Product[], id: string, param: string): number {
  const index = products.findIndex((product) => product.id === id)
  if (index === -1) throw invalidRequest({ en: `'${param}' is no id of this list.`, zh: `'${param}' 不是列表中的 ID。` }, param)
  return index
}

function toModel(product: Product, { names, config }: Pick<Services, 'config' | 'names'>): ResponseOf<typeof showModel> {
  return {
    id: product.id,
    object: 'model',
    created: catalogPublishedAt,
    owned_by: names.slug,
    name: product.name,
    type: 'model',
    display_name: product.name,
    created_at: new Date(catalogPublishedAt * 1000).toISOString(),
    max_input_tokens: product.contextLength,
    max_tokens: product.maxOutputTokens,
    tier: product.tier,
    capabilities: product.capabilities,
    context_length: product.contextLength,
    max_output_tokens: product.maxOutputTokens,
    pricing: toPrice(config, product.tier),
    shutdown_date: product.shutdownDate,
  }
}

export function createUnknownModelError(products: readonly Product[]): GatewayError {
  const ids = products.map(({ id }) => id).join(', ')
  return new GatewayError('not_found', {
    param: 'model',
    message: { en: `No such model. Available ids: ${ids}.`, zh: `没有该模型。可用模型：${ids}。` },
  })
}

/** The token prices of a tier, as model list and plan catalog show them. */
export function toPrice(config: Pick<GatewayConfig, 'prices'>, tier: Tier): ResponseOf<typeof showModel>['pricing'] {
  const price = computeEffectivePrice(config, tier)
  return {
    input: price.input,
    cached_input: price.cachedInput,
    output: price.output,
    discount_percent: price.discountPercent,
    effective_input: price.effectiveInput,
    effective_cached_input: price.effectiveCachedInput,
    effective_output: price.effectiveOutput,
    currency: 'USD',
    per: 1_000_000,
  }
}
