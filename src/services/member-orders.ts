/** Orders as members reach them, from pages and from the API: limits on asking payment providers, and refusals as errors. */
import type { Order, OrderActor } from '../domain/billing/orders/order.ts'
import { isRunning } from '../domain/billing/subscriptions/subscription.ts'
import type { Subscription } from '../domain/billing/subscriptions/subscription.ts'
import type { Account } from '../domain/identity/account.ts'
import type { ClientInfo } from '../domain/identity/client-info.ts'
import { TooManyAttempts } from '../domain/identity/limits/attempt-limits.ts'
import type { OrderRefusal, OrderRequest, Quote } from '../domain/services/orders/order-answers.ts'
import type { OrderServicePort } from '../domain/services/orders/order-service-port.ts'
import { GatewayError } from '../errors.ts'
import type { LocalizedText } from '../errors.ts'
import type { Services } from './services.ts'

/** @throws GatewayError `not_found` where nothing is sold */
export function requireOrders({ orders }: Pick<Services, 'orders'>): OrderServicePort {
  if (orders === null) throw new GatewayError('not_found')
  return orders
}

/** @throws GatewayError why it cannot be bought */
export async function quoteOrder(services: Services, account: Account, request: OrderRequest): Promise<Quote> {
  await services.membership.attemptLimits.consume('order-check-by-account', account.id, services.clock.now())
  const answer = await requireOrders(services).quote(account, request)
  if (answer.kind === 'refused') throw createOrderRefusedError(answer.reason)
  return answer.quote
}

/** @throws GatewayError why it cannot be bought */
export async function createOrder(
  services: Services,
  account: Account,
  request: OrderRequest,
  client: ClientInfo,
): Promise<Order> {
  await services.membership.attemptLimits.consume('order-by-account', account.id, services.clock.now())
  const answer = await requireOrders(services).create(account, request, client)
  if (answer.kind === 'refused') throw createOrderRefusedError(answer.reason)
  return answer.order
}

/** By id or number. @throws GatewayError `not_found` also for an order of another account */
export async function findOrder(services: Services, account: string, id: string): Promise<Order> {
  const order = /^(?:ord_\w{1,40}|\d{4}-\d{1,12})$/.test(id) ? await requireOrders(services).find(account, id) : undefined
  if (order === undefined) throw new GatewayError('not_found')
  return order
}

/** Asks the payment provider about an order. @throws TooManyAttempts */
export async function checkOrder(services: Services, order: Order, by: OrderActor): Promise<Order> {
  await services.membership.attemptLimits.consume('order-check-by-account', order.account, services.clock.now())
  return (await requireOrders(services).check(order.id, by)) ?? order
}

/** @throws TooManyAttempts */
export async function setBuyer(services: Services, order: Order, buyer: readonly string[]): Promise<Order> {
  await services.membership.attemptLimits.consume('order-check-by-account', order.account, services.clock.now())
  return (await requireOrders(services).setBuyer(order.id, buyer)) ?? order
}

/** Asks as `checkOrder` where asking is of use; after many questions it returns what is stored. */
export async function refreshOrder(services: Services, order: Order): Promise<Order> {
  if (!isOpen(order)) return order
  try {
    return await checkOrder(services, order, 'return')
  } catch (thrown) {
    if (thrown instanceof TooManyAttempts) return order
    throw thrown
  }
}

/** Whether the provider may answer differently the next time. */
export function isOpen({ state }: Order): boolean {
  return state === 'created' || state === 'sent' || state === 'paid' || state === 'refunding'
}

/** Whether a receipt can be given. */
export function isPaid({ paidAt }: Order): boolean {
  return paidAt !== null
}

/** The subscription that was bought and runs, else one that waits and is charged for; undefined if there is none. */
export async function findPaidSubscription({ store }: Services, account: string): Promise<Subscription | undefined> {
  const boughtSubscriptions = (await store.subscriptions.list(account)).filter(({ source }) => source === 'order')
  return boughtSubscriptions.find(isRunning) ?? boughtSubscriptions.find(({ renewal }) => renewal === 'provider')
}

/** @throws GatewayError where the renewal was not cancelled */
export async function cancelRenewal(services: Services, account: string): Promise<void> {
  await services.membership.attemptLimits.consume('order-check-by-account', account, services.clock.now())
  const result = await requireOrders(services).cancelRenewal(account)
  if (result === 'no_renewal') throw new GatewayError('order_refused', { message: noRenewal })
  if (result === 'unavailable') throw new GatewayError('temporarily_unavailable', { message: renewalKept, retryAfter: 60 })
}

/** The payment service's page for cards and invoices. @throws GatewayError where it has none */
export async function openPaymentPortal(services: Services, account: string): Promise<string> {
  await services.membership.attemptLimits.consume('order-check-by-account', account, services.clock.now())
  const url = await requireOrders(services).openPortal(account, `${services.origins.site}/account/orders`)
  if (url === null) throw new GatewayError('order_refused', { message: noPortal })
  return url
}

/** Whether turns go on with bought packs when the plan is used up. */
export async function setSpendsPacks(services: Services, account: string, spendsPacks: boolean): Promise<void> {
  requireOrders(services)
  await services.store.accounts.setSpendsPacks(account, spendsPacks)
}

export function createOrderRefusedError(reason: OrderRefusal): GatewayError {
  const message = orderRefusals[reason]
  if (reason === 'nothing_sold') return new GatewayError('not_found', { message })
  if (reason === 'unavailable') return new GatewayError('temporarily_unavailable', { message, retryAfter: 60 })
  return new GatewayError('order_refused', { message })
}

const noRenewal: LocalizedText = { en: 'There is no renewal to cancel.', zh: '没有可取消的续费。' }
const renewalKept: LocalizedText = {
  en: 'The payment service does not answer at the moment, so the renewal is not cancelled yet. Try again in a minute.',
  zh: '支付服务暂时没有响应，续费尚未取消，请一分钟后重试。',
}
const noPortal: LocalizedText = {
  en: 'The payment service has no page for cards and invoices of this account.',
  zh: '支付服务没有此账户的银行卡与发票页面。',
}

const orderRefusals: Readonly<Record<OrderRefusal, LocalizedText>> = {
  nothing_sold: { en: 'Nothing is sold here.', zh: '此处不出售任何内容。' },
  unknown_item: { en: 'This is not offered. Choose from the plans.', zh: '没有该内容，请重新选择套餐。' },
  unknown_price: { en: 'There is no such price. Choose from the plans.', zh: '没有该价格，请重新选择套餐。' },
  unknown_provider: { en: 'This way of paying is not offered. Choose another one.', zh: '不提供该付款方式，请选择其他方式。' },
  never_begins: {
    en: 'Your plan gives as much and has no end, so this would never begin.',
    zh: '你当前的套餐不低于该套餐且没有到期时间，购买后不会生效。',
  },
  renews_itself: {
    en: 'Your plan renews by itself. To pay in another way, cancel its renewal under Orders first.',
    zh: '当前套餐会自动续费。如需以其他方式付款，请先在“订单”中取消续费。',
  },
  too_many_open: {
    en: 'You have several orders that are not paid. Pay or cancel one of them first.',
    zh: '你有多笔未付款的订单，请先付款或取消其中一笔。',
  },
  unavailable: {
    en: 'The payment service does not answer at the moment. Try again in a minute.',
    zh: '支付服务暂时没有响应，请一分钟后重试。',
  },
  price_changed: {
    en: 'The price has changed since it was shown. Look at it again before you pay.',
    zh: '价格在显示之后有变动，请重新确认后再付款。',
  },
  nothing_to_pay: {
    en: 'After the unused days of your plan nothing would be left to pay. Wait until your plan is nearer to its end.',
    zh: '抵扣当前套餐的剩余天数后无需付款。请在套餐临近到期时再购买。',
  },
}
