/** Orders in the reader's words: what was ordered, for how much, and where it stands. */
import type { Money } from '../../domain/billing/money.ts'
import { formatPrice } from '../../domain/billing/money.ts'
import type { Order } from '../../domain/billing/orders/order.ts'
import { interpolate } from '../page.ts'
import type { PageContext } from '../page.ts'
import { html } from '../html.ts'
import type { Html } from '../html.ts'

const looks: Readonly<Record<Order['state'], string>> = {
  created: 'warn',
  sent: 'warn',
  paid: 'accent',
  granted: 'good',
  refunding: 'warn',
  refunded: '',
  disputed: 'bad',
  expired: '',
  cancelled: '',
}

export function renderOrderState({ t }: PageContext, { state }: Order): Html {
  return html`<span class="badge ${looks[state]}">${t.orders.states[state]}</span>`
}

/** One sentence about where the order stands. */
export function describeOrderState({ t, language }: PageContext, order: Order, isByHand: boolean): string {
  const { now } = t.orders
  const format = (money: Money): string => formatPrice(money, language)
  switch (order.state) {
    case 'sent':
      return interpolate(isByHand ? now.sentByHand : now.sent, { amount: format(order.due) })
    case 'granted':
      return order.item.kind === 'plan' ? now.grantedPlan : now.grantedPack
    case 'refunded':
      return interpolate(now.refunded, { amount: format(getRefunded(order)) })
    default:
      return now[order.state]
  }
}

/** What has gone back to the member. */
export function getRefunded({ refunded, paid, due }: Order): Money {
  return { amount: refunded, currency: (paid ?? due).currency }
}

/** The name of a provider; its own where it is no longer configured. */
export function nameProvider({ services, language }: PageContext, name: string): string {
  return services.paymentProviders.get(name)?.label[language] ?? name
}
