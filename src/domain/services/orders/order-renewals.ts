/**
 * Renewals that a provider charges by itself: each paid invoice of its subscription becomes one order, and its state becomes the state of
 * the member's subscription.
 */
import { unpaidOrder } from '../../billing/orders/order.ts'
import type { Order, OrderActor, OrderDraft, OrderStep } from '../../billing/orders/order.ts'
import { toMoney } from '../../billing/money.ts'
import type { Money } from '../../billing/money.ts'
import { recordPayment } from '../../billing/orders/order-rules.ts'
import type { Transition } from '../../billing/orders/order-rules.ts'
import type {
  PaymentProvider,
  ProviderInvoice,
  ProviderSubscriptionFacts,
  ProviderSubscriptions,
} from '../../billing/orders/payment-provider.ts'
import { endRenewal } from '../../billing/subscriptions/subscription-queue.ts'
import { isRunning } from '../../billing/subscriptions/subscription.ts'
import type { Subscription } from '../../billing/subscriptions/subscription.ts'
import { includesPlan } from '../../billing/subscriptions/terms.ts'
import type { PlanTerms } from '../../billing/subscriptions/terms.ts'
import type { Store } from '../../store.ts'
import type { OperatorAuthor } from '../operators/operator-author.ts'
import type { SubscriptionService } from '../subscription-service.ts'
import type { OrderChanges } from './order-changes.ts'

interface RenewalDeps {
  readonly store: Pick<Store, 'orders' | 'subscriptions'>
  readonly subscriptions: SubscriptionService
  readonly changes: OrderChanges
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string }
  readonly onCredentialsChanged: (account: string) => void
  /** The newest terms of a plan that is configured. */
  readonly findNewestTerms: (plan: string) => Promise<PlanTerms | undefined>
  /** Whether the member was told of these terms at least thirty days ago. */
  readonly wasAnnounced: (subscription: Subscription, terms: string) => Promise<boolean>
}

const hourMs = 3_600_000

export interface RenewingPlan {
  readonly subscription: Subscription
  /** Its first order. */
  readonly root: Order
}

/** Terms with what they cost in the currency and interval of the subscription. */
export interface PricedTerms {
  readonly terms: PlanTerms
  readonly price: Money
}

/**
 * The terms of the next span: the newest where they cost no more and give no less, and otherwise the ones before; those to which the operator
 * has moved the subscription also where the member was told of them in time.
 */
export function chooseRenewalTerms(
  current: PricedTerms,
  newest: PricedTerms | null,
  moved: (PricedTerms & { readonly wasAnnounced: boolean }) | null,
): PricedTerms {
  const isNoWorse = ({ terms, price }: PricedTerms): boolean =>
    includesPlan(terms.plan, current.terms.plan) &&
    price.currency === current.price.currency &&
    price.amount <= current.price.amount
  if (moved !== null && (moved.wasAnnounced || isNoWorse(moved))) return moved
  return newest !== null && isNoWorse(newest) ? newest : current
}

/** What terms cost in the currency and interval of an order; null where they have no such price. */
function findPrice({ plan }: PlanTerms, { item, price }: Pick<Order, 'item' | 'price'>): Money | null {
  if (item.kind !== 'plan') return null
  const planPrice = plan.prices.find((each) => each.interval === item.interval && each.currency.toUpperCase() === price.currency)
  return planPrice === undefined ? null : toMoney(planPrice.amount, price.currency)
}

/**
 * What the next renewal may charge for terms: their own price where that was announced, or is no more than what was paid or announced last;
 * otherwise the latter.
 */
export async function findRenewalPrice(
  terms: PlanTerms,
  last: Pick<Order, 'item' | 'price'>,
  wasAnnounced: (terms: string) => Promise<boolean>,
): Promise<Money> {
  let allowedPrice = last.price
  for (const each of last.item.kind === 'plan' ? [last.item.terms, terms] : []) {
    const price = findPrice(each, last)
    if (price !== null && (price.amount <= allowedPrice.amount || (await wasAnnounced(each.id)))) allowedPrice = price
  }
  return allowedPrice
}

export class OrderRenewals {
  readonly #deps: RenewalDeps

  constructor(deps: RenewalDeps) {
    this.#deps = deps
  }

  /** Follows the provider's subscription. `root` is its first order. @throws PaymentProviderError */
  async follow(root: Order, provider: PaymentProvider, by: OrderActor, author?: OperatorAuthor): Promise<void> {
    const { providerSubscription: reference } = root
    if (reference === null || provider.subscriptions === undefined) return
    const facts = await provider.subscriptions.query(reference)
    for (const invoice of facts.invoices) await this.#renew(root, reference, invoice, by, author)
    const renewedPurchase = await this.#findRenewed(root)
    if (renewedPurchase === undefined) await this.#stopUnused(root, reference, facts, provider.subscriptions)
    else await this.#changePrice(renewedPurchase.last, renewedPurchase.subscription, provider.subscriptions)
    const endsAt = renewedPurchase === undefined ? null : await this.#applyState(renewedPurchase.subscription, facts)
    await this.#scheduleNext(root, facts, endsAt, by)
  }

  /** One order for each paid invoice, however often it is seen. */
  async #renew(
    root: Order,
    reference: string,
    invoice: ProviderInvoice,
    by: OrderActor,
    author: OperatorAuthor | undefined,
  ): Promise<void> {
    const { store, changes, clock, ids } = this.#deps
    if ((await store.orders.findByReference(root.provider, invoice.reference)) !== undefined) return
    if ((await store.orders.findByPayment(root.provider, invoice.payment)) !== undefined) return
    const now = clock.now()
    const { subscription, last } = (await this.#findRenewed(root)) ?? { subscription: undefined, last: root }
    if (last.item.kind !== 'plan') return
    const current = await this.#findCurrent(last, subscription)
    const next = await this.#chooseTerms(current, last, subscription)
    // What the provider was told to charge: by the terms of the running span or of the last order, or the price before for the last time.
    const termsPrice = findPrice(last.item.terms, last) ?? last.price
    const prices = [termsPrice, last.price, current.price].toSorted((one, other) => other.amount - one.amount)
    const price = prices.find(({ amount }) => amount <= invoice.money.amount) ?? prices.at(-1) ?? last.price
    const draft: OrderDraft = {
      ...last,
      ...unpaidOrder,
      id: ids.next('ord_', now),
      requestId: `invoice:${invoice.reference}`,
      item: { ...last.item, terms: next.terms },
      event: 'renewal',
      price,
      credit: 0,
      formerSubscription: subscription?.id ?? null,
      due: price,
      reference: invoice.reference,
      providerSubscription: reference,
      renews: true,
      state: 'sent',
      createdAt: now,
      expiresAt: now + 24 * hourMs,
      sentAt: now,
      nextCheckAt: now,
      checkedAt: now,
    }
    const steps: readonly OrderStep[] = [
      { at: now, kind: 'created', by, facts: { event: 'renewal', provider: root.provider, reference: invoice.reference } },
    ]
    const creation = await store.orders.create(draft, steps, { maxOpen: Infinity, year: new Date(now).getUTCFullYear() })
    if (creation === null) return
    const { order, isNew } = creation
    if (isNew) await changes.report(order, steps, author)
    const { money, payment } = invoice
    const decide = (stored: Order): Transition | null =>
      stored.paidAt === null ? recordPayment(stored, { money, payment, subscription: reference }, clock.now(), by) : null
    await changes.apply(order.id, by, decide, { author })
  }

  /** The provider charges from the next renewal on what the terms of the running span cost. Repeated until it has. */
  async #changePrice(last: Order, subscription: Subscription, atProvider: ProviderSubscriptions): Promise<void> {
    if (last.item.kind !== 'plan' || last.providerSubscription === null) return
    const { terms, price: money } = await this.#findCurrent(last, subscription)
    const isCharged = money.amount === last.price.amount && money.amount === findPrice(last.item.terms, last)?.amount
    if (isCharged) return
    await atProvider.changeAtRenewal(last.providerSubscription, {
      title: terms.plan.name,
      money,
      interval: last.item.interval,
    })
  }

  /** The terms of the running span, to which the operator may have moved it at once. */
  async #findCurrent(last: Order, subscription: Subscription | undefined): Promise<PricedTerms> {
    const terms = subscription?.terms ?? (last.item.kind === 'plan' ? last.item.terms : undefined)
    if (terms === undefined) throw new Error(`${last.id} is no order of a plan`)
    const wasAnnounced = async (id: string) => subscription !== undefined && this.#deps.wasAnnounced(subscription, id)
    return { terms, price: await findRenewalPrice(terms, last, wasAnnounced) }
  }

  async #chooseTerms(current: PricedTerms, last: Order, subscription: Subscription | undefined): Promise<PricedTerms> {
    const { store, findNewestTerms, wasAnnounced } = this.#deps
    const toPriced = (terms: PlanTerms | undefined): PricedTerms | null => {
      const price = terms === undefined ? null : findPrice(terms, last)
      return terms === undefined || price === null ? null : { terms, price }
    }
    const newestTerms = toPriced(await findNewestTerms(current.terms.plan.id))
    const movedTo = subscription?.nextTerms ?? null
    const movedTerms = movedTo === null ? null : toPriced(await store.subscriptions.findTerms(movedTo))
    if (movedTerms === null || subscription === undefined || movedTo === null)
      return chooseRenewalTerms(current, newestTerms, null)
    return chooseRenewalTerms(current, newestTerms, { ...movedTerms, wasAnnounced: await wasAnnounced(subscription, movedTo) })
  }

  /** The subscription that the provider's one renews, with what paid for it last; undefined where it has ended here. */
  async #findRenewed(root: Order): Promise<{ readonly subscription: Subscription; readonly last: Order } | undefined> {
    const { store } = this.#deps
    for (const subscription of await store.subscriptions.list(root.account)) {
      if (subscription.renewal !== 'provider') continue
      const last = await store.orders.findBySubscription(subscription.id)
      if (last?.providerSubscription === root.providerSubscription) return { subscription, last }
    }
    return undefined
  }

  /** What has ended here, or is renewed by another subscription, is charged no more. */
  async #stopUnused(
    root: Order,
    reference: string,
    facts: ProviderSubscriptionFacts,
    atProvider: ProviderSubscriptions,
  ): Promise<void> {
    if (facts.state !== 'active' && facts.state !== 'past_due') return
    const rootSubscription = root.subscription === null ? undefined : await this.#deps.store.subscriptions.find(root.subscription)
    const isOver = rootSubscription === undefined || rootSubscription.state === 'ended'
    await (isOver ? atProvider.cancelNow(reference) : atProvider.cancelAtEnd(reference))
  }

  /** Returns the end of what is paid; null where the subscription has ended. */
  async #applyState(found: Subscription, facts: ProviderSubscriptionFacts): Promise<number | null> {
    const { store, subscriptions, clock, onCredentialsChanged } = this.#deps
    const { account } = found
    const now = clock.now()
    const isRenewed = facts.state === 'active' || facts.state === 'past_due'
    const decide = (each: Subscription): Subscription => {
      if (each.id !== found.id) return each
      if (!isRunning(each)) return isRenewed || each.renewal !== 'provider' ? each : { ...each, ...endRenewal(each) }
      const isOver = each.endsAt !== null && each.endsAt <= now
      if (facts.state === 'ended' && isOver) return { ...each, state: 'ended', endedAt: now }
      if (facts.state === 'ended' || facts.state === 'cancelled')
        return each.state === 'cancelled' ? each : { ...each, state: 'cancelled' }
      const state = facts.state === 'past_due' || isOver ? 'past_due' : 'active'
      return each.state === state ? each : { ...each, state }
    }
    const result = await store.subscriptions.change(account, (entitlement) => {
      if (entitlement.isDeleted) return null
      const changedSubscriptions = entitlement.subscriptions.map(decide)
      if (changedSubscriptions.every((each, index) => each === entitlement.subscriptions[index])) return null
      return subscriptions.arrange(
        entitlement,
        { ...subscriptions.toQueue(entitlement), subscriptions: changedSubscriptions },
        now,
        {
          endsDue: false,
        },
      )
    })
    if (result?.change != null) onCredentialsChanged(account)
    return (await store.subscriptions.find(found.id))?.endsAt ?? null
  }

  /**
   * Asks again an hour after the next charge, more often while a charge fails, and once a day in any case: a member may cancel at the provider,
   * and its notification may be lost.
   */
  async #scheduleNext(root: Order, facts: ProviderSubscriptionFacts, endsAt: number | null, by: OrderActor): Promise<void> {
    const now = this.#deps.clock.now()
    const isDue = facts.state === 'past_due' || (endsAt !== null && endsAt <= now)
    const charge = Math.max(facts.nextChargeAt ?? endsAt ?? now, now)
    const isOver = facts.state === 'ended' || (endsAt === null && facts.state === 'cancelled')
    const nextCheckAt = isOver ? null : isDue ? now + 6 * hourMs : Math.min(charge + hourMs, now + 24 * hourMs)
    await this.#deps.changes.apply(root.id, by, (order) =>
      order.state === 'granted' || order.state === 'refunded'
        ? { order: { ...order, checkedAt: now, failure: null, nextCheckAt }, steps: [] }
        : null,
    )
  }

  /** The plans that a provider renews, the running one first, each with its first order. */
  async listRenewing(account: string): Promise<readonly RenewingPlan[]> {
    const { store } = this.#deps
    const renewingPlans: RenewingPlan[] = []
    for (const subscription of await store.subscriptions.list(account)) {
      if (subscription.renewal !== 'provider') continue
      const paidBy = await store.orders.findBySubscription(subscription.id)
      if (paidBy?.providerSubscription == null) continue
      const root = await store.orders.findByProviderSubscription(paidBy.provider, paidBy.providerSubscription)
      if (root !== undefined) renewingPlans.push({ subscription, root })
    }
    return renewingPlans.toSorted((one, other) => Number(isRunning(other.subscription)) - Number(isRunning(one.subscription)))
  }

  async findRenewing(account: string): Promise<RenewingPlan | undefined> {
    return (await this.listRenewing(account))[0]
  }

  /** Ends the renewal at the provider, and the plan with what is paid. @throws PaymentProviderError */
  async cancelAtEnd(account: string, provider: PaymentProvider, by: OrderActor): Promise<boolean> {
    const renewingPlan = await this.findRenewing(account)
    if (renewingPlan?.root.providerSubscription == null || provider.subscriptions === undefined) return false
    const { root, subscription } = renewingPlan
    await provider.subscriptions.cancelAtEnd(renewingPlan.root.providerSubscription)
    await this.#applyState(subscription, { state: 'cancelled', invoices: [], nextChargeAt: null })
    const now = this.#deps.clock.now()
    await this.#deps.changes.apply(root.id, by, (order) => ({
      order,
      steps: [{ at: now, kind: 'renewal_cancelled', by, facts: {} }],
    }))
    return true
  }
}
