/** Offers as refusals advise them: what the account can buy now, with the address of its checkout. */
import type { Purchase } from '../domain/billing/purchase.ts'
import type { Account } from '../domain/identity/account.ts'
import type { OrderServicePort } from '../domain/services/orders/order-service-port.ts'
import { buildCheckoutPath } from './checkout-path.ts'

interface PurchaseDeps {
  readonly orders: Pick<OrderServicePort, 'listOffers'> | null
  readonly origins: { readonly site: string }
}

export async function listPurchases({ orders, origins }: PurchaseDeps, account: Account): Promise<readonly Purchase[]> {
  const offers = orders === null ? [] : await orders.listOffers(account)
  return offers.flatMap(({ item, prices, refusal }): Purchase[] => {
    const [price] = prices
    if (refusal !== null || price === undefined) return []
    const { currency } = price
    if (item.kind === 'pack') {
      const { id, pool, credits } = item.pack
      return [
        { kind: 'pack', pool, credits, url: origins.site + buildCheckoutPath({ item: { kind: 'pack', pack: id }, currency }) },
      ]
    }
    const { plan, interval } = item
    const url = origins.site + buildCheckoutPath({ item: { kind: 'plan', plan: plan.id, interval }, currency })
    return [{ kind: 'plan', plan, url }]
  })
}
