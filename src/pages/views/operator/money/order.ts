/** `/operator/orders/{id}`: one order, what is missing and what cures it, and its story. */
import { formatPrice } from '../../../../domain/billing/money.ts'
import type { Order, OrderStep } from '../../../../domain/billing/orders/order.ts'
import { formatOrderTitle } from '../../../../domain/billing/orders/order-title.ts'
import type { OrderFinding } from '../../../../domain/services/orders/order-answers.ts'
import { renderFacts, renderRows } from '../../../components/list.ts'
import { getRefunded, nameProvider, renderOrderState } from '../../../components/order-text.ts'
import { renderTime } from '../../../components/time.ts'
import { html } from '../../../html.ts'
import type { Html } from '../../../html.ts'
import { interpolate, requireOperatorContext } from '../../../page.ts'
import type { OperatorContext, PageContext, View } from '../../../page.ts'
import { createOperatorView } from '../operator-frame.ts'
import { consoleSections, hasScope } from '../sections.ts'
import { findOrder, renderRefund } from './order-refund.ts'

export async function createOperatorOrderView(page: PageContext): Promise<View> {
  const context = requireOperatorContext(page)
  const { t, services } = context
  const order = await findOrder(context)
  const explanation = await services.orders?.explain(order.id)
  const steps = explanation?.steps ?? (await services.store.orders.listSteps(order.id))
  return createOperatorView(context, {
    title: interpolate(t.orders.orderTitle, { number: order.number }),
    end: renderOrderState(context, order),
    content: html`${renderFindings(context, explanation?.findings ?? [])} ${await renderOverview(context, order)}
    ${renderStory(context, steps)}`,
  })
}

/** In the operator's words, which commands print too. */
function renderFindings(context: OperatorContext, findings: readonly OrderFinding[]): Html {
  if (findings.length === 0) return html``
  return html`<section class="card" aria-label="${context.t.console.orders.findings}">
    ${renderRows(
      findings,
      ({ operator, setting }) =>
        html`<li class="log-row">
          <p class="breakable">${operator} ${setting !== null && html`<code class="breakable">${setting}</code>`}</p>
        </li>`,
    )}
  </section>`
}

async function renderOverview(context: OperatorContext, order: Order): Promise<Html> {
  const { t, language, services } = context
  const { orders: texts, console } = t
  const email = (await services.store.accounts.find(order.account))?.email ?? order.account
  const { members } = consoleSections
  return html`<section class="card pad" aria-label="${texts.facts}">
    ${renderFacts([
      [
        console.members.member,
        hasScope(context, members.access.scope)
          ? html`<a class="breakable" href="${members.path}/${order.account}">${email}</a>`
          : email,
      ],
      [texts.order, html`<code class="breakable">${order.id}</code>`],
      [texts.item, formatOrderTitle(order.item, language)],
      [texts.checkout.due, formatPrice(order.due, language)],
      [texts.provider, nameProvider(context, order.provider)],
      [console.orders.reference, order.reference === null ? null : html`<code class="breakable">${order.reference}</code>`],
      [console.orders.payment, order.payment === null ? null : html`<code class="breakable">${order.payment}</code>`],
      [texts.paid, order.paid === null ? null : formatPrice(order.paid, language)],
      [texts.refunded, order.refunded === 0 ? null : formatPrice(getRefunded(order), language)],
      [console.orders.gave, order.subscription ?? order.pack],
    ])}
    ${await renderRefund(context, order)}
  </section>`
}

function renderStory(context: OperatorContext, steps: readonly OrderStep[]): Html {
  const { orders: texts, console } = context.t
  return html`<section class="card">
    <div class="card-head pad-head"><h2>${texts.story}</h2></div>
    ${renderRows(
      steps,
      ({ at, kind, by, facts }) =>
        html`<li class="log-row audit-row">
          <p class="row-line">
            <strong>${console.orders.steps[kind]}</strong> <span class="sub">${console.orders.actors[by]}</span>
          </p>
          ${
            Object.keys(facts).length > 0 &&
            html`<p class="sub breakable">
              ${Object.entries(facts).map(([name, value]) => html`<span>${name}: ${String(value)}</span> `)}
            </p>`
          }
          <p class="row-line sub">${renderTime(context, at)}</p>
        </li>`,
    )}
  </section>`
}
