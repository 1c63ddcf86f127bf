/** Whether each order that was paid is granted, whether deletions wait for a provider, and whether providers answer and their notifications arrive. */
import type { Orders } from '../../../domain/billing/orders/order.ts'
import type { AccountDeletions } from '../../../domain/identity/account-deletion.ts'
import type { HealthCheck } from '../../../services/health/health-checks.ts'
import { systemClock } from '../../../system/clock.ts'
import { formatDuration } from '../../../system/duration.ts'
import { pluralize } from '../../output.ts'

/** Orders that one check reads. */
const maxOrders = 100
/** How long a second payment is reported: whether it was returned is known to the operator alone. */
const paidTwiceMs = 30 * 86_400_000

export async function checkOrders(orders: Orders): Promise<HealthCheck[]> {
  const what = 'orders'
  const now = systemClock.now()
  const { count, oldestPaidAt } = await orders.countUngranted()
  const newestOrders = await orders.list({ limit: maxOrders, states: ['created', 'sent', 'paid', 'granted', 'refunding'] })
  const [oldest] = (await orders.list({ limit: maxOrders, states: ['paid'] })).toReversed()
  if (newestOrders.length === 0 && oldest === undefined) return []
  const checks: HealthCheck[] = []
  if (count > 0 && oldestPaidAt !== null)
    checks.push({
      what,
      ok: false,
      detail: `${pluralize(count, 'order is', 'orders are')} paid and not granted, the oldest for ${formatDuration(Math.max(0, now - oldestPaidAt))}; see: svc-gateway order explain ${oldest?.number ?? ''}`,
    })
  const [paidTwice] = await orders.listPaidTwice(now - paidTwiceMs, 1)
  if (paidTwice !== undefined)
    checks.push({
      what,
      ok: false,
      detail: `order ${paidTwice.number} was confirmed by hand and paid at ${paidTwice.provider} too; see: svc-gateway order explain ${paidTwice.number}`,
    })
  const failing = newestOrders.find(({ failure }) => failure !== null)
  if (failing?.failure != null)
    checks.push({
      what,
      ok: false,
      detail: `the provider ${failing.provider} did not do what was asked (${failing.failure.message})${failing.failure.setting === null ? '' : `; check ${failing.failure.setting}`}; see: svc-gateway order explain ${failing.number}`,
    })
  for (const { provider, acceptedAt, refusedAt, refusal, setting } of await orders.listNotificationRecords())
    if (refusedAt !== null && refusedAt > (acceptedAt ?? 0))
      checks.push({
        what,
        ok: false,
        detail: `the last notification of ${provider} was refused (${refusal ?? ''})${setting === null ? '' : `; check ${setting}`}`,
      })
  return checks.length > 0 ? checks : [{ what, ok: true, detail: 'each order that was paid is granted' }]
}

export async function checkDeletions(deletions: Pick<AccountDeletions, 'listDue' | 'summarize'>): Promise<HealthCheck[]> {
  const { count, oldestRequestedAt } = await deletions.summarize()
  if (oldestRequestedAt === null) return []
  const now = systemClock.now()
  const oldest = (await deletions.listDue(Number.MAX_SAFE_INTEGER, maxOrders, 0)).toSorted(
    (one, other) => one.requestedAt - other.requestedAt,
  )[0]
  const name = oldest?.account ?? ''
  return [
    {
      what: 'deletions',
      ok: false,
      detail: `${pluralize(count, 'deleted account waits', 'deleted accounts wait')} for the payment provider to end a renewal, the oldest (${name}) for ${formatDuration(Math.max(0, now - oldestRequestedAt))}; see why: svc-gateway order list --account ${name}. If it is ended there already: svc-gateway account delete ${name} --yes --without-provider`,
    },
  ]
}
