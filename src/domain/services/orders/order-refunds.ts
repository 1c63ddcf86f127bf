/**
 * Refunds. Of a pack only what is neither spent nor held; that is locked before the provider is asked, and given back if the refund fails.
 * Each part can be repeated after the process died: the order names the refund before anything is locked, and locks have its id.
 */
import type { Ledger } from '../../billing/ledger.ts'
import { formatMoney, getMinorDigits } from '../../billing/money.ts'
import type { Money } from '../../billing/money.ts'
import type { Order, OrderActor, OrderRefund } from '../../billing/orders/order.ts'
import { computeNextCheck } from '../../billing/orders/order-rules.ts'
import type { Transition } from '../../billing/orders/order-rules.ts'
import { PaymentProviderError } from '../../billing/orders/payment-provider.ts'
import type { PaymentProvider, PaymentRef, RefundFacts } from '../../billing/orders/payment-provider.ts'
import type { Calendar } from '../../billing/period.ts'
import type { Store } from '../../store.ts'
import type { OperatorAuthor } from '../operators/operator-author.ts'
import type { RefundAnswer, RefundQuote, RefundRequest } from './order-answers.ts'
import type { OrderChanges } from './order-changes.ts'

interface RefundDeps {
  readonly store: Pick<Store, 'orders' | 'operators'>
  readonly calendar: Pick<Calendar, 'getPeriods'>
  readonly ledger: Pick<Ledger, 'findPack' | 'changePack'>
  readonly changes: OrderChanges
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string }
}

/** More paid orders than an account has. */
const maxLater = 1_000

export class OrderRefunds {
  readonly #deps: RefundDeps

  constructor(deps: RefundDeps) {
    this.#deps = deps
  }

  async quote(order: Order, provider: PaymentProvider | undefined): Promise<RefundQuote | undefined> {
    const { paid, item } = order
    // Of one that was refunded in part, the rest.
    if (paid === null || (order.state !== 'granted' && order.state !== 'paid' && order.state !== 'refunded')) return undefined
    const refundableAmount = paid.amount - order.refunded
    const isByHand = isSentByHand(order, provider)
    if (order.state === 'paid' || item.kind === 'plan') {
      const { ending, credited } = await this.#findPaidFor(order)
      const amount = Math.max(0, refundableAmount - credited)
      return { max: { ...paid, amount }, unspentCredits: null, endsPlan: ending.length > 0, isByHand }
    }
    const unspentCredits = await this.#countUnspent(order)
    const amount = Math.min(refundableAmount, scale(paid.amount, unspentCredits, item.credits))
    return { max: { ...paid, amount }, unspentCredits, endsPlan: false, isByHand }
  }

  /** @throws PaymentProviderError, after which the refund runs on and is asked about later */
  async start(
    id: string,
    { amount, reason }: RefundRequest,
    provider: PaymentProvider | undefined,
    author: OperatorAuthor | undefined,
  ): Promise<RefundAnswer> {
    const { store, changes, clock, ids } = this.#deps
    const by = 'operator'
    const order = await store.orders.find(id)
    if (order === undefined) return { kind: 'refused', reason: 'unknown' }
    if (order.state === 'refunding') return { kind: 'refused', reason: 'running' }
    const quote = await this.quote(order, provider)
    if (quote === undefined || order.paid === null) return { kind: 'refused', reason: 'not_paid' }
    if (quote.max.amount === 0) return { kind: 'refused', reason: 'nothing_left' }
    const refundAmount = amount ?? quote.max.amount
    if (!Number.isSafeInteger(refundAmount) || refundAmount < 1 || refundAmount > quote.max.amount)
      return { kind: 'refused', reason: 'too_much' }
    const { item, paid } = order
    const unspentCredits = quote.unspentCredits ?? 0
    // Rounded up, so that no credits remain for the money.
    const lockedCredits =
      item.kind === 'pack' && order.state !== 'paid'
        ? Math.min(
            unspentCredits,
            refundAmount === quote.max.amount ? unspentCredits : Math.ceil((refundAmount / paid.amount) * item.credits),
          )
        : 0
    const now = clock.now()
    // Counted before, so that a refund whose answer is lost counts too.
    const movedCredits = countMovedCredits({ ...paid, amount: refundAmount }, lockedCredits)
    if (!(await this.#fitsDailyLimit(author, movedCredits, now))) return { kind: 'refused', reason: 'over_daily_limit' }
    const refund: OrderRefund = { id: ids.next('ref_', now), amount: refundAmount, lockedCredits, reason }
    const facts = {
      money: formatMoney({ ...paid, amount: refundAmount }),
      refund: refund.id,
      reason,
      ...(lockedCredits === 0 ? {} : { lockedCredits }),
    }
    const startedOrder = await changes.apply(
      id,
      by,
      (stored) =>
        stored.version !== order.version
          ? null
          : {
              order: { ...stored, state: 'refunding', refund, checks: 0, nextCheckAt: computeNextCheck({ checks: 0 }, now) },
              steps: [{ at: now, kind: 'refund_started', by, facts }],
            },
      { author },
    )
    if (startedOrder?.refund?.id !== refund.id) return { kind: 'refused', reason: 'running' }
    return this.advance(startedOrder, provider, by, author)
  }

  /** Only keys have a limit. */
  async #fitsDailyLimit(author: OperatorAuthor | undefined, credits: number, now: number): Promise<boolean> {
    const { store, calendar } = this.#deps
    if (author?.actor.kind !== 'key') return true
    return store.operators.spend(author.actor.key, calendar.getPeriods(now).day.start, credits)
  }

  /** Locks, asks the provider and records what it answered. @throws PaymentProviderError */
  async advance(
    order: Order,
    provider: PaymentProvider | undefined,
    by: OrderActor,
    author?: OperatorAuthor,
  ): Promise<RefundAnswer> {
    const { changes, clock } = this.#deps
    const { refund, reference, paid } = order
    if (order.state !== 'refunding' || refund === null || paid === null) return { kind: 'refused', reason: 'not_paid' }
    if (!(await this.#lock(order, refund))) {
      await changes.apply(order.id, by, (stored) => fail(stored, refund, 'credits were spent meanwhile', clock.now(), by), {
        author,
      })
      return { kind: 'refused', reason: 'spent' }
    }
    const { ending } = await this.#findPaidFor(order)
    if (ending.length > 0 && order.providerSubscription !== null)
      await provider?.subscriptions?.cancelNow(order.providerSubscription)
    const byHand = isSentByHand(order, provider)
    const facts: RefundFacts =
      byHand || provider === undefined || reference === null
        ? { state: 'done', reference: 'by hand' }
        : await askForRefund(provider, { order: order.id, reference, payment: order.payment }, paid, refund)
    if (facts.state === 'failed') await this.#unlock(order, refund)
    const changedOrder = await changes.apply(
      order.id,
      by,
      (stored) => {
        if (stored.state !== 'refunding' || stored.refund?.id !== refund.id) return null
        const now = clock.now()
        if (facts.state === 'failed') return fail(stored, refund, facts.reason ?? 'the provider refused', now, by)
        if (facts.state === 'done') return complete(stored, refund, facts, now, by)
        return {
          order: {
            ...stored,
            failure: null,
            checkedAt: now,
            checks: stored.checks + 1,
            nextCheckAt: computeNextCheck(stored, now),
          },
          steps: [],
        }
      },
      { ending, author },
    )
    if (changedOrder === undefined) return { kind: 'refused', reason: 'unknown' }
    if (facts.state === 'failed') return { kind: 'failed', order: changedOrder }
    return { kind: facts.state === 'done' ? 'done' : 'started', order: changedOrder, byHand }
  }

  /** The subscriptions that end when all money of an order goes back: also those that took off their price what it had paid for. */
  async listEndingWith(order: Order): Promise<readonly string[]> {
    const { ending, followers } = await this.#findPaidFor(order)
    return [...ending, ...followers]
  }

  /**
   * What the money of an order still pays for: its own subscription, unless the provider has charged a later span of it (`ending`); and what
   * later orders took off their price for its unused days (`credited`), with their subscriptions and those of the upgrades after them.
   */
  async #findPaidFor(order: Order): Promise<{
    readonly ending: readonly string[]
    readonly followers: readonly string[]
    readonly credited: number
  }> {
    const { id, account, subscription } = order
    if (subscription === null) return { ending: [], followers: [], credited: 0 }
    const states = ['granted', 'disputed', 'refunding'] as const
    const later = (await this.#deps.store.orders.list({ account, states, limit: maxLater })).filter((each) => each.id > id)
    const isRenewed = later.some((each) => each.subscription === subscription && each.event === 'renewal')
    const followers: string[] = []
    let creditedAmount = 0
    // Oldest first, so that each upgrade comes after the one that it follows.
    for (const { formerSubscription, subscription: next, credit } of later.toReversed()) {
      if (credit === 0 || next === null || next === formerSubscription) continue
      if (formerSubscription === subscription) creditedAmount += credit
      else if (formerSubscription === null || !followers.includes(formerSubscription)) continue
      followers.push(next)
    }
    return { ending: isRenewed ? [] : [subscription], followers, credited: creditedAmount }
  }

  /** While the member's bank demands the money back, the unspent credits of a pack cannot be spent. */
  async lockDisputed(order: Order, by: OrderActor): Promise<void> {
    const { changes, clock, ids } = this.#deps
    if (order.item.kind !== 'pack' || order.state !== 'disputed') return
    for (let attempt = 0, current = order; attempt < 3; attempt++) {
      if (current.refund === null || attempt > 0) {
        const now = clock.now()
        const lockedCredits = await this.#countUnspent(current)
        const refund = { id: ids.next('ref_', now), amount: current.paid?.amount ?? 0, lockedCredits, reason: 'dispute' }
        const disputedOrder = await changes.apply(order.id, by, (each) =>
          each.state === 'disputed' ? { order: { ...each, refund }, steps: [] } : null,
        )
        if (disputedOrder?.refund?.id !== refund.id) return
        current = disputedOrder
      }
      if (current.refund !== null && (await this.#lock(current, current.refund))) return
    }
  }

  /** The member's bank has decided for the payment. */
  async unlockDisputed(order: Order): Promise<void> {
    if (order.refund?.reason === 'dispute') await this.#unlock(order, order.refund)
  }

  /** Takes what is left of a pack whose money went back at the provider. A refund of our own, and a dispute, have locked it before. */
  async takeRest(order: Order): Promise<void> {
    if (order.pack === null || order.refund !== null) return
    for (let attempt = 0; attempt < 3; attempt++) {
      const credits = await this.#countUnspent(order)
      if (credits === 0) return
      const refund = { id: `${order.id}_rest_${credits}`, amount: 0, lockedCredits: credits, reason: 'refunded at the provider' }
      if (await this.#lock(order, refund)) return
    }
  }

  /** Credits of the order's pack that are neither spent nor held. */
  async #countUnspent(order: Order): Promise<number> {
    const pack = order.pack === null ? undefined : await this.#deps.ledger.findPack(order.account, order.pack)
    if (pack === undefined || pack.expiresAt <= this.#deps.clock.now()) return 0
    return pack.granted - pack.reserved - pack.settled
  }

  /** False where too little is left of the pack. */
  async #lock({ account, pack }: Order, { id, lockedCredits, reason }: OrderRefund): Promise<boolean> {
    if (pack === null || lockedCredits === 0) return true
    return this.#deps.ledger.changePack({ id, account, pack, credits: -lockedCredits, reason, at: this.#deps.clock.now() })
  }

  async #unlock({ account, pack }: Order, { id, lockedCredits, reason }: OrderRefund): Promise<void> {
    if (pack === null || lockedCredits === 0) return
    await this.#deps.ledger.changePack({
      id: `${id}_back`,
      account,
      pack,
      credits: lockedCredits,
      reason,
      at: this.#deps.clock.now(),
    })
  }
}

/** The provider returns no money, so the operator sends it. */
function isSentByHand({ reference }: Pick<Order, 'reference'>, provider: PaymentProvider | undefined): boolean {
  return provider === undefined || !provider.canRefund || reference === null
}

/**
 * What a refund counts as in the daily limit of an operator's key: the credits that it takes, and at least its money, with a millionth of the
 * currency's unit as one credit. No rate of exchange is known, so a dollar, a euro and a yen count alike.
 */
export function countMovedCredits({ amount, currency }: Money, lockedCredits: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, Math.max(lockedCredits, amount * 10 ** (6 - getMinorDigits(currency))))
}

/** What the provider refuses for good, such as a payment that it has refunded before, has failed; other errors are no answer. */
async function askForRefund(
  provider: PaymentProvider,
  payment: PaymentRef,
  paid: Money,
  refund: OrderRefund,
): Promise<RefundFacts> {
  try {
    return await provider.refund(payment, { ...paid, amount: refund.amount }, refund.id)
  } catch (error) {
    if (!(error instanceof PaymentProviderError) || error.reason !== 'refused') throw error
    return { state: 'failed', reference: refund.id, reason: error.message }
  }
}

/** Rounded down; exact also where the product is not. */
function scale(amount: number, part: number, whole: number): number {
  return Number((BigInt(amount) * BigInt(part)) / BigInt(whole))
}

/** As before the refund: what was granted is the member's again. The provider is asked soon whether the money went back in another way. */
function fail(order: Order, refund: OrderRefund, reason: string, now: number, by: OrderActor): Transition | null {
  if (order.state !== 'refunding' || order.refund?.id !== refund.id) return null
  const state = order.grantedAt === null ? 'paid' : order.closedAt === null ? 'granted' : 'refunded'
  return {
    // A part was refunded before: the refund is kept, by which what is left of a pack is known to be the member's.
    order: { ...order, state, refund: state === 'refunded' ? refund : null, nextCheckAt: computeNextCheck({ checks: 0 }, now) },
    steps: [{ at: now, kind: 'refund_failed', by, facts: { refund: refund.id, reason } }],
  }
}

function complete(
  order: Order,
  refund: OrderRefund,
  facts: RefundFacts,
  now: number,
  by: OrderActor,
): Transition & { readonly takesBack: boolean } {
  const money = formatMoney({ amount: refund.amount, currency: order.paid?.currency ?? order.due.currency })
  const refundedAmount = order.refunded + refund.amount
  const remainingAmount = (order.paid?.amount ?? 0) - refundedAmount
  // The rest of what grants nothing stays to be refunded, or completed.
  const state = order.grantedAt === null && remainingAmount > 0 ? 'paid' : 'refunded'
  const problem =
    state === 'refunded' ? null : remainingAmount < order.due.amount && order.problem !== 'currency' ? 'amount' : order.problem
  const isFollowed = state === 'paid' || order.providerSubscription !== null
  return {
    order: {
      ...order,
      state,
      problem,
      failure: null,
      refunded: refundedAmount,
      closedAt: state === 'paid' ? null : now,
      nextCheckAt: isFollowed ? computeNextCheck({ checks: 0 }, now) : null,
    },
    steps: [{ at: now, kind: 'refunded', by, facts: { money, refund: refund.id, reference: facts.reference } }],
    takesBack: true,
  }
}
