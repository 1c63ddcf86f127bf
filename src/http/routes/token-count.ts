/** `POST /v1/messages/count_tokens`: estimates the tokens of a prompt. */
import type { Router } from '../../system/vendor/koa-router.ts'
import { countTokens } from '../../api/messages.ts'
import { GatewayError } from '../../errors.ts'
import type { CallResult, Exchange, Slots } from '../../exchange/exchange.ts'
import { measurePrompt } from '../../exchange/request/prompt-size.ts'
import type { Services } from '../../services/services.ts'
import type { RouteDeps } from '../route-deps.ts'
import { bypassKoa } from '../response/response-writer.ts'
import { getExchange } from '../request-context.ts'
import { createDocumentAnswer, mount } from '../endpoint-handler.ts'

export function mountTokenCountRoute(router: Router, { services, chain }: RouteDeps): void {
  mount(router, countTokens, async (ctx) => {
    const count = (x: Exchange & Partial<Slots>) => countPromptTokens(x, services)
    await chain.run(getExchange(ctx, 'unmetered', services), count, bypassKoa(ctx), services)
  })
}

/**
 * An agent that counts too few tokens compacts its conversation too late. With the margin the count of English, code and Chinese is 1 to 22 %
 * too high by the tokenizer, and that of tools −4 to +29 % (`bench/README.md`).
 */
const countMargin = 1.05

async function countPromptTokens(x: Exchange & Partial<Slots>, { products, config, clock }: Services): Promise<CallResult> {
  const offered = x.caller === undefined ? products.all : products.availableTo(x.caller.plan, clock.now())
  const hostsSearch = offered.some(({ capabilities }) => capabilities.includes('search'))
  const chat = await x.inbound.chat(x.caller?.account.id, { hostsSearch })
  if (!offered.some(({ id }) => id === chat.model))
    throw new GatewayError('official_models_only', { param: 'model', params: { ids: offered.map(({ id }) => id).join(', ') } })
  const { tokens } = measurePrompt(chat, config.limits.imageTokens)
  return createDocumentAnswer(countTokens, { input_tokens: Math.ceil(tokens * countMargin) })
}
