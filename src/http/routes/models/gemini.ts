/** The Gemini API: turns, token counts and the list of models. */
import type { Context } from 'koa'
import type { Router } from '../../../system/vendor/koa-router.ts'
import {
  countGeminiTokens,
  generateContent,
  listGeminiModels,
  showGeminiModel,
  streamGenerateContent,
} from '../../../api/models/gemini.ts'
import { invalidRequest } from '../../../errors.ts'
import type { GatewayError } from '../../../errors.ts'
import type { CallResult, Exchange, ExchangeKind, Slots } from '../../../exchange/exchange.ts'
import type { TurnHandler } from '../../../exchange/plugins/plugin-chain.ts'
import { translateAnswers } from '../../../formats/exchange-translation.ts'
import { runHostedSearches } from '../../../tools/hosted-search/hosted-search-turn.ts'
import { createDocumentAnswer, getPathParams, mount } from '../../endpoint-handler.ts'
import { getExchange } from '../../request-context.ts'
import { validate } from '../../request/validate.ts'
import { bypassKoa } from '../../response/response-writer.ts'
import type { RouteDeps } from '../../route-deps.ts'
import { createUnknownModelError, isChatProduct, listAvailableProducts, toGeminiModel } from './models.ts'
import { estimatePromptTokens } from './token-count.ts'

export function mountGeminiRoutes(router: Router, { services, chain, turnHandlers }: RouteDeps): void {
  const run = async (ctx: Context, kind: ExchangeKind, handler: TurnHandler): Promise<void> => {
    adoptKeyInAddress(ctx, services.config.apiFormats.gemini)
    await chain.run(getExchange(ctx, kind, services), handler, bypassKoa(ctx), services)
  }
  const { chat, search } = turnHandlers
  const translatedChat = translateAnswers(runHostedSearches(chat, { services, chain, search }))
  mount(router, generateContent, (ctx) => run(ctx, 'turn', translatedChat))
  mount(router, streamGenerateContent, async (ctx) => {
    if (ctx.query['alt'] !== 'sse') throw streamFormError()
    await run(ctx, 'turn', translatedChat)
  })
  mount(router, countGeminiTokens, (ctx) =>
    run(ctx, 'unmetered', async (x) =>
      createDocumentAnswer(countGeminiTokens, { totalTokens: await estimatePromptTokens(x, services) }),
    ),
  )
  mount(router, listGeminiModels, (ctx) =>
    run(ctx, 'unmetered', async (x: Exchange & Partial<Slots>): Promise<CallResult> => {
      const { pageSize = 0, pageToken } = validate(listGeminiModels.query, ctx.query)
      const products = listAvailableProducts(x, services).filter(isChatProduct)
      const from = pageToken === undefined ? 0 : products.findIndex(({ id }) => id === pageToken) + 1
      const page = pageSize === 0 ? products.slice(from) : products.slice(from, from + pageSize)
      const last = page.at(-1)
      const hasMore = last !== undefined && last !== products.at(-1)
      return createDocumentAnswer(listGeminiModels, {
        models: page.map(toGeminiModel),
        ...(hasMore ? { nextPageToken: last.id } : {}),
      })
    }),
  )
  mount(router, showGeminiModel, (ctx) =>
    run(ctx, 'unmetered', async (x: Exchange & Partial<Slots>): Promise<CallResult> => {
      const products = listAvailableProducts(x, services).filter(isChatProduct)
      const product = products.find(({ id }) => id === getPathParams(ctx)['model'])
      if (product === undefined) throw createUnknownModelError(products)
      return createDocumentAnswer(showGeminiModel, toGeminiModel(product))
    }),
  )
}

/** A key in the address is in the log of every proxy on its way. */
function adoptKeyInAddress(ctx: Context, { keyInAddress }: { readonly keyInAddress: boolean }): void {
  const { key } = ctx.query
  if (key === undefined) return
  if (!keyInAddress) throw keyInAddressError()
  const { headers } = ctx.req
  if (typeof key === 'string' && headers.authorization === undefined) headers['x-goog-api-key'] ??= key
}

function keyInAddressError(): GatewayError {
  return invalidRequest(
    {
      en: "a key in the address is in the logs of proxies. Send it in the header 'x-goog-api-key', and replace this key.",
      zh: "地址中的密钥会出现在代理服务器的日志中。请通过请求头 'x-goog-api-key' 发送，并更换此密钥。",
    },
    'key',
  )
}

function streamFormError(): GatewayError {
  return invalidRequest(
    { en: "streams are sent as events alone; add '?alt=sse' to the address.", zh: "仅以事件流发送，请在地址后添加 '?alt=sse'。" },
    'alt',
  )
}
