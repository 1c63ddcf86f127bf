/** The order behind a pack that was bought. */
import { isPurchasedPack, purchasedPackPrefix } from '../../../../domain/billing/orders/order.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import type { OperatorContext } from '../../../page.ts'
import { consoleSections, hasScope } from '../sections.ts'

/** Nothing for another pack; words alone for an operator who does not see orders. */
export function renderOrderOfPack(context: OperatorContext, pack: string): Html {
  if (!isPurchasedPack({ id: pack })) return html``
  const { orders } = consoleSections
  const { order } = context.t.orders
  return hasScope(context, orders.access.scope)
    ? html`<a href="${orders.path}/ord_${pack.slice(purchasedPackPrefix.length)}">${order}</a>`
    : html`${order}`
}
