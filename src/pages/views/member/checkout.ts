/**
 * `/checkout?plan=pro&interval=month&currency=EUR`, or `?pack=small&currency=EUR`: what the purchase would do and cost, before the money.
 * Opening it orders nothing; its form does, and leads to the payment service or to the order's page, which tells how to pay.
 */
import type { Money } from '../../../domain/billing/money.ts'
import { formatPrice } from '../../../domain/billing/money.ts'
import type { Order } from '../../../domain/billing/orders/order.ts'
import { formatOrderTitle } from '../../../domain/billing/orders/order-title.ts'
import { TooManyAttempts } from '../../../domain/identity/limits/attempt-limits.ts'
import type { OrderRequest, Quote } from '../../../domain/services/orders/order-answers.ts'
import { GatewayError } from '../../../errors.ts'
import { buildCheckoutPath, findFirstCurrency } from '../../../services/checkout-path.ts'
import { createOrder, quoteOrder, requireOrders } from '../../../services/member-orders.ts'
import { createCardView } from '../../components/card-page.ts'
import { PageForm } from '../../components/forms/form.ts'
import { renderFacts } from '../../components/list.ts'
import { nameProvider } from '../../components/order-text.ts'
import { renderRefusal } from '../../components/forms/refusal.ts'
import { renderTime } from '../../components/time.ts'
import { html } from '../../html.ts'
import type { Html } from '../../html.ts'
import { interpolate, requireMember } from '../../page.ts'
import type { MemberContext, PageAction, PageContext, View } from '../../page.ts'

/** The same form is the same order, so a repeat leads to the same payment. */
const buy: PageAction = async (context, { subject, fields }) => {
  const { services, viewer, member } = context
  const requestId = toRequestId(context, fields.get('form') ?? '', subject)
  const request = { ...readRequest(context), requestId, maxDue: Number(fields.get('due') ?? 0) }
  const order = await createOrder(services, viewer, request, member.client)
  return order.url === null || order.state !== 'sent'
    ? { path: `/account/orders/${order.id}` }
    : drawLeaving(context, order, order.url)
}

export const checkoutActions: Readonly<Record<string, PageAction>> = { buy }

export async function createCheckoutView(page: PageContext): Promise<View> {
  const context = requireMember(page)
  const { services, viewer } = context
  requireOrders(services)
  try {
    const request = readRequest(context)
    return drawPage(context, renderQuote(context, await quoteOrder(services, viewer, request), request))
  } catch (thrown) {
    const failure =
      thrown instanceof TooManyAttempts ? new GatewayError('rate_limited', { retryAfter: thrown.retryAfterMs / 1000 }) : thrown
    if (!(failure instanceof GatewayError)) throw failure
    const back = html`<p class="form-links"><a href="/plans">${context.t.orders.checkout.back}</a></p>`
    return { ...drawPage(context, html`${renderRefusal(context, failure)} ${back}`), status: failure.status }
  }
}

/** @throws GatewayError if the address names nothing */
function readRequest({ query, language, services }: PageContext): OrderRequest {
  const readField = (name: string): string => (query.get(name) ?? '').slice(0, 64)
  const [plan, pack, provider] = [readField('plan'), readField('pack'), readField('provider')]
  if (plan === '' && pack === '') throw new GatewayError('not_found')
  const interval = readField('interval') === 'year' ? 'year' : 'month'
  const item = pack === '' ? ({ kind: 'plan', plan, interval } as const) : ({ kind: 'pack', pack } as const)
  const currency = readField('currency') || (findFirstCurrency(services.config, item) ?? '')
  return { requestId: 'quote-only', item, currency, language, ...(provider === '' ? {} : { provider }) }
}

/** Of this form and this choice: a second press orders nothing more. */
function toRequestId({ services }: MemberContext, form: string, subject: string): string {
  return services.membership.formIds.deriveToken(form, 'order', subject)
}

/** Of the form: the choice that was shown. */
function nameChoice({ item, currency }: OrderRequest, provider: string): string {
  const chosenItem = item.kind === 'plan' ? [item.plan, item.interval] : [item.pack]
  return [item.kind, ...chosenItem, currency, provider].join(' ')
}

function drawPage({ t }: PageContext, content: Html): View {
  return createCardView({ title: t.orders.checkout.title, look: 'device', content })
}

function renderQuote(context: MemberContext, quote: Quote, request: OrderRequest): Html {
  const { language, services } = context
  const { checkout: texts } = context.t.orders
  const { item, event, price, credit, due, creditedDays, interrupts } = quote
  const isByHand = services.paymentProviders.get(quote.provider)?.isConfirmedByHand === true
  const format = (money: Money): string => formatPrice(money, language)
  const here = buildCheckoutPath({ ...request, provider: quote.provider })
  const label = interpolate(isByHand ? texts.order : texts.pay, { amount: format(due) })
  const form = new PageForm(context, 'buy', nameChoice(request, quote.provider))
  return html`<h2 tabindex="-1" autofocus>${formatOrderTitle(item, language)}</h2>
    ${renderFacts([
      [texts.price, format(price)],
      [
        interrupts === null ? texts.creditOfPlan : interpolate(texts.credit, { days: creditedDays, plan: interrupts }),
        credit === 0 ? null : `−${format({ amount: credit, currency: price.currency })}`,
      ],
      [texts.due, html`<strong>${format(due)}</strong>`],
      [texts.starts, quote.isWaiting && quote.startsAt !== null ? renderTime(context, quote.startsAt) : texts.now],
      [texts.ends, quote.endsAt === null ? texts.noEnd : renderTime(context, quote.endsAt)],
      [texts.payWith, nameProvider(context, quote.provider)],
    ])}
    <div class="purchase-rules">
      <h3>${texts.does}</h3>
      <ul class="ticks" role="list">
        <li>${texts.events[event]}</li>
        ${interrupts !== null && credit === 0 && html`<li>${interpolate(texts.interrupts, { plan: interrupts })}</li>`}
        ${item.kind === 'plan' && html`<li>${texts.windows} ${texts.tokens}</li>`}
        ${item.kind === 'plan' && html`<li>${quote.renews ? (item.interval === 'year' ? texts.renewsYear : texts.renewsMonth) : texts.once}</li>`}
      </ul>
    </div>
    ${form.render({ path: here, hidden: { due: String(due.amount) }, content: html`<div class="form-end"><button class="button block">${label}</button></div>` })}
    <p class="sub">${isByHand ? texts.leadByHand : texts.lead}</p>
    ${renderOtherWays(context, quote.provider, request)}
    <p class="form-links"><a href="/plans">${texts.back}</a></p>`
}

/** Links, because another way of paying may renew and cost otherwise. */
function renderOtherWays({ t, language, services }: MemberContext, chosen: string, request: OrderRequest): Html {
  const others = [...services.paymentProviders.values()].filter(({ name }) => name !== chosen)
  if (others.length === 0) return html``
  return html`<p class="sub">
    ${t.orders.checkout.otherWays}
    ${others.map(({ name, label }) => html` <a href="${buildCheckoutPath({ ...request, provider: name })}">${label[language]}</a>`)}
  </p>`
}

/** A redirect would be refused: the content policy lets forms lead to this site alone, and the payment is elsewhere. */
function drawLeaving(context: MemberContext, { number, id }: Order, url: string): View {
  const { t } = context
  const { checkout: texts } = t.orders
  const content = html`<p class="sub">${interpolate(texts.leaving, { number })}</p>
    <p><a class="button block" href="${url}">${texts.toProvider}</a></p>
    <p class="form-links"><a href="/account/orders/${id}">${interpolate(t.orders.orderTitle, { number })}</a></p>`
  return { ...drawPage(context, content), refreshTo: url }
}
