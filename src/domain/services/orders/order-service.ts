/**
 * Orders: the only writer of them. What a member has paid follows from the provider's answer to our own question, never from a notification
 * alone; each order is asked about until the provider's answer is final.
 */
import { formatMoney } from '../../billing/money.ts'
import type { Money } from '../../billing/money.ts'
import type { Order, OrderActor, OrderFilter, OrderStep } from '../../billing/order.ts'
import {
  computeNextCheck,
  findPaymentProblem,
  lateMs,
  maxPauseMs,
  recordAfterPayment,
  recordClosed,
  recordFailure,
  recordOpened,
  recordPayment,
  recordUnpaid,
} from '../../billing/order-rules.ts'
import type { Transition } from '../../billing/order-rules.ts'
import { PaymentNotificationError, PaymentProviderError } from '../../billing/payment-provider.ts'
import type {
  NotificationAnswer,
  NotificationHint,
  OpenedCheckout,
  PaymentFacts,
  PaymentProvider,
  RawNotification,
} from '../../billing/payment-provider.ts'
import type { Ledger } from '../../billing/ledger.ts'
import type { Subscription } from '../../billing/subscription.ts'
import { formatOrderTitle } from '../../billing/order-title.ts'
import type { PlanTerms } from '../../billing/terms.ts'
import type { Account } from '../../identity/account.ts'
import type { ClientInfo } from '../../identity/client-info.ts'
import type { Store } from '../../store.ts'
import { explainOrder } from './explain-order.ts'
import type {
  Offer,
  OrderAnswer,
  OrderExplanation,
  OrderRequest,
  QuoteAnswer,
  RefundAnswer,
  RefundQuote,
} from './order-answers.ts'
import { OrderChanges } from './order-changes.ts'
import type { OrderChangeDeps } from './order-changes.ts'
import { OrderCheckout } from './order-checkout.ts'
import type { CheckoutDeps } from './order-checkout.ts'
import { OrderRefunds } from './order-refunds.ts'
import { OrderRenewals } from './order-renewals.ts'
import type { OrderServicePort } from './order-service-port.ts'

export interface OrderServiceDeps extends OrderChangeDeps, CheckoutDeps {
  readonly store: Pick<Store, 'orders' | 'subscriptions' | 'boosts' | 'accounts'>
  readonly ledger: Pick<Ledger, 'findPack' | 'changePack'>
  /** The public address of the website. */
  readonly getSite: () => string
  /** Whether the member was told of these terms of the next span at least thirty days ago. */
  readonly wasAnnounced: (subscription: Subscription, terms: string) => Promise<boolean>
}

/** Orders of one sweep, and how many of them at once. */
const [maxPerSweep, maxConcurrentChecks] = [100, 4]
/** Orders that one notification can name. */
const maxHints = 20
/** A further notification within this time is left to the next sweep. */
const minNotifiedPauseMs = 2_000
/** How often a provider's notifications are recorded. */
const minRecordPauseMs = 10_000

export class OrderService implements OrderServicePort {
  readonly #deps: OrderServiceDeps
  readonly #changes: OrderChanges
  readonly #checkout: OrderCheckout
  readonly #refunds: OrderRefunds
  readonly #renewals: OrderRenewals
  /** One check of an order at a time. */
  readonly #running = new Map<string, Promise<Order | undefined>>()
  readonly #recordedAt = new Map<string, number>()

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
  }

  listOffers(account: Account): Promise<readonly Offer[]> {
    return this.#checkout.listOffers(account)
  }

  quote(account: Account, request: OrderRequest): Promise<QuoteAnswer> {
    return this.#checkout.quote(account, request)
  }

  async create(account: Account, request: OrderRequest, client: ClientInfo): Promise<OrderAnswer> {
    const { store, writeAudit } = this.#deps
    const stored = await store.orders.findByRequest(account.id, request.requestId)
    if (stored !== undefined)
      return { kind: 'good', order: stored.state === 'created' ? ((await this.check(stored.id, 'member')) ?? stored) : stored }
    const answer = await this.#checkout.quote(account, request)
    if (answer.kind === 'refused') return answer
    const { maxDue = Infinity } = request
    const isAsShown = answer.quote.due.amount <= maxDue
    if (!isAsShown) return { kind: 'refused', reason: 'price_changed' }
    const created = await this.#checkout.store(account, request, answer.quote)
    if (created === null) return { kind: 'refused', reason: 'too_many_open' }
    const { order, isNew, steps } = created
    if (isNew) {
      this.#deps.onChanged(order, steps)
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

  /** A check that runs already answers this one too. */
  async check(id: string, by: OrderActor): Promise<Order | undefined> {
    const running = this.#running.get(id)
    if (running !== undefined) return running
    const check = this.#checkNow(id, by).finally(() => this.#running.delete(id))
    this.#running.set(id, check)
    return check
  }

  async #checkNow(id: string, by: OrderActor): Promise<Order | undefined> {
    const { store, providers } = this.#deps
    const order = await store.orders.find(id)
    if (order === undefined) return undefined
    const provider = providers.get(order.provider)
    if (this.#hasNeverOpened(order)) return this.#changes.apply(id, by, (stored) => this.#expireUnopened(stored, by))
    try {
      if (provider === undefined)
        throw new PaymentProviderError('misconfigured', 'it is not configured', `payments.providers.${order.provider}`)
      await this.#ask(order, provider, by)
    } catch (error) {
      await this.#recordFailure(order, error, by)
    }
    return store.orders.find(id)
  }

  /** The member was never led to pay. Whether a changed plan was charged is known to its provider alone. */
  #hasNeverOpened({ state, expiresAt, providerSubscription }: Order): boolean {
    return state === 'created' && providerSubscription === null && this.#deps.clock.now() >= expiresAt
  }

  #expireUnopened(stored: Order, by: OrderActor): Transition | null {
    return this.#hasNeverOpened(stored) ? recordClosed(stored, 'expired', this.#deps.clock.now(), by) : null
  }

  async #ask(order: Order, provider: PaymentProvider, by: OrderActor): Promise<void> {
    switch (order.state) {
      case 'created':
        return this.#open(order, provider, by)
      case 'sent':
      case 'expired':
      case 'cancelled':
        return this.#askUnpaid(order, provider, by)
      case 'refunding':
        await this.#refunds.advance(order, provider, by)
        return
      case 'paid':
      case 'granted':
      case 'disputed':
        return this.#askPaid(order, provider, by)
      case 'refunded':
        return this.#followRefund(order, provider, by)
    }
  }

  /** Idempotent by the order at the provider, so that it can be repeated until the answer is stored. */
  async #open(order: Order, provider: PaymentProvider, by: OrderActor): Promise<void> {
    const { clock } = this.#deps
    const opened = await this.#createPayment(order, provider)
    const changed = await this.#changes.apply(order.id, by, (stored) => {
      if (stored.reference !== null) return null
      if (stored.state === 'created') return recordOpened(stored, opened, clock.now(), by)
      // Cancelled while the provider opened it.
      return { order: { ...stored, reference: opened.reference, nextCheckAt: clock.now() }, steps: [] }
    })
    if (changed?.reference !== opened.reference) return
    if (changed.state === 'cancelled') await provider.cancel({ order: order.id, reference: opened.reference, payment: null })
    // A change at the provider may be paid already.
    if (changed.state === 'cancelled' || order.providerSubscription !== null) await this.#askUnpaid(changed, provider, by)
  }

  async #createPayment(order: Order, provider: PaymentProvider): Promise<OpenedCheckout> {
    const { item, due, price, providerSubscription } = order
    const title = formatOrderTitle(item, order.language)
    if (item.kind === 'plan' && providerSubscription !== null && provider.subscriptions !== undefined)
      return provider.subscriptions.change(
        providerSubscription,
        { title, money: price, interval: item.interval },
        { order: order.id, due, orderedAt: order.createdAt, expiresAt: order.expiresAt },
      )
    const account = await this.#deps.store.accounts.find(order.account)
    const site = this.#deps.getSite()
    return provider.create({
      order: order.id,
      number: order.number,
      account: { id: order.account, email: account?.email ?? null },
      title,
      money: due,
      renews: item.kind === 'plan' && order.renews ? item.interval : null,
      returnUrl: `${site}/account/orders/${order.id}`,
      cancelUrl: `${site}/account/orders/${order.id}`,
      notifyUrl: this.#getNotifyUrl(order.provider),
      language: order.language,
      expiresAt: order.expiresAt,
    })
  }

  async #askUnpaid(order: Order, provider: PaymentProvider, by: OrderActor): Promise<void> {
    const { clock } = this.#deps
    const { reference } = order
    if (reference === null) return
    const ref = { order: order.id, reference, payment: order.payment }
    const found = await provider.query(ref)
    const changed = await this.#recordUnpaidFacts(order.id, found, by)
    if (changed?.state === 'granted') return this.#followRenewals(changed, provider, by)
    if (changed?.state === 'paid') return this.#stopRenewal(changed, provider)
    const now = clock.now()
    if (changed?.state !== 'sent' || now < changed.expiresAt) {
      if (changed?.state === 'sent' && provider.isConfirmedByHand) await this.#waitForExpiry(changed, by)
      return
    }
    if (found.state === 'pending') return
    // Closed at the provider first, so that it cannot be paid after it has expired here.
    await provider.cancel(ref)
    const facts = await provider.query(ref)
    const last = await this.#recordUnpaidFacts(order.id, facts, by)
    const isSure = facts.state === 'open' && provider.isConfirmedByHand
    if (last?.state === 'sent' && (isSure || now > last.expiresAt + lateMs))
      await this.#changes.apply(order.id, by, (stored) =>
        stored.state === 'sent' ? recordClosed(stored, 'expired', now, by) : null,
      )
  }

  async #recordUnpaidFacts(id: string, facts: PaymentFacts, by: OrderActor): Promise<Order | undefined> {
    return this.#changes.apply(id, by, (stored) =>
      stored.paidAt === null ? recordUnpaid(stored, facts, this.#deps.clock.now(), by) : null,
    )
  }

  /** The provider of a transfer knows nothing before the operator confirms it. */
  async #waitForExpiry({ id }: Order, by: OrderActor): Promise<void> {
    await this.#changes.apply(id, by, (stored) =>
      stored.state === 'sent'
        ? { order: { ...stored, nextCheckAt: Math.min(stored.expiresAt, this.#deps.clock.now() + maxPauseMs) }, steps: [] }
        : null,
    )
  }

  async #askPaid(order: Order, provider: PaymentProvider, by: OrderActor): Promise<void> {
    const { clock } = this.#deps
    if (order.reference !== null && !provider.isConfirmedByHand) {
      const facts = await provider.query({ order: order.id, reference: order.reference, payment: order.payment })
      // Before the order forgets what was locked.
      if (order.state === 'disputed' && (facts.dispute === 'won' || facts.dispute === 'none'))
        await this.#refunds.unlockDisputed(order)
      const isGoingBack = facts.refunded > order.refunded || facts.dispute === 'lost'
      const ending = isGoingBack ? await this.#refunds.listEndingWith(order) : []
      const changed = await this.#changes.apply(
        order.id,
        by,
        (stored) =>
          stored.state === 'paid' || stored.state === 'granted' || stored.state === 'disputed'
            ? recordAfterPayment(stored, facts, clock.now(), by)
            : null,
        ending,
      )
      if (changed?.state === 'refunded') return this.#followRefund(changed, provider, by)
      if (changed?.state === 'disputed') await this.#refunds.lockDisputed(changed, by)
      if (changed !== undefined) await this.#stopRenewal(changed, provider)
      if (changed?.state !== 'granted' && changed?.state !== 'disputed') return
    } else {
      // What stood against the grant may be gone.
      await this.#changes.apply(order.id, by, (stored) =>
        stored.state === 'paid'
          ? { order: { ...stored, nextCheckAt: computeNextCheck({ checks: 5 }, clock.now()) }, steps: [] }
          : null,
      )
    }
    await this.#followRenewals(order, provider, by)
  }

  /** What grants nothing is not charged again. A plan that was changed at the provider belongs to an earlier order. */
  async #stopRenewal({ id, state, provider: name, providerSubscription }: Order, provider: PaymentProvider): Promise<void> {
    if (state !== 'paid' || providerSubscription === null) return
    const root = await this.#deps.store.orders.findByProviderSubscription(name, providerSubscription)
    if (root?.id === id) await provider.subscriptions?.cancelNow(providerSubscription)
  }

  /** After the money went back. Where a part of it fails, or the process dies, the order is still due. */
  async #followRefund(order: Order, provider: PaymentProvider, by: OrderActor): Promise<void> {
    await this.#refunds.takeRest(order)
    await this.#followRenewals(order, provider, by)
  }

  /**
   * Only the first order of a provider's subscription is asked about again: also while it is disputed, and after its money went back, because
   * what the provider charges afterwards is to be granted, or ended.
   */
  async #followRenewals(order: Order, provider: PaymentProvider, by: OrderActor): Promise<void> {
    const { provider: name, providerSubscription } = order
    const root =
      providerSubscription === null
        ? undefined
        : await this.#deps.store.orders.findByProviderSubscription(name, providerSubscription)
    if (root?.state === 'granted' || root?.state === 'disputed' || root?.state === 'refunded')
      await this.#renewals.follow(root, provider, by)
    if (root?.id !== order.id && order.state !== 'disputed')
      await this.#changes.apply(order.id, by, (stored) =>
        (stored.state === 'granted' || stored.state === 'refunded') && stored.nextCheckAt !== null
          ? { order: { ...stored, nextCheckAt: null }, steps: [] }
          : null,
      )
  }

  async cancel(id: string, by: OrderActor): Promise<Order | undefined> {
    const { store, providers, clock } = this.#deps
    const order = await store.orders.find(id)
    if (order === undefined || (order.state !== 'created' && order.state !== 'sent')) return order
    const close = () =>
      this.#changes.apply(id, by, (stored) =>
        stored.state === 'created' || stored.state === 'sent' ? recordClosed(stored, 'cancelled', clock.now(), by) : null,
      )
    const provider = providers.get(order.provider)
    if (order.reference === null || provider === undefined) return close()
    try {
      const ref = { order: id, reference: order.reference, payment: order.payment }
      await provider.cancel(ref)
      const facts = await provider.query(ref)
      const changed = await this.#recordUnpaidFacts(id, facts, by)
      // What is paid and not final yet may become money after days, so that it is asked about until then.
      return changed?.state === 'sent' && facts.state !== 'pending' ? await close() : changed
    } catch (error) {
      await this.#recordFailure(order, error, by)
      return store.orders.find(id)
    }
  }

  /** What its provider could still be paid for is closed there first: a second payment would grant nothing. */
  async confirm(id: string, received: Money, reference?: string): Promise<Order | undefined> {
    const { store, providers, clock } = this.#deps
    const open = await store.orders.find(id)
    if (open?.state === 'sent' && providers.get(open.provider)?.isConfirmedByHand === false) {
      const closed = await this.cancel(id, 'operator')
      if (closed?.state === 'sent') return closed
    }
    return this.#changes.apply(id, 'operator', (order) => {
      const now = clock.now()
      const money = { money: received, payment: reference ?? null, subscription: null }
      if (order.paidAt === null) return recordPayment(order, money, now, 'operator')
      if (order.state !== 'paid' || (order.problem !== 'amount' && order.problem !== 'currency')) return null
      const facts = { money: formatMoney(received) }
      const left = { ...received, amount: received.amount - order.refunded }
      return {
        order: { ...order, paid: received, problem: findPaymentProblem(order, left) },
        steps: [{ at: now, kind: 'payment_corrected', by: 'operator', facts }],
      }
    })
  }

  async quoteRefund(id: string): Promise<RefundQuote | undefined> {
    const order = await this.#deps.store.orders.find(id)
    return order && this.#refunds.quote(order)
  }

  async refund(id: string, request: { readonly amount?: number; readonly reason: string }): Promise<RefundAnswer> {
    const { store, providers } = this.#deps
    const order = await store.orders.find(id)
    if (order === undefined) return { kind: 'refused', reason: 'unknown' }
    const provider = providers.get(order.provider)
    try {
      return await this.#refunds.start(id, request, provider, 'operator')
    } catch (error) {
      await this.#recordFailure(order, error, 'operator')
      const changed = await store.orders.find(id)
      return changed?.state === 'refunding'
        ? { kind: 'started', order: changed, byHand: false }
        : { kind: 'failed', order: changed ?? order }
    }
  }

  async receive(name: string, notification: RawNotification): Promise<NotificationAnswer> {
    const { providers } = this.#deps
    const provider = providers.get(name)
    if (provider === undefined) throw new RangeError(`there is no provider '${name}'`)
    try {
      const { hints, answer } = await provider.readNotification(notification)
      await this.#recordNotification(name, { acceptedAt: notification.receivedAt, refusedAt: null, refusal: null, setting: null })
      for (const hint of hints.slice(0, maxHints)) await this.#follow(name, hint, notification.receivedAt)
      return answer
    } catch (error) {
      if (!(error instanceof PaymentNotificationError)) throw error
      const { reason, setting } = error
      await this.#recordNotification(name, { acceptedAt: null, refusedAt: notification.receivedAt, refusal: reason, setting })
      return { status: 400, body: reason }
    }
  }

  /** A hint only: the order is asked about at once, and by the next sweep if that fails. */
  async #follow(provider: string, hint: NotificationHint, at: number): Promise<void> {
    const { orders } = this.#deps.store
    const order =
      hint.kind === 'order'
        ? await orders.find(hint.order)
        : hint.kind === 'reference'
          ? await orders.findByReference(provider, hint.reference)
          : hint.kind === 'payment'
            ? await orders.findByPayment(provider, hint.payment)
            : await orders.findByProviderSubscription(provider, hint.reference)
    // Another provider's notification proves nothing about this order.
    if (order === undefined || order.provider !== provider) return
    if (order.state === 'refunded' && order.providerSubscription === null) return
    await this.#changes.apply(order.id, 'notification', (stored) => ({
      order: { ...stored, notifiedAt: at, nextCheckAt: this.#deps.clock.now() },
      steps: stored.notifiedAt === null ? [{ at, kind: 'notified', by: 'notification', facts: { provider } }] : [],
    }))
    if (order.checkedAt === null || order.checkedAt + minNotifiedPauseMs <= at) await this.check(order.id, 'notification')
  }

  /** Bounded, because anyone can send what is refused. */
  async #recordNotification(provider: string, record: Parameters<Store['orders']['recordNotification']>[1]): Promise<void> {
    const key = `${provider} ${record.refusal ?? ''}`
    const now = this.#deps.clock.now()
    const last = this.#recordedAt.get(key)
    if (last !== undefined && last <= now && now < last + minRecordPauseMs) return
    this.#recordedAt.set(key, now)
    await this.#deps.store.orders.recordNotification(provider, record)
  }

  async cancelRenewal(account: string): Promise<'cancelled' | 'no_renewal' | 'unavailable'> {
    const found = await this.#renewals.findRenewing(account)
    const provider = found && this.#deps.providers.get(found.root.provider)
    if (found === undefined) return 'no_renewal'
    if (provider === undefined) return 'unavailable'
    try {
      return (await this.#renewals.cancelAtEnd(account, provider, 'member')) ? 'cancelled' : 'no_renewal'
    } catch (error) {
      await this.#recordFailure(found.root, error, 'member')
      return 'unavailable'
    }
  }

  async openPortal(account: string, returnUrl: string): Promise<string | null> {
    const found = await this.#renewals.findRenewing(account)
    const reference = found?.root.providerSubscription
    const provider = found && this.#deps.providers.get(found.root.provider)
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
        await this.#recordFailure(root, error, 'member')
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
    const notifyUrl = this.#getNotifyUrl(order.provider)
    return { order, steps, findings: explainOrder({ order, steps, notifications, provider, notifyUrl, isDelivered }) }
  }

  async sweep(signal?: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps
    const due = [...(await store.orders.listDue(clock.now(), maxPerSweep, maxPauseMs))]
    const errors: unknown[] = []
    const work = async (): Promise<void> => {
      for (let order = due.shift(); order !== undefined; order = due.shift())
        if (signal?.aborted !== true) {
          try {
            await this.check(order.id, 'sweep')
          } catch (error) {
            errors.push(error)
            await this.#postpone(order)
          }
        }
    }
    await Promise.all(Array.from({ length: maxConcurrentChecks }, work))
    if (errors.length > 0) throw new AggregateError(errors, `${errors.length} orders could not be checked`)
  }

  /** One order that fails here keeps no other from being asked about. */
  async #postpone({ id }: Order): Promise<void> {
    const { clock } = this.#deps
    const failure = { reason: 'unavailable', message: 'The gateway failed; its log has the cause.', setting: null } as const
    await this.#changes
      .apply(id, 'sweep', (stored) => recordFailure(stored, failure, clock.now(), 'sweep'))
      // The database takes no writes at the moment.
      .catch(() => undefined)
  }

  async #recordFailure(order: Order, error: unknown, by: OrderActor): Promise<void> {
    if (!(error instanceof PaymentProviderError)) throw error
    const { reason, message, setting } = error
    await this.#changes.apply(order.id, by, (stored) => {
      const now = this.#deps.clock.now()
      // The provider will never open it.
      if (stored.state === 'created' && reason === 'refused') return recordClosed(stored, 'cancelled', now, by, message)
      return recordFailure(stored, { reason, message, setting }, now, by)
    })
  }

  #getNotifyUrl(provider: string): string {
    return `${this.#deps.getSite()}/payments/${provider}/notify`
  }

  async #ensureNewestTerms(plan: string): Promise<PlanTerms | undefined> {
    const { plans, store, clock } = this.#deps
    const configured = Object.hasOwn(plans, plan) ? plans[plan] : undefined
    return configured === undefined ? undefined : store.subscriptions.ensureTerms(configured, clock.now())
  }
}
