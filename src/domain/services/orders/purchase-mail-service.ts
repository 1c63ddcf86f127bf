/**
 * Emails about purchases. Those about an order follow its changes. Those about a subscription are sent by a periodic job that reads what is
 * near its end; each is an attempt that is allowed once, so that all nodes together send it once and a crash sends none twice.
 */
import { toMoney } from '../../billing/money.ts'
import type { Order, OrderStep } from '../../billing/order.ts'
import { createRenewalToken } from '../../billing/email-link-token.ts'
import { createCalendar } from '../../billing/period.ts'
import type { Plans } from '../../billing/plan.ts'
import { toSpan } from '../../billing/purchase-quote.ts'
import { chooseNotices, endNoticeMs, renewalNoticeMs, termsNoticeMs } from '../../billing/subscription-notice.ts'
import type { SubscriptionNotice } from '../../billing/subscription-notice.ts'
import type { Subscription } from '../../billing/subscription.ts'
import { resolvePlan } from '../../billing/terms.ts'
import type { Account } from '../../identity/account.ts'
import type { Store } from '../../store.ts'
import type { MemberMailer, MemberRecipient, PurchaseEmail } from '../member-mailer.ts'
import { findRenewalPrice } from './order-renewals.ts'

interface PurchaseMailDeps {
  readonly store: Pick<Store, 'accounts' | 'attempts' | 'orders' | 'subscriptions'>
  readonly mailer: Pick<MemberMailer, 'sendPurchaseEmail'>
  readonly plans: Plans
  readonly clock: { now(): number }
  readonly secret: Uint8Array
  /** The operator's, in which orders and spans are counted. */
  readonly timeZone: string
  /** An email could not be sent. */
  readonly onFailure: (error: unknown) => void
}

/** Longer than a year, the longest span of a plan. */
const keepAnnouncementsMs = 400 * 86_400_000
const pageSize = 500

export class PurchaseMailService {
  readonly #deps: PurchaseMailDeps

  constructor(deps: PurchaseMailDeps) {
    this.#deps = deps
  }

  /** Sends the receipt of an order that was delivered, and the notice of a refund. */
  onChanged(order: Order, steps: readonly OrderStep[]): void {
    void this.report(order, steps)
  }

  /** The same for a command, which waits for the emails. Never rejects. */
  async report(order: Order, steps: readonly OrderStep[]): Promise<void> {
    const kinds = new Set(steps.map(({ kind }) => kind))
    try {
      if (kinds.has('granted')) await this.#sendAboutOrder(order, 'receipt')
      if (kinds.has('refunded') || kinds.has('refunded_at_provider') || kinds.has('dispute_lost'))
        await this.#sendAboutOrder(order, 'refunded')
    } catch (error) {
      this.#deps.onFailure(error)
    }
  }

  async #sendAboutOrder(order: Order, kind: 'receipt' | 'refunded'): Promise<void> {
    const { store, mailer } = this.#deps
    const recipient = this.#toRecipient(await store.accounts.find(order.account), order)
    if (recipient !== undefined) await mailer.sendPurchaseEmail(recipient, { kind, order })
  }

  /** Sends what is due about subscriptions that were bought. */
  async sendDue(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps
    const now = clock.now()
    for (let after = ''; !signal.aborted;) {
      const window = { endsBefore: now + renewalNoticeMs, endedSince: now - endNoticeMs }
      const page = await store.subscriptions.listPurchased({ ...window, after, limit: pageSize })
      for (const subscription of page) {
        if (signal.aborted) return
        const others = await store.subscriptions.list(subscription.account)
        const notices = chooseNotices(
          subscription,
          others.filter(({ id }) => id !== subscription.id),
          now,
        )
        for (const notice of notices) await this.#sendOnce(subscription, notice, now)
      }
      const last = page.at(-1)
      if (last === undefined || page.length < pageSize) return
      after = last.id
    }
  }

  /** Whether the member was written to about these terms long enough before the end of the running span. */
  async wasAnnounced(subscription: Subscription, terms: string): Promise<boolean> {
    const { store, clock } = this.#deps
    const freeAt = await store.attempts.findFreeAt(
      toSubject(subscription.id, { kind: 'terms', subject: terms }),
      once,
      clock.now(),
    )
    const { endsAt } = subscription
    return freeAt !== null && endsAt !== null && freeAt - keepAnnouncementsMs + termsNoticeMs <= endsAt
  }

  async #sendOnce(subscription: Subscription, notice: SubscriptionNotice, now: number): Promise<void> {
    const { store, mailer } = this.#deps
    const subject = toSubject(subscription.id, notice)
    if ((await store.attempts.findFreeAt(subject, once, now)) !== null) return
    const order = await store.orders.findBySubscription(subscription.id)
    const account = await store.accounts.find(subscription.account)
    const recipient = order === undefined ? undefined : this.#toRecipient(account, order)
    if (order === undefined || account === undefined || recipient === undefined) return
    const email = await this.#write(subscription, notice, { order, account })
    if (email === undefined || (await store.attempts.consume(subject, once, now)) !== null) return
    if (!(await mailer.sendPurchaseEmail(recipient, email))) await store.attempts.restore(subject)
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

const once = { times: 1, withinMs: keepAnnouncementsMs }

function toSubject(subscription: string, { kind, subject }: SubscriptionNotice): string {
  return `purchase-mail:${subscription}:${kind}:${subject}`
}
