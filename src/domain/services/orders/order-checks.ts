/** Asks payment providers about orders, and records what they answer. Each order is asked about until the provider's answer is final. */
import { isRefundedInPart } from '../../billing/orders/order.ts'
import type { Order, OrderActor } from '../../billing/orders/order.ts'
import {
  computeNextCheck,
  lateMs,
  maxPauseMs,
  recordAfterPayment,
  recordClosed,
  recordFailure,
  recordOpened,
  recordPaidAgain,
  recordUnpaid,
} from '../../billing/orders/order-rules.ts'
import type { Transition } from '../../billing/orders/order-rules.ts'
import { formatOrderTitle } from '../../billing/orders/order-title.ts'
import { PaymentProviderError } from '../../billing/orders/payment-provider.ts'
import type { OpenedCheckout, PaymentFacts, PaymentProvider } from '../../billing/orders/payment-provider.ts'
import type { Store } from '../../store.ts'
import type { OperatorAuthor } from '../operators/operator-author.ts'
import type { OrderChanges } from './order-changes.ts'
import type { OrderRefunds } from './order-refunds.ts'
import type { OrderRenewals } from './order-renewals.ts'

export interface OrderCheckDeps {
  readonly store: Pick<Store, 'orders' | 'accounts'>
  readonly providers: ReadonlyMap<string, PaymentProvider>
  readonly clock: { now(): number }
  /** The public address of the website. */
  readonly getSite: () => string
}

interface OrderCheckParts {
  readonly changes: OrderChanges
  readonly refunds: OrderRefunds
  readonly renewals: OrderRenewals
}

/** Orders of one sweep, and how many of them at once. */
const [maxPerSweep, maxConcurrentChecks] = [100, 4]

export class OrderChecks {
  readonly #deps: OrderCheckDeps
  readonly #changes: OrderChanges
  readonly #refunds: OrderRefunds
  readonly #renewals: OrderRenewals
  /** One check of an order at a time. */
  readonly #running = new Map<string, Promise<Order | undefined>>()

  constructor(deps: OrderCheckDeps, { changes, refunds, renewals }: OrderCheckParts) {
    this.#deps = deps
    this.#changes = changes
    this.#refunds = refunds
    this.#renewals = renewals
  }

  /** A check that runs already answers this one too. */
  async check(id: string, by: OrderActor, author?: OperatorAuthor): Promise<Order | undefined> {
    const runningCheck = this.#running.get(id)
    if (runningCheck !== undefined) return runningCheck
    const check = this.#checkNow(id, by, author).finally(() => this.#running.delete(id))
    this.#running.set(id, check)
    return check
  }

  async #checkNow(id: string, by: OrderActor, author?: OperatorAuthor): Promise<Order | undefined> {
    const { store, providers } = this.#deps
    const order = await store.orders.find(id)
    if (order === undefined) return undefined
    const provider = providers.get(order.provider)
    if (this.#hasNeverOpened(order)) return this.#changes.apply(id, by, (stored) => this.#expireUnopened(stored, by), { author })
    try {
      if (provider === undefined)
        throw new PaymentProviderError('misconfigured', 'it is not configured', `payments.providers.${order.provider}`)
      await this.#ask(order, provider, by, author)
    } catch (error) {
      await this.recordFailure(order, error, by, author)
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

  async #ask(order: Order, provider: PaymentProvider, by: OrderActor, author?: OperatorAuthor): Promise<void> {
    switch (order.state) {
      case 'created':
        return this.#open(order, provider, by, author)
      case 'sent':
      case 'expired':
      case 'cancelled':
        return this.#askUnpaid(order, provider, by, author)
      case 'refunding':
        await this.#refunds.advance(order, provider, by, author)
        return
      case 'paid':
      case 'granted':
      case 'disputed':
        return this.#askPaid(order, provider, by, author)
      case 'refunded':
        return this.#askRefunded(order, provider, by, author)
    }
  }

  /** Idempotent by the order at the provider, so that it can be repeated until the answer is stored. */
  async #open(order: Order, provider: PaymentProvider, by: OrderActor, author?: OperatorAuthor): Promise<void> {
    const { clock } = this.#deps
    const openedCheckout = await this.#createPayment(order, provider)
    const decide = (stored: Order): Transition | null => {
      if (stored.reference !== null) return null
      if (stored.state === 'created') return recordOpened(stored, openedCheckout, clock.now(), by)
      // Cancelled while the provider opened it.
      return { order: { ...stored, reference: openedCheckout.reference, nextCheckAt: clock.now() }, steps: [] }
    }
    const changedOrder = await this.#changes.apply(order.id, by, decide, { author })
    if (changedOrder?.reference !== openedCheckout.reference) return
    if (changedOrder.state === 'cancelled')
      await provider.cancel({ order: order.id, reference: openedCheckout.reference, payment: null })
    // A change at the provider may be paid already.
    if (changedOrder.state === 'cancelled' || order.providerSubscription !== null)
      await this.#askUnpaid(changedOrder, provider, by, author)
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
      notifyUrl: formatNotifyUrl(site, order.provider),
      language: order.language,
      expiresAt: order.expiresAt,
    })
  }

  async #askUnpaid(order: Order, provider: PaymentProvider, by: OrderActor, author?: OperatorAuthor): Promise<void> {
    const { clock } = this.#deps
    const { reference } = order
    if (reference === null) return
    const ref = { order: order.id, reference, payment: order.payment }
    const paymentFacts = await provider.query(ref)
    const changedOrder = await this.#recordUnpaidFacts(order.id, paymentFacts, by, author)
    if (changedOrder?.state === 'granted') return this.#followRenewals(changedOrder, provider, by, author)
    if (changedOrder?.state === 'paid') return this.#stopRenewal(changedOrder, provider)
    const now = clock.now()
    if (changedOrder?.state !== 'sent' || now < changedOrder.expiresAt) {
      if (changedOrder?.state === 'sent' && provider.isConfirmedByHand) await this.#waitForExpiry(changedOrder, by)
      return
    }
    if (paymentFacts.state === 'pending') return
    // Closed at the provider first, so that it cannot be paid after it has expired here.
    await provider.cancel(ref)
    const facts = await provider.query(ref)
    const last = await this.#recordUnpaidFacts(order.id, facts, by, author)
    const isSure = facts.state === 'open' && provider.isConfirmedByHand
    if (last?.state === 'sent' && (isSure || now > last.expiresAt + lateMs))
      await this.#changes.apply(
        order.id,
        by,
        (stored) => (stored.state === 'sent' ? recordClosed(stored, 'expired', now, by) : null),
        { author },
      )
  }

  async #recordUnpaidFacts(id: string, facts: PaymentFacts, by: OrderActor, author?: OperatorAuthor): Promise<Order | undefined> {
    const decide = (stored: Order): Transition | null =>
      stored.paidAt === null ? recordUnpaid(stored, facts, this.#deps.clock.now(), by) : null
    return this.#changes.apply(id, by, decide, { author })
  }

  /** The provider of a transfer knows nothing before the operator confirms it. */
  async #waitForExpiry({ id }: Order, by: OrderActor): Promise<void> {
    await this.#changes.apply(id, by, (stored) =>
      stored.state === 'sent'
        ? { order: { ...stored, nextCheckAt: Math.min(stored.expiresAt, this.#deps.clock.now() + maxPauseMs) }, steps: [] }
        : null,
    )
  }

  async #askPaid(order: Order, provider: PaymentProvider, by: OrderActor, author?: OperatorAuthor): Promise<void> {
    const { clock } = this.#deps
    if (order.reference !== null && !provider.isConfirmedByHand) {
      const facts = await provider.query({ order: order.id, reference: order.reference, payment: order.payment })
      // Before the order forgets what was locked.
      if (order.state === 'disputed' && (facts.dispute === 'won' || facts.dispute === 'none'))
        await this.#refunds.unlockDisputed(order)
      await this.#recordPaidAgain(order, facts, by, author)
      const isGoingBack = facts.refunded > order.refunded || facts.dispute === 'lost'
      const ending = isGoingBack ? await this.#refunds.listEndingWith(order) : []
      const changedOrder = await this.#changes.apply(
        order.id,
        by,
        (stored) =>
          stored.state === 'paid' || stored.state === 'granted' || stored.state === 'disputed'
            ? recordAfterPayment(stored, facts, clock.now(), by)
            : null,
        { ending, author },
      )
      if (changedOrder?.state === 'refunded') return this.#followRefund(changedOrder, provider, by, author)
      if (changedOrder?.state === 'disputed') await this.#refunds.lockDisputed(changedOrder, by)
      if (changedOrder !== undefined) await this.#stopRenewal(changedOrder, provider)
      if (changedOrder?.state !== 'granted' && changedOrder?.state !== 'disputed') return
    } else {
      // What stood against the grant may be gone.
      await this.#changes.apply(
        order.id,
        by,
        (stored) =>
          stored.state === 'paid'
            ? { order: { ...stored, nextCheckAt: computeNextCheck({ checks: 5 }, clock.now()) }, steps: [] }
            : null,
        { author },
      )
    }
    await this.#followRenewals(order, provider, by, author)
  }

  /** The rest of what was refunded in part may have gone back at the provider since. */
  async #askRefunded(order: Order, provider: PaymentProvider, by: OrderActor, author?: OperatorAuthor): Promise<void> {
    const { reference, payment } = order
    if (!isRefundedInPart(order) || reference === null || provider.isConfirmedByHand)
      return this.#followRefund(order, provider, by, author)
    const facts = await provider.query({ order: order.id, reference, payment })
    const ending = await this.#refunds.listEndingWith(order)
    const changedOrder = await this.#changes.apply(
      order.id,
      by,
      (stored) => (isRefundedInPart(stored) ? recordAfterPayment(stored, facts, this.#deps.clock.now(), by) : null),
      { ending, author },
    )
    return this.#followRefund(changedOrder ?? order, provider, by, author)
  }

  /** Not every provider can close what the operator confirms by hand, so that the member may pay it there too. */
  async #recordPaidAgain(order: Order, facts: PaymentFacts, by: OrderActor, author?: OperatorAuthor): Promise<void> {
    if (facts.state !== 'paid' || facts.payment === null || facts.payment === order.payment) return
    const steps = await this.#deps.store.orders.listSteps(order.id)
    const isConfirmed = steps.some((step) => step.kind === 'paid' && step.by === 'operator')
    if (!isConfirmed || steps.some(({ kind }) => kind === 'paid_again')) return
    await this.#changes.apply(order.id, by, (stored) => recordPaidAgain(stored, facts, this.#deps.clock.now(), by), { author })
  }

  /** What grants nothing is not charged again. A plan that was changed at the provider belongs to an earlier order. */
  async #stopRenewal({ id, state, provider: name, providerSubscription }: Order, provider: PaymentProvider): Promise<void> {
    if (state !== 'paid' || providerSubscription === null) return
    const root = await this.#deps.store.orders.findByProviderSubscription(name, providerSubscription)
    if (root?.id === id) await provider.subscriptions?.cancelNow(providerSubscription)
  }

  /** After the money went back. Where a part of it fails, or the process dies, the order is still due. */
  async #followRefund(order: Order, provider: PaymentProvider, by: OrderActor, author?: OperatorAuthor): Promise<void> {
    await this.#refunds.takeRest(order)
    await this.#followRenewals(order, provider, by, author)
  }

  /**
   * Only the first order of a provider's subscription is asked about again: also while it is disputed, and after its money went back, because
   * what the provider charges afterwards is to be granted, or ended.
   */
  async #followRenewals(order: Order, provider: PaymentProvider, by: OrderActor, author?: OperatorAuthor): Promise<void> {
    const { provider: name, providerSubscription } = order
    const root =
      providerSubscription === null
        ? undefined
        : await this.#deps.store.orders.findByProviderSubscription(name, providerSubscription)
    if (root?.state === 'granted' || root?.state === 'disputed' || root?.state === 'refunded')
      await this.#renewals.follow(root, provider, by, author)
    if (root?.id !== order.id && order.state !== 'disputed')
      await this.#changes.apply(order.id, by, (stored) =>
        (stored.state === 'granted' || stored.state === 'refunded') && stored.nextCheckAt !== null
          ? { order: { ...stored, nextCheckAt: null }, steps: [] }
          : null,
      )
  }

  async cancel(id: string, by: OrderActor, author?: OperatorAuthor): Promise<Order | undefined> {
    const { store, providers, clock } = this.#deps
    const order = await store.orders.find(id)
    if (order === undefined || (order.state !== 'created' && order.state !== 'sent')) return order
    const close = () =>
      this.#changes.apply(
        id,
        by,
        (stored) =>
          stored.state === 'created' || stored.state === 'sent' ? recordClosed(stored, 'cancelled', clock.now(), by) : null,
        { author },
      )
    const provider = providers.get(order.provider)
    if (order.reference === null || provider === undefined) return close()
    try {
      const ref = { order: id, reference: order.reference, payment: order.payment }
      await provider.cancel(ref)
      const facts = await provider.query(ref)
      const changedOrder = await this.#recordUnpaidFacts(id, facts, by, author)
      // What is paid and not final yet may become money after days, so that it is asked about until then.
      return changedOrder?.state === 'sent' && facts.state !== 'pending' ? await close() : changedOrder
    } catch (error) {
      await this.recordFailure(order, error, by, author)
      return store.orders.find(id)
    }
  }

  async sweep(signal?: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps
    const dueOrders = [...(await store.orders.listDue(clock.now(), maxPerSweep, maxPauseMs))]
    const errors: unknown[] = []
    const work = async (): Promise<void> => {
      for (let order = dueOrders.shift(); order !== undefined; order = dueOrders.shift())
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

  /** A provider that fails becomes a row of the story; other errors are thrown. */
  async recordFailure(order: Order, error: unknown, by: OrderActor, author?: OperatorAuthor): Promise<void> {
    if (!(error instanceof PaymentProviderError)) throw error
    const { reason, message, setting } = error
    const decide = (stored: Order): Transition | null => {
      const now = this.#deps.clock.now()
      // The provider will never open it.
      if (stored.state === 'created' && reason === 'refused') return recordClosed(stored, 'cancelled', now, by, message)
      return recordFailure(stored, { reason, message, setting }, now, by)
    }
    await this.#changes.apply(order.id, by, decide, { author })
  }
}

/** Where the provider sends its notifications. */
export function formatNotifyUrl(site: string, provider: string): string {
  return `${site}/payments/${provider}/notify`
}
