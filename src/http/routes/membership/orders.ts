/** What can be bought, and orders. */
import type { BodyOf, ResponseOf } from '../../../api/endpoint.ts'
import {
  cancelOrder,
  cancelRenewal as cancelRenewalEndpoint,
  checkOrder as checkOrderEndpoint,
  createOrder as createOrderEndpoint,
  listOffers,
  listOrders,
  openPortal,
  quoteOrder as quoteOrderEndpoint,
  setOrderBuyer,
  setPackUse,
  showOrder,
} from '../../../api/membership/orders.ts'
import { formatPrice } from '../../../domain/billing/money.ts'
import type { Money } from '../../../domain/billing/money.ts'
import type { Order, OrderItem } from '../../../domain/billing/orders/order.ts'
import { formatItemTitle, formatOrderTitle } from '../../../domain/billing/orders/order-title.ts'
import type { Subscription } from '../../../domain/billing/subscriptions/subscription.ts'
import { formatInstant } from '../../../domain/instant.ts'
import type { Offer, OrderRequest } from '../../../domain/services/orders/order-answers.ts'
import { GatewayError, invalidRequest } from '../../../errors.ts'
import {
  cancelRenewal,
  checkOrder,
  createOrder,
  findOrder,
  findPaidSubscription,
  isOpen,
  isPaid,
  openPaymentPortal,
  quoteOrder,
  requireOrders,
  setBuyer,
  setSpendsPacks,
} from '../../../services/member-orders.ts'
import { buildCheckoutPath, findFirstCurrency } from '../../../services/checkout-path.ts'
import type { Services } from '../../../services/services.ts'
import type { ServeEndpoint } from '../../endpoint-handler.ts'

type Language = 'en' | 'zh'

/** How often a waiting program reads an order. */
const pollSeconds = 3

export function mountOrderRoutes(serve: ServeEndpoint, services: Services): void {
  const toRequest = (body: BodyOf<typeof quoteOrderEndpoint>, language: Language, requestId = 'quote-only'): OrderRequest => {
    const { plan, pack, interval = 'month', provider } = body
    if ((plan === undefined) === (pack === undefined))
      throw invalidRequest({ en: "name either 'plan' or 'pack'.", zh: '请在套餐 plan 与加油包 pack 中选择一个。' }, 'plan')
    const item = pack === undefined ? ({ kind: 'plan', plan: plan ?? '', interval } as const) : ({ kind: 'pack', pack } as const)
    const currency = body.currency?.toUpperCase() ?? findFirstCurrency(services.config, item) ?? ''
    return { requestId, item, currency, language, ...(provider === undefined ? {} : { provider }) }
  }

  serve(listOffers, async ({ member: { account }, clientInfo: { reader } }) => {
    const offers = await requireOrders(services).listOffers(account)
    const language = reader.language ?? 'en'
    return {
      object: 'list',
      data: offers.map((offer) => toOffer(offer, language, services)),
      providers: [...services.paymentProviders.values()].map(({ name, label }) => ({ name, label: label[language] })),
    }
  })

  serve(quoteOrderEndpoint, async ({ member: { account }, clientInfo: { reader }, body }) => {
    const language = reader.language ?? 'en'
    const request = toRequest(body, language)
    const quote = await quoteOrder(services, account, request)
    const { item, event, price, credit, creditedDays, due, startsAt, endsAt, isWaiting, interrupts, renews, provider } = quote
    return {
      item: toItem(item, language),
      event,
      price: toMoney(price, language),
      credit: toMoney({ amount: credit, currency: price.currency }, language),
      credited_days: creditedDays,
      due: toMoney(due, language),
      starts_at: isWaiting ? toInstant(startsAt) : null,
      ends_at: toInstant(endsAt),
      interrupts,
      renews,
      provider,
      checkout_url: services.origins.site + buildCheckoutPath(request),
    }
  })

  serve(createOrderEndpoint, async ({ member: { account }, clientInfo, body }) => {
    const language = clientInfo.reader.language ?? 'en'
    const request = toRequest(body, language, body.request_id)
    const { max_due: maxDue } = body
    const order = await createOrder(services, account, maxDue === undefined ? request : { ...request, maxDue }, clientInfo)
    return toOrder(order, language, services)
  })

  serve(listOrders, async ({ member: { account }, clientInfo: { reader }, query: { before, limit } }) => {
    const orders = await requireOrders(services).list({ account: account.id, limit, ...(before === undefined ? {} : { before }) })
    const paidSubscription = await findPaidSubscription(services, account.id)
    return {
      object: 'list',
      data: orders.map((order) => toOrder(order, reader.language ?? 'en', services)),
      renewal: paidSubscription === undefined ? null : toRenewal(paidSubscription),
      spends_packs: await services.store.accounts.readSpendsPacks(account.id),
    }
  })

  const explain = async (order: Order, language: Language): Promise<ResponseOf<typeof showOrder>> => {
    const explanation = await requireOrders(services).explain(order.id)
    if (explanation === undefined) throw new GatewayError('not_found')
    const { order: current, steps, findings } = explanation
    return {
      order: toOrder(current, language, services),
      steps: steps.map(({ at, kind }) => ({ at: formatInstant(at), kind })),
      interval: pollSeconds,
      missing: findings.map(({ code }) => code),
    }
  }

  serve(showOrder, async ({ member: { account }, clientInfo: { reader }, params: { id } }) =>
    explain(await findOrder(services, account.id, id), reader.language ?? 'en'),
  )

  serve(checkOrderEndpoint, async ({ member: { account }, clientInfo: { reader }, params: { id } }) => {
    const order = await findOrder(services, account.id, id)
    return explain(isOpen(order) ? await checkOrder(services, order, 'member') : order, reader.language ?? 'en')
  })

  serve(cancelOrder, async ({ member: { account }, clientInfo: { reader }, params: { id } }) => {
    const order = await findOrder(services, account.id, id)
    return explain((await requireOrders(services).cancel(order.id, 'member')) ?? order, reader.language ?? 'en')
  })

  serve(setOrderBuyer, async ({ member: { account }, clientInfo: { reader }, params: { id }, body: { lines } }) =>
    explain(await setBuyer(services, await findOrder(services, account.id, id), lines), reader.language ?? 'en'),
  )

  serve(cancelRenewalEndpoint, async ({ member: { account } }) => {
    await cancelRenewal(services, account.id)
    return { ok: true }
  })

  serve(openPortal, async ({ member: { account } }) => ({ url: await openPaymentPortal(services, account.id) }))

  serve(setPackUse, async ({ member: { account }, body: { enabled } }) => {
    await setSpendsPacks(services, account.id, enabled)
    return { enabled }
  })
}

function toMoney(money: Money, language: Language): ResponseOf<typeof createOrderEndpoint>['due'] {
  return { ...money, text: formatPrice(money, language) }
}

function toInstant(at: number | null): string | null {
  return at === null ? null : formatInstant(at)
}

function toItem(item: OrderItem, language: Language): ResponseOf<typeof createOrderEndpoint>['item'] {
  const title = formatOrderTitle(item, language)
  if (item.kind === 'pack') {
    const { kind, pack, pool, credits, days } = item
    return { kind, title, plan: null, interval: null, pack, pool, credits, days }
  }
  const { kind, terms, interval } = item
  return { kind, title, plan: terms.plan.id, interval, pack: null, pool: null, credits: null, days: null }
}

function toOffer({ item, prices, event, refusal }: Offer, language: Language, { origins }: Services) {
  const [first] = prices
  const currency = first?.currency ?? ''
  const shared = { prices: prices.map((price) => toMoney(price, language)), event, refusal }
  if (item.kind === 'pack') {
    const { id, pool, credits, days } = item.pack
    const title = formatItemTitle({ kind: 'pack', credits, pool }, language)
    return {
      item: { kind: item.kind, title, plan: null, interval: null, pack: id, pool, credits, days },
      ...shared,
      checkout_url: origins.site + buildCheckoutPath({ item: { kind: 'pack', pack: id }, currency }),
    }
  }
  const { plan, interval } = item
  const title = formatItemTitle({ kind: 'plan', name: plan.name, interval }, language)
  return {
    item: { kind: item.kind, title, plan: plan.id, interval, pack: null, pool: null, credits: null, days: null },
    ...shared,
    checkout_url: origins.site + buildCheckoutPath({ item: { kind: 'plan', plan: plan.id, interval }, currency }),
  }
}

function toOrder(order: Order, language: Language, { origins }: Services): ResponseOf<typeof createOrderEndpoint> {
  const { id, price, paid, refunded } = order
  const isPayable = order.state === 'sent'
  const url = `${origins.site}/account/orders/${id}`
  return {
    id,
    number: order.number,
    item: toItem(order.item, language),
    event: order.event,
    state: order.state,
    price: toMoney(price, language),
    credit: toMoney({ amount: order.credit, currency: price.currency }, language),
    due: toMoney(order.due, language),
    paid: paid === null ? null : toMoney(paid, language),
    refunded: paid === null || refunded === 0 ? null : toMoney({ amount: refunded, currency: paid.currency }, language),
    renews: order.renews,
    provider: order.provider,
    pay_url: isPayable ? order.url : null,
    instructions: isPayable ? order.instructions : null,
    buyer: [...order.buyer],
    order_url: url,
    receipt_url: isPaid(order) ? `${url}/receipt` : null,
    created_at: formatInstant(order.createdAt),
    expires_at: formatInstant(order.expiresAt),
    paid_at: toInstant(order.paidAt),
    granted_at: toInstant(order.grantedAt),
    is_final: !isOpen(order),
  }
}

function toRenewal({ terms, state, renewal, endsAt }: Subscription): ResponseOf<typeof listOrders>['renewal'] {
  const { id, name } = terms.plan
  const runs = state === 'past_due' || state === 'cancelled' ? state : 'active'
  return { plan: id, name, state: runs, renews: renewal === 'provider' && runs !== 'cancelled', ends_at: toInstant(endsAt) }
}
