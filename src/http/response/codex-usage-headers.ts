/** Headers in which Codex shows the usage of a member's day and week in its footer, and from which it warns. */
import { isCodex } from '../../codecs/responses/codex-client.ts'
import type { PoolBalance } from '../../domain/billing/ledger.ts'
import type { Window } from '../../domain/billing/catalog/plan.ts'
import { poolForTier } from '../../domain/billing/catalog/product.ts'
import type { TurnHandler } from '../../exchange/plugins/plugin-chain.ts'
import type { Services } from '../../services/services.ts'

/** From 90 on Codex offers, with the choice made already, a model that is not sold here. */
const maxPercent = 89

/** Codex names windows of these lengths: daily, weekly. */
const codexWindows = [
  { name: 'primary', window: 'day', minutes: 1440 },
  { name: 'secondary', window: 'week', minutes: 10_080 },
] as const satisfies readonly { readonly name: string; readonly window: Window; readonly minutes: number }[]

/** The headers of the pool that pays for a product. */
export function toCodexUsageHeaders(pools: readonly PoolBalance[], pool: PoolBalance['pool']): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const { name, window, minutes } of codexWindows) {
    const balance = pools.find((each) => each.pool === pool && each.window === window)
    if (balance === undefined || balance.limit === 0) continue
    headers[`x-codex-${name}-used-percent`] = String(Math.min(maxPercent, Math.floor((100 * balance.used) / balance.limit)))
    headers[`x-codex-${name}-window-minutes`] = String(minutes)
    headers[`x-codex-${name}-reset-at`] = String(Math.ceil(balance.resetsAt / 1000))
  }
  return headers
}

/** Adds the headers to turns of Codex. The call does not wait for the balance, which is read long before the upstream answers. */
export function addCodexUsageHeaders(
  call: TurnHandler,
  { ledger, calendar, clock, log }: Pick<Services, 'calendar' | 'clock' | 'ledger' | 'log'>,
): TurnHandler {
  return (x, callContext) => {
    const { caller, product } = x
    if (caller !== undefined && product !== undefined && isCodex(x.inbound.headers)) {
      const at = clock.now()
      const query = { account: caller.account.id, at, periods: calendar.getPeriods(at), limits: caller.plan.pools }
      ledger.balance(query).then(
        ({ pools }) => void Object.assign(x.headers, toCodexUsageHeaders(pools, poolForTier[product.tier])),
        (error: unknown) => log.warn({ requestId: x.id, err: error }, 'the balance for the usage headers could not be read'),
      )
    }
    return call(x, callContext)
  }
}
