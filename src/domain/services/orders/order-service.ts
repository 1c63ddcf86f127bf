/**
 * Orders: the only writer of them. What a member has paid follows from the provider's answer to our own question, never from a notification
 * alone; each order is asked about until the provider's answer is final.
 */
import { formatMoney } from '../../billing/money.ts'
import type { Money } from '../../billing/money.ts'
import type { Order, OrderActor, OrderFilter, OrderStep } from '../../billing/orders/order.ts'
import { findPaymentProblem, recordPayment } from '../../billing/orders/order-rules.ts'
import type { Transition } from '../../billing/orders/order-rules.ts'
import { PaymentProviderError } from '../../billing/orders/payment-provider.ts'
import type { NotificationAnswer, RawNotification } from '../../billing/orders/payment-provider.ts'
import type { Ledger } from '../../billing/ledger.ts'
import type { Calendar } from '../../billing/period.ts'
import type { Subscription } from '../../billing/subscriptions/subscription.ts'
import type { PlanTerms } from '../../billing/subscriptions/terms.ts'
import type { Account } from '../../identity/account.ts'
import type { ClientInfo } from '../../identity/client-info.ts'
import type { Store } from '../../store.ts'
import type { OperatorAuthor } from '../operators/operator-author.ts'
import { explainOrder } from './explain-order.ts'
import type {
  Offer,
  OrderAnswer,
  OrderExplanation,
  OrderRequest,
  QuoteAnswer,
  RefundAnswer,
  RefundQuote,
  RefundRequest,
} from './order-answers.ts'
import { OrderChanges } from './order-changes.ts'
import type { OrderChangeDeps } from './order-changes.ts'
import { OrderChecks, formatNotifyUrl } from './order-checks.ts'
import { OrderCheckout } from './order-checkout.ts'
import type { CheckoutDeps } from './order-checkout.ts'
import { OrderRefunds } from './order-refunds.ts'
import { OrderRenewals } from './order-renewals.ts'
import type { OrderServicePort } from './order-service-port.ts'
import { PaymentNotifications } from './payment-notifications.ts'

export interface OrderServiceDeps extends OrderChangeDeps, CheckoutDeps {
  readonly store: Pick<Store, 'orders' | 'subscriptions' | 'boosts' | 'accounts' | 'operators'>
  readonly calendar: Pick<Calendar, 'addSpan' | 'getPeriods'>
  readonly ledger: Pick<Ledger, 'findPack' | 'changePack'>
  /** The public address of the website. */
  readonly getSite: () => string
  /** Whether the member was told of these terms of the next span at least thirty days ago. */
  readonly wasAnnounced: (subscription: Subscription, terms: string) => Promise<boolean>
}

const hourMs = 3_600_000

export class OrderService implements OrderServicePort {
  readonly #deps: OrderServiceDeps
  readonly #changes: OrderChanges
  readonly #checkout: OrderCheckout
  readonly #refunds: OrderRefunds
  readonly #renewals: OrderRenewals
  readonly #checks: OrderChecks
  readonly #notifications: PaymentNotifications

  constructor(deps: OrderServiceDeps) {
    this.#deps = deps
    this.#changes = new OrderChanges(deps)
    this.#checkout = new OrderCheckout(deps)
    this.#refunds = new OrderRefunds({ ...deps, changes: this.#changes })
    this.#renewals = new OrderRenewals({
      ...deps,
      changes: this.#changes,
      findNewestTerms: (plan) => this.#ensureNewestTerms(plan),
    })
    this.#checks = new OrderChecks(deps, { changes: this.#changes, refunds: this.#refunds, renewals: this.#renewals })
    this.#notifications = new PaymentNotifications(deps, { changes: this.#changes, checks: this.#checks })
  }

  listOffers(account: Account): Promise<readonly Offer[]> {
    return this.#checkout.listOffers(account)
  }

  quote(account: Account, request: OrderRequest): Promise<QuoteAnswer> {
    return this.#checkout.quote(account, request)
  }

  async create(account: Account, request: OrderRequest, client: ClientInfo): Promise<OrderAnswer> {
    const { store, writeAudit } = this.#deps
    const storedOrder = await store.orders.findByRequest(account.id, request.requestId)
    if (storedOrder !== undefined)
      return {
        kind: 'good',
        order: storedOrder.state === 'created' ? ((await this.check(storedOrder.id, 'member')) ?? storedOrder) : storedOrder,
      }
    const answer = await this.#checkout.quote(account, request)
    if (answer.kind === 'refused') return answer
    const { maxDue = Infinity } = request
    const isAsShown = answer.quote.due.amount <= maxDue
    if (!isAsShown) return { kind: 'refused', reason: 'price_changed' }
    const creation = await this.#checkout.store(account, request, answer.quote)
    if (creation === null) return { kind: 'refused', reason: 'too_many_open' }
    const { order, isNew, steps } = creation
    if (isNew) {
      await writeAudit('order_created', account.id, client, { order: order.id, number: order.number, ...steps[0]?.facts })
    }
    return { kind: 'good', order: (await this.check(order.id, 'member')) ?? order }
  }

  list(filter: OrderFilter): Promise<readonly Order[]> {
    return this.#deps.store.orders.list(filter)
  }

  async find(account: string | null, idOrNumber: string): Promise<Order | undefined> {
    const { orders } = this.#deps.store
    const order = (await orders.find(idOrNumber)) ?? (await orders.findByNumber(idOrNumber))
    return order !== undefined && (account === null || order.account === account) ? order : undefined
  }

  listSteps(order: string): Promise<readonly OrderStep[]> {
    return this.#deps.store.orders.listSteps(order)
  }

  check(id: string, by: OrderActor, author?: OperatorAuthor): Promise<Order | undefined> {
    return this.#checks.check(id, by, author)
  }

  sweep(signal?: AbortSignal): Promise<void> {
    return this.#checks.sweep(signal)
  }

  cancel(id: string, by: OrderActor, author?: OperatorAuthor): Promise<Order | undefined> {
    return this.#checks.cancel(id, by, author)
  }

  receive(provider: string, notification: RawNotification): Promise<NotificationAnswer> {
    return this.#notifications.receive(provider, notification)
  }

  /** No row of the story, which a member could make as long as they like. */
  setBuyer(id: string, buyer: readonly string[]): Promise<Order | undefined> {
    return this.#changes.apply(id, 'member', (order) =>
      order.buyer.join('\n') === buyer.join('\n') ? null : { order: { ...order, buyer }, steps: [] },
    )
  }

  /** What its provider could still be paid for is closed there first: a second payment would grant nothing. */
  async confirm(id: string, received: Money, reference?: string, author?: OperatorAuthor): Promise<Order | undefined> {
    const { store, providers, clock } = this.#deps
    const open = await store.orders.find(id)
    const isOfProvider =
      open !== undefined && open.reference !== null && providers.get(open.provider)?.isConfirmedByHand === false
    if (open?.state === 'sent' && isOfProvider) {
      const closedOrder = await this.cancel(id, 'operator', author)
      if (closedOrder?.state === 'sent') return closedOrder
    }
    const decide = (order: Order): Transition | null => {
      const now = clock.now()
      const money = { money: received, payment: reference ?? null, subscription: null }
      if (order.paidAt === null) return recordPayment(order, money, now, 'operator')
      if (order.state !== 'paid' || (order.problem !== 'amount' && order.problem !== 'currency')) return null
      const facts = { money: formatMoney(received) }
      const netReceived = { ...received, amount: received.amount - order.refunded }
      return {
        order: { ...order, paid: received, problem: findPaymentProblem(order, netReceived) },
        steps: [{ at: now, kind: 'payment_corrected', by: 'operator', facts }],
      }
    }
    const confirmedOrder = await this.#changes.apply(id, 'operator', decide, { author })
    // Where the provider could not close it, the member may have paid it there too.
    return confirmedOrder?.state === 'granted' && confirmedOrder.nextCheckAt === null && isOfProvider
      ? this.#changes.apply(id, 'operator', (order) => {
          const nextCheckAt = Math.max(order.expiresAt, clock.now() + hourMs)
          return order.nextCheckAt === null ? { order: { ...order, nextCheckAt }, steps: [] } : null
        })
      : confirmedOrder
  }

  async quoteRefund(id: string): Promise<RefundQuote | undefined> {
    const order = await this.#deps.store.orders.find(id)
    return order && this.#refunds.quote(order, this.#deps.providers.get(order.provider))
  }

  async refund(id: string, request: RefundRequest, author?: OperatorAuthor): Promise<RefundAnswer> {
    const { store, providers } = this.#deps
    const order = await store.orders.find(id)
    if (order === undefined) return { kind: 'refused', reason: 'unknown' }
    const provider = providers.get(order.provider)
    try {
      return await this.#refunds.start(id, request, provider, author)
    } catch (error) {
      await this.#checks.recordFailure(order, error, 'operator', author)
      const currentOrder = await store.orders.find(id)
      return currentOrder?.state === 'refunding'
        ? { kind: 'started', order: currentOrder, byHand: false }
        : { kind: 'failed', order: currentOrder ?? order }
    }
  }

  async cancelRenewal(account: string): Promise<'cancelled' | 'no_renewal' | 'unavailable'> {
    const renewingPlan = await this.#renewals.findRenewing(account)
    const provider = renewingPlan && this.#deps.providers.get(renewingPlan.root.provider)
    if (renewingPlan === undefined) return 'no_renewal'
    if (provider === undefined) return 'unavailable'
    try {
      return (await this.#renewals.cancelAtEnd(account, provider, 'member')) ? 'cancelled' : 'no_renewal'
    } catch (error) {
      await this.#checks.recordFailure(renewingPlan.root, error, 'member')
      return 'unavailable'
    }
  }

  async openPortal(account: string, returnUrl: string): Promise<string | null> {
    const renewingPlan = await this.#renewals.findRenewing(account)
    const reference = renewingPlan?.root.providerSubscription
    const provider = renewingPlan && this.#deps.providers.get(renewingPlan.root.provider)
    if (reference == null || provider?.subscriptions === undefined) return null
    return provider.subscriptions.openPortal(reference, returnUrl)
  }

  async prepareDeletion(account: string): Promise<boolean> {
    const { store, providers } = this.#deps
    for (const { root } of await this.#renewals.listRenewing(account)) {
      try {
        const provider = providers.get(root.provider)
        if (provider?.subscriptions === undefined)
          throw new PaymentProviderError('misconfigured', 'it is not configured', `payments.providers.${root.provider}`)
        if (root.providerSubscription !== null) await provider.subscriptions.cancelNow(root.providerSubscription)
      } catch (error) {
        await this.#checks.recordFailure(root, error, 'member')
        return false
      }
    }
    for (const order of await store.orders.list({ account, states: ['created', 'sent'], limit: 100 }))
      await this.cancel(order.id, 'member')
    return true
  }

  async explain(id: string): Promise<OrderExplanation | undefined> {
    const { store, providers, ledger } = this.#deps
    const order = await store.orders.find(id)
    if (order === undefined) return undefined
    const steps = await store.orders.listSteps(id)
    const notifications = (await store.orders.listNotificationRecords()).find(({ provider }) => provider === order.provider)
    const provider = providers.get(order.provider)
    const isDelivered = order.pack === null ? null : (await ledger.findPack(order.account, order.pack)) !== undefined
    const notifyUrl = formatNotifyUrl(this.#deps.getSite(), order.provider)
    return { order, steps, findings: explainOrder({ order, steps, notifications, provider, notifyUrl, isDelivered }) }
  }

  async #ensureNewestTerms(plan: string): Promise<PlanTerms | undefined> {
    const { plans, store, clock } = this.#deps
    const configuredPlan = Object.hasOwn(plans, plan) ? plans[plan] : undefined
    return configuredPlan === undefined ? undefined : store.subscriptions.ensureTerms(configuredPlan, clock.now())
  }
}
