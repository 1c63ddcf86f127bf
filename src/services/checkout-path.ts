/** The address of the checkout of an item. */
import type { GatewayConfig } from '../config/config.ts'
import type { OrderRequest } from '../domain/services/orders/order-answers.ts'

export function buildCheckoutPath({ item, currency, provider }: Pick<OrderRequest, 'item' | 'currency' | 'provider'>): string {
  const chosenItem: Record<string, string> =
    item.kind === 'plan' ? { plan: item.plan, interval: item.interval } : { pack: item.pack }
  return `/checkout?${new URLSearchParams({ ...chosenItem, currency, ...(provider === undefined ? {} : { provider }) })}`
}

/** The currency of an item's first price; undefined where it has none. */
export function findFirstCurrency({ plans, packs }: GatewayConfig, item: OrderRequest['item']): string | undefined {
  const prices =
    item.kind === 'pack'
      ? packs.find(({ id }) => id === item.pack)?.prices
      : Object.hasOwn(plans, item.plan)
        ? plans[item.plan]?.prices.filter(({ interval }) => interval === item.interval)
        : undefined
  return prices?.find(({ amount }) => amount > 0)?.currency
}
