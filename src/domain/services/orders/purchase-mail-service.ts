/**
 * Emails about purchases. Each is a stored notice: those about an order are written in the transaction of its change, those about a
 * subscription by a periodic job that reads what is near its end, each once. A notice is sent until the mail server has taken its email, so
 * that a process that ends loses none; only one that is killed between the sending and the note of it sends one again.
 */
import { toMoney } from '../../billing/money.ts'
import type { Order } from '../../billing/orders/order.ts'
import { createRenewalToken } from '../../billing/email-link-token.ts'
import { createCalendar } from '../../billing/period.ts'
import type { Plans } from '../../billing/catalog/plan.ts'
import type { ClaimedPurchaseNotice } from '../../billing/orders/purchase-notice.ts'
import { toSpan } from '../../billing/orders/purchase-quote.ts'
import { chooseNotices, endNoticeMs, renewalNoticeMs, termsNoticeMs } from '../../billing/subscriptions/subscription-notice.ts'
import type { SubscriptionNotice } from '../../billing/subscriptions/subscription-notice.ts'
import type { Subscription } from '../../billing/subscriptions/subscription.ts'
import { resolvePlan } from '../../billing/subscriptions/terms.ts'
import type { Account } from '../../identity/account.ts'
import type { Store } from '../../store.ts'
import type { DeliveryOutcome, MemberMailer, MemberRecipient, PurchaseEmail } from '../../member-mailer.ts'
import { findRenewalPrice } from './order-renewals.ts'

interface PurchaseMailDeps {
  readonly store: Pick<Store, 'accounts' | 'orders' | 'purchaseNotices' | 'subscriptions'>
  readonly mailer: Pick<MemberMailer, 'deliverPurchaseEmail'>
  readonly plans: Plans
  readonly clock: { now(): number }
  readonly secret: Uint8Array
  /** The operator's, in which orders and spans are counted. */
  readonly timeZone: string
}

const [minuteMs, dayMs] = [60_000, 86_400_000]
/** Longer than a year, the longest span of a plan. */
const keepNoticesMs = 400 * dayMs
/** Money is worth reading about as long. */
const orderUsefulMs = 7 * dayMs
/** Longer than a mail server can take for one email. */
const leaseMs = 10 * minuteMs
const maxPauseMs = 60 * minuteMs
/** The server may have an email that it did not acknowledge: each further attempt may be a further copy. */
const maxUnansweredAttempts = 3
const pageSize = 500

export class PurchaseMailService {
  readonly #deps: PurchaseMailDeps

  constructor(deps: PurchaseMailDeps) {
    this.#deps = deps
  }

  /** Stores what is to be announced about subscriptions that were bought. */
  async recordDue(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps
    const now = clock.now()
    await store.purchaseNotices.sweep(now - keepNoticesMs)
    for (let after = ''; !signal.aborted;) {
      const window = { endsBefore: now + renewalNoticeMs, endedSince: now - endNoticeMs }
      const page = await store.subscriptions.listPurchased({ ...window, after, limit: pageSize })
      for (const subscription of page) {
        if (signal.aborted) return
        const { id: about, account } = subscription
        for (const notice of await this.#chooseNotices(subscription, now))
          await store.purchaseNotices.record({ account, about, ...notice }, now)
      }
      const last = page.at(-1)
      if (last === undefined || page.length < pageSize) return
      after = last.id
    }
  }

  /** Sends the emails of all due notices; of one order if `about` names it. */
  async sendDue(signal: AbortSignal, about?: string): Promise<void> {
    const { store, clock } = this.#deps
    const query = { leaseMs, maxPauseMs, ...(about === undefined ? {} : { about }) }
    while (!signal.aborted) {
      const notice = await store.purchaseNotices.claim({ ...query, now: clock.now() })
      if (notice === undefined) return
      // A mail server that is down is left alone until the next run.
      if ((await this.#send(notice, signal)) === 'unavailable') return
    }
  }

  /** Whether the member was written to about these terms long enough before the end of the running span. */
  async wasAnnounced({ id: about, endsAt }: Subscription, terms: string): Promise<boolean> {
    const sentAt = await this.#deps.store.purchaseNotices.findSentAt({ about, kind: 'terms', subject: terms })
    return sentAt !== null && endsAt !== null && sentAt + termsNoticeMs <= endsAt
  }

  async #chooseNotices(subscription: Subscription, now: number): Promise<readonly SubscriptionNotice[]> {
    const all = await this.#deps.store.subscriptions.list(subscription.account)
    const others = all.filter(({ id }) => id !== subscription.id)
    return chooseNotices(subscription, others, now)
  }

  async #send(notice: ClaimedPurchaseNotice, signal: AbortSignal): Promise<DeliveryOutcome | null> {
    const { store, mailer, clock } = this.#deps
    const { purchaseNotices: notices } = store
    const purchaseMail = await this.#read(notice)
    if (purchaseMail === 'over') {
      await notices.remove(notice)
      return null
    }
    if (purchaseMail === 'no recipient') {
      await notices.complete(notice, null)
      return null
    }
    const outcome = await mailer.deliverPurchaseEmail(purchaseMail.recipient, purchaseMail.email, signal)
    const isRepeated = outcome === 'unavailable' || (outcome === 'unknown' && notice.attempt < maxUnansweredAttempts)
    if (isRepeated) await notices.retryAt(notice, clock.now() + toPauseMs(notice.attempt))
    else await notices.complete(notice, outcome === 'sent' ? clock.now() : null)
    return outcome
  }

  /** What a notice is about may have changed since it was stored: then it is over. */
  async #read(
    notice: ClaimedPurchaseNotice,
  ): Promise<{ readonly recipient: MemberRecipient; readonly email: PurchaseEmail } | 'over' | 'no recipient'> {
    const { store, clock } = this.#deps
    const { kind, subject, about } = notice
    const account = await store.accounts.find(notice.account)
    if (kind === 'receipt' || kind === 'refunded') {
      const order = await store.orders.find(about)
      if (order === undefined || clock.now() - notice.createdAt > orderUsefulMs) return 'over'
      const recipient = this.#toRecipient(account, order)
      // More may have been refunded since, which has an email of its own.
      const email = { kind, order: kind === 'refunded' ? { ...order, refunded: Number(subject) } : order } as const
      return recipient === undefined ? 'no recipient' : { recipient, email }
    }
    const subscription = await store.subscriptions.find(about)
    const isDue =
      subscription !== undefined &&
      (await this.#chooseNotices(subscription, clock.now())).some((each) => each.kind === kind && each.subject === subject)
    if (!isDue) return 'over'
    const order = await store.orders.findBySubscription(about)
    const recipient = order === undefined ? undefined : this.#toRecipient(account, order)
    if (order === undefined || account === undefined || recipient === undefined) return 'no recipient'
    const email = await this.#write(subscription, { kind, subject }, { order, account })
    return email === undefined ? 'over' : { recipient, email }
  }

  async #write(
    subscription: Subscription,
    { kind, subject }: SubscriptionNotice,
    { order, account }: { readonly order: Order; readonly account: Account },
  ): Promise<PurchaseEmail | undefined> {
    const { store, plans, secret, timeZone, clock } = this.#deps
    const { terms, endsAt, renewal } = subscription
    if (endsAt === null) return undefined
    const about = { plan: terms.plan.name, planId: terms.plan.id, endsAt }
    if (kind === 'payment_failed') return { kind, ...about }
    if (kind === 'ended') return { kind, ...about, next: resolvePlan(plans, account).name }
    const { item } = order
    const price = await findRenewalPrice(terms, order, (id) => this.wasAnnounced(subscription, id))
    const cancelToken = createRenewalToken(secret, account.id)
    if (kind === 'renewal') {
      const renews = renewal === 'provider'
      return { kind, ...about, renews, price, cancelToken: renews ? cancelToken : null }
    }
    const to = await store.subscriptions.findTerms(subject)
    if (to === undefined || item.kind !== 'plan') return undefined
    const { interval } = item
    const next = to.plan.prices.find((each) => each.interval === interval && each.currency === price.currency)
    const newPrice = next === undefined ? price : toMoney(next.amount, next.currency)
    // Announced too late for the end of this span, they apply from the next one.
    const from = clock.now() + termsNoticeMs
    const begin = endsAt >= from ? endsAt : createCalendar(timeZone).addSpan(endsAt, toSpan(interval))
    return { kind, ...about, endsAt: begin, from: terms, to, interval, price, newPrice, cancelToken }
  }

  /** In the language of the order, and in the operator's time zone, as the span of the plan. */
  #toRecipient(account: Account | undefined, { language }: Order): MemberRecipient | undefined {
    if (account?.email == null || account.status === 'deleted') return undefined
    return { to: account.email, reader: { language, timeZone: this.#deps.timeZone } }
  }
}

/** 1, 2, 4 … minutes, and an hour at most. */
function toPauseMs(attempt: number): number {
  return Math.min(maxPauseMs, 2 ** Math.min(attempt - 1, 10) * minuteMs)
}
