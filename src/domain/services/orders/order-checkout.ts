/** What an account can buy, what an order would do and cost, and the new order. */
import { formatMoney, toMoney } from '../../billing/money.ts'
import type { Money } from '../../billing/money.ts'
import type { Order, OrderDraft, OrderStep } from '../../billing/orders/order.ts'
import { noEndAt, unpaidOrder } from '../../billing/orders/order.ts'
import { checkoutLifetimeMs } from '../../billing/orders/order-rules.ts'
import type { Interval, PaymentProvider } from '../../billing/orders/payment-provider.ts'
import { PaymentProviderError } from '../../billing/orders/payment-provider.ts'
import type { Calendar } from '../../billing/period.ts'
import type { Plan, Plans } from '../../billing/catalog/plan.ts'
import { quotePlan, toSpan } from '../../billing/orders/purchase-quote.ts'
import type { Entitlement } from '../../billing/subscriptions/subscription.ts'
import { isRunning } from '../../billing/subscriptions/subscription.ts'
import { comparePlans } from '../../billing/subscriptions/terms.ts'
import type { PlanTerms } from '../../billing/subscriptions/terms.ts'
import type { Account } from '../../identity/account.ts'
import type { Store } from '../../store.ts'
import type { SubscriptionService } from '../subscription-service.ts'
import type { Offer, OrderRefusal, OrderRefused, OrderRequest, PackOffer, Quote, QuoteAnswer } from './order-answers.ts'

export interface CheckoutDeps {
  readonly store: Pick<Store, 'orders' | 'subscriptions'>
  readonly subscriptions: SubscriptionService
  readonly providers: ReadonlyMap<string, PaymentProvider>
  readonly plans: Plans['plans']
  readonly defaultPlan: string
  readonly packs: readonly PackOffer[]
  readonly calendar: Pick<Calendar, 'addSpan'>
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string }
}

const dayMs = 86_400_000
const intervals = ['month', 'year'] as const
/** Orders of an account that are not paid. */
const maxOpenOrders = 5

const refuse = (reason: OrderRefusal): OrderRefused => ({ kind: 'refused', reason })

export class OrderCheckout {
  readonly #deps: CheckoutDeps

  constructor(deps: CheckoutDeps) {
    this.#deps = deps
  }

  async listOffers(account: Account): Promise<readonly Offer[]> {
    const { plans, defaultPlan, packs, providers, store } = this.#deps
    if (providers.size === 0) return []
    const entitlement = await store.subscriptions.findEntitlement(account.id)
    if (entitlement === undefined) return []
    const offers: Offer[] = []
    for (const plan of Object.values(plans))
      for (const interval of intervals) {
        const prices = plan.id === defaultPlan ? [] : listPrices(plan, interval)
        const [price] = prices
        if (price === undefined) continue
        const answer = await this.#quotePlan(entitlement, plan, interval, price, null)
        offers.push({
          item: { kind: 'plan', plan, interval },
          prices,
          event: answer.kind === 'good' ? answer.quote.event : 'first',
          refusal: answer.kind === 'good' ? null : answer.reason,
        })
      }
    for (const pack of packs) offers.push({ item: { kind: 'pack', pack }, prices: pack.prices, event: 'pack', refusal: null })
    return offers
  }

  async quote(account: Account, { item, currency, provider }: OrderRequest): Promise<QuoteAnswer> {
    const { plans, defaultPlan, packs, store, providers, clock } = this.#deps
    if (providers.size === 0) return refuse('nothing_sold')
    const chosenProvider = provider === undefined ? providers.values().next().value : providers.get(provider)
    if (chosenProvider === undefined) return refuse('unknown_provider')
    if (item.kind === 'pack') {
      const pack = packs.find(({ id }) => id === item.pack)
      if (pack === undefined) return refuse('unknown_item')
      const price = pack.prices.find((each) => each.currency === currency.toUpperCase())
      if (price === undefined || price.amount === 0) return refuse('unknown_price')
      return { kind: 'good', quote: toPackQuote(pack, price, chosenProvider.name, clock.now()) }
    }
    const plan = Object.hasOwn(plans, item.plan) ? plans[item.plan] : undefined
    if (plan === undefined || plan.id === defaultPlan) return refuse('unknown_item')
    const price = listPrices(plan, item.interval).find((each) => each.currency === currency.toUpperCase())
    if (price === undefined) return refuse('unknown_price')
    const entitlement = await store.subscriptions.findEntitlement(account.id)
    if (entitlement === undefined || entitlement.isDeleted) return refuse('unknown_item')
    return this.#quotePlan(entitlement, plan, item.interval, price, chosenProvider)
  }

  /** Without a provider, the price of an upgrade at the provider is not asked for. */
  async #quotePlan(
    entitlement: Entitlement,
    plan: Plan,
    interval: Interval,
    price: Money,
    provider: PaymentProvider | null,
  ): Promise<QuoteAnswer> {
    const { store, subscriptions, clock, calendar } = this.#deps
    const now = clock.now()
    const queue = subscriptions.toQueue(entitlement)
    const runningSubscription = queue.subscriptions.find(isRunning)
    const runningOrder =
      runningSubscription === undefined ? null : ((await store.orders.findBySubscription(runningSubscription.id)) ?? null)
    // What is stored at the order may be a version that exists already.
    const terms: PlanTerms = { id: `${plan.id}@0`, version: 0, plan }
    const planQuote = quotePlan({ terms, interval, price, queue, runningOrder, now }, subscriptions.rules)
    if (planQuote === null) return refuse('never_begins')
    const base = { item: { kind: 'plan' as const, terms, interval }, price, provider: provider?.name ?? '' }

    if (runningSubscription?.renewal === 'provider' && runningSubscription.state !== 'cancelled') {
      const reference = runningOrder?.providerSubscription ?? null
      const isHigher = comparePlans(plan, runningSubscription.terms.plan) > 0 && runningSubscription.state === 'active'
      if (reference === null || !isHigher) return refuse('renews_itself')
      if (provider === null)
        return { kind: 'good', quote: { ...base, ...planQuote, due: price, renews: true, providerSubscription: reference } }
      if (provider.name !== runningOrder?.provider || provider.subscriptions === undefined) return refuse('renews_itself')
      const isSameInterval = runningOrder.item.kind === 'plan' && runningOrder.item.interval === interval
      let due: Money
      try {
        due = await provider.subscriptions.previewChange(reference, { title: plan.name, money: price, interval })
      } catch (error) {
        if (error instanceof PaymentProviderError) return refuse('unavailable')
        throw error
      }
      return {
        kind: 'good',
        quote: {
          ...base,
          event: 'upgrade',
          credit: Math.max(0, price.amount - due.amount),
          creditedDays: planQuote.creditedDays,
          formerSubscription: runningSubscription.id,
          due,
          startsAt: now,
          endsAt: isSameInterval ? runningSubscription.endsAt : calendar.addSpan(now, toSpan(interval)),
          isWaiting: false,
          interrupts: runningSubscription.terms.plan.name,
          renews: true,
          providerSubscription: reference,
        },
      }
    }
    const due = { amount: price.amount - planQuote.credit, currency: price.currency }
    if (due.amount <= 0) return refuse('nothing_to_pay')
    // One that waits would be charged again before it begins.
    const renews = provider?.subscriptions !== undefined && !planQuote.isWaiting
    return { kind: 'good', quote: { ...base, ...planQuote, due, renews, providerSubscription: null } }
  }

  /** Stores the order of a quote; the stored one where the request was made before. Null: too many orders are open. */
  async store(
    account: Account,
    { requestId, language }: OrderRequest,
    quote: Quote,
  ): Promise<{ readonly order: Order; readonly isNew: boolean; readonly steps: readonly OrderStep[] } | null> {
    const { store, clock, ids } = this.#deps
    const now = clock.now()
    const item =
      quote.item.kind === 'plan'
        ? { ...quote.item, terms: await store.subscriptions.ensureTerms(quote.item.terms.plan, now) }
        : quote.item
    // Entered once, it stands on the receipts that follow.
    const [latestOrder] = await store.orders.list({ account: account.id, limit: 1 })
    const draft: OrderDraft = {
      ...unpaidOrder,
      id: ids.next('ord_', now),
      account: account.id,
      requestId,
      item,
      event: quote.event,
      price: quote.price,
      credit: quote.credit,
      formerSubscription: quote.formerSubscription,
      due: quote.due,
      provider: quote.provider,
      language,
      reference: null,
      providerSubscription: quote.providerSubscription,
      renews: quote.renews,
      state: 'created',
      createdAt: now,
      expiresAt: now + checkoutLifetimeMs,
      sentAt: null,
      // Asked about also where the process dies before the provider has it.
      nextCheckAt: now + 20_000,
      checkedAt: null,
      buyer: latestOrder?.buyer ?? [],
    }
    const facts = { event: quote.event, due: formatMoney(quote.due), provider: quote.provider }
    const steps: readonly OrderStep[] = [{ at: now, kind: 'created', by: 'member', facts }]
    const rules = { maxOpen: maxOpenOrders, year: new Date(now).getUTCFullYear() }
    const creation = await store.orders.create(draft, steps, rules)
    return creation === null ? null : { ...creation, steps }
  }
}

/** A pack as the configuration has it, with prices in decimals. */
export function toPackOffer({
  id,
  pool,
  credits,
  days,
  prices,
}: Omit<PackOffer, 'prices'> & {
  readonly prices: readonly { readonly amount: number; readonly currency: string }[]
}): PackOffer {
  return { id, pool, credits, days, prices: prices.map(({ amount, currency }) => toMoney(amount, currency.toUpperCase())) }
}

/** Of one interval; free ones are not sold, and neither is what the currency cannot express. */
function listPrices(plan: Plan, interval: Interval): readonly Money[] {
  return plan.prices
    .filter((price) => price.interval === interval && price.amount > 0)
    .flatMap(({ amount, currency }) => {
      try {
        return [toMoney(amount, currency.toUpperCase())]
      } catch {
        return []
      }
    })
}

function toPackQuote({ id: pack, pool, credits, days }: PackOffer, price: Money, provider: string, now: number): Quote {
  return {
    item: { kind: 'pack', pack, pool, credits, days },
    event: 'pack',
    price,
    credit: 0,
    creditedDays: 0,
    formerSubscription: null,
    due: price,
    provider,
    startsAt: null,
    endsAt: days === null ? null : Math.min(noEndAt, now + days * dayMs),
    isWaiting: false,
    interrupts: null,
    renews: false,
    providerSubscription: null,
  }
}
