/** `POST /v1/messages/count_tokens`: estimates the tokens of a prompt. */
import type { Router } from '../../../system/vendor/koa-router.ts'
import { countTokens } from '../../../api/models/messages.ts'
import { GatewayError } from '../../../errors.ts'
import type { Exchange, Slots } from '../../../exchange/exchange.ts'
import type { Product } from '../../../domain/billing/catalog/product.ts'
import { getMediaFigures, measurePrompt } from '../../../exchange/request/prompt-size.ts'
import type { PromptEstimate } from '../../../upstream/target/prompt-ratios.ts'
import type { Services } from '../../../services/services.ts'
import type { RouteDeps } from '../../route-deps.ts'
import { bypassKoa } from '../../response/response-writer.ts'
import { getExchange } from '../../request-context.ts'
import { createDocumentAnswer, mount } from '../../endpoint-handler.ts'

export function mountTokenCountRoute(router: Router, { services, chain }: RouteDeps): void {
  mount(router, countTokens, async (ctx) => {
    const count = async (x: Exchange & Partial<Slots>) =>
      createDocumentAnswer(countTokens, { input_tokens: await estimatePromptTokens(x, services) })
    await chain.run(getExchange(ctx, 'unmetered', services), count, bypassKoa(ctx), services)
  })
}

/** An agent that counts too few tokens compacts its conversation too late. Measured errors are in `docs/api-formats.md`. */
const countMargin = 1.05

/** Reads the request's prompt in any API format. @throws GatewayError `official_models_only` */
export async function estimatePromptTokens(
  x: Exchange & Partial<Slots>,
  services: Pick<Services, 'clock' | 'config' | 'products' | 'upstreams'>,
): Promise<number> {
  const { products, config, clock } = services
  const offeredProducts = x.caller === undefined ? products.all : products.availableTo(x.caller.plan, clock.now())
  const hostsSearch = offeredProducts.some(({ capabilities }) => capabilities.includes('search'))
  const chat = await x.inbound.chat(x.caller?.account.id, { hostsSearch })
  const product = offeredProducts.find(({ id }) => id === chat.model)
  if (product === undefined)
    throw new GatewayError('official_models_only', {
      param: 'model',
      params: { ids: offeredProducts.map(({ id }) => id).join(', ') },
    })
  const { tokens, mediaTokens } = measurePrompt(chat, getMediaFigures(product, config.limits))
  const estimate = estimateForTargets(product, { inputEstimate: tokens, mediaEstimate: mediaTokens }, services)
  return Math.ceil(estimate * countMargin)
}

/** The tokens of the target that makes the most of the prompt, because each of them may serve the turn. */
function estimateForTargets(
  { id, targets }: Product,
  prompt: PromptEstimate,
  { upstreams, clock }: Pick<Services, 'clock' | 'upstreams'>,
): number {
  const candidates = upstreams.selectCandidates(targets, id, clock.monotonicMs())
  const estimates = candidates.map(({ name }) => upstreams.promptRatios.estimate(name, prompt))
  return estimates.length === 0 ? prompt.inputEstimate : Math.max(...estimates)
}
