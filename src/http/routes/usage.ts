/** `GET /v1/usage`: what the caller's account has left. */
import type { Router } from '../../system/vendor/koa-router.ts'
import { showKeyUsage } from '../../api/usage.ts'
import { toUsageBoosts, toUsagePools } from '../../domain/billing/usage.ts'
import { formatInstant } from '../../domain/instant.ts'
import { GatewayError } from '../../errors.ts'
import type { CallResult, Exchange, Slots } from '../../exchange/exchange.ts'
import type { RouteDeps } from '../route-deps.ts'
import { createDocumentAnswer, mount } from '../endpoint-handler.ts'
import { getExchange } from '../request-context.ts'
import { bypassKoa } from '../response/response-writer.ts'
import { getBalance } from '../../services/member-usage.ts'

export function mountUsageRoute(router: Router, { services, chain }: RouteDeps): void {
  mount(router, showKeyUsage, async (ctx) => {
    const show = async ({ caller }: Exchange & Partial<Slots>): Promise<CallResult> => {
      // A chain without `auth` has no account.
      if (caller === undefined) throw new GatewayError('sign_in_required')
      const { account, plan } = caller
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
}
