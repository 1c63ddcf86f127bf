/** `GET /v1/usage` and `GET /v1/turns/{request_id}`: what the caller's account has left, and what a request of it was charged. */
import type { Router } from '../../system/vendor/koa-router.ts'
import { maxSearchedTurns, showKeyUsage, showTurn } from '../../api/usage.ts'
import { toUsageBoosts, toUsagePools, toUsageTurn } from '../../domain/billing/usage/usage.ts'
import { formatInstant } from '../../domain/instant.ts'
import { GatewayError } from '../../errors.ts'
import type { CallResult, Caller, Exchange, Slots } from '../../exchange/exchange.ts'
import { parseRecordedId } from '../../exchange/request-id.ts'
import type { RouteDeps } from '../route-deps.ts'
import { createDocumentAnswer, getPathParams, mount } from '../endpoint-handler.ts'
import { getExchange } from '../request-context.ts'
import { bypassKoa } from '../response/response-writer.ts'
import { validate } from '../request/validate.ts'
import { getBalance } from '../../services/member-usage.ts'

export function mountUsageRoutes(router: Router, { services, chain }: RouteDeps): void {
  mount(router, showKeyUsage, async (ctx) => {
    const show = async (x: Exchange & Partial<Slots>): Promise<CallResult> => {
      const { account, plan } = requireCaller(x)
      const balance = await getBalance(account, services)
      return createDocumentAnswer(showKeyUsage, {
        object: 'usage',
        plan: plan.id,
        plan_name: plan.name,
        plan_until: formatInstant(account.planUntil),
        pools: toUsagePools(balance),
        boosts: toUsageBoosts(balance),
        limits: { requests_per_minute: plan.rpm, concurrent_turns: plan.concurrency },
      })
    }
    await chain.run(getExchange(ctx, 'unmetered', services), show, bypassKoa(ctx), services)
  })

  mount(router, showTurn, async (ctx) => {
    const show = async (x: Exchange & Partial<Slots>): Promise<CallResult> => {
      const { account } = requireCaller(x)
      const { request_id: requestId = '' } = getPathParams(ctx)
      const { limit, offset } = validate(showTurn.query, ctx.query)
      const id = parseRecordedId(requestId)
      if (id === null) throw createUnknownRequestError()
      const request = { id, searched: maxSearchedTurns }
      const turns = await services.ledger.turns({ account: account.id, request, offset, limit: limit + 1 })
      if (turns.length === 0) throw createUnknownRequestError()
      const page = turns.slice(0, limit)
      return createDocumentAnswer(showTurn, {
        object: 'list',
        request_id: id,
        credits: page.reduce((sum, { credits }) => sum + credits, 0),
        data: page.map(toUsageTurn),
        has_more: turns.length > limit,
      })
    }
    await chain.run(getExchange(ctx, 'unmetered', services), show, bypassKoa(ctx), services)
  })
}

/** A chain without `auth` has no account. */
function requireCaller({ caller }: Partial<Slots>): Caller {
  if (caller === undefined) throw new GatewayError('sign_in_required')
  return caller
}

function createUnknownRequestError(): GatewayError {
  return new GatewayError('not_found', {
    param: 'request_id',
    message: {
      en: 'Your account has no turn of this request. It may have been refused before anything was reserved, or be too old.',
      zh: '你的账户没有该请求的记录。它可能在预留额度之前已被拒绝，或时间太久。',
    },
  })
}
