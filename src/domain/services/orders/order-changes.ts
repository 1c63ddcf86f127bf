/**
 * Applies transitions to orders: with each one, what it grants or takes, and the emails to send, are written in the same transaction. The only
 * place where an order grants something. What follows a commit (delivery of a pack, audit log) may be lost with the process; deliveries are
 * repeated by the sweep of boosts.
 */
import type { BoostClaim } from '../../billing/boost.ts'
import type { Pack } from '../../billing/ledger.ts'
import { formatMoney } from '../../billing/money.ts'
import type { Order, OrderActor, OrderChange, OrderStep, OrderStepKind } from '../../billing/orders/order.ts'
import { listOrderNotices, recordClosed, recordGrant, recordProblem } from '../../billing/orders/order-rules.ts'
import type { Transition } from '../../billing/orders/order-rules.ts'
import type { Calendar } from '../../billing/period.ts'
import type { Entitlement } from '../../billing/subscriptions/subscription.ts'
import type { AuditEvent, AuditWriter } from '../../identity/audit.ts'
import type { Store } from '../../store.ts'
import type { OperatorAuthor } from '../operators/operator-author.ts'
import { toAuditAuthor } from '../operators/operator-author.ts'
import type { SubscriptionService } from '../subscription-service.ts'
import { decideGrant, decideTakeBack } from './order-grants.ts'
import type { GrantContext } from './order-grants.ts'

export interface OrderChangeDeps {
  readonly store: Pick<Store, 'orders' | 'subscriptions'>
  readonly subscriptions: SubscriptionService
  readonly boosts: { deliver(claim: BoostClaim): Promise<Pack> }
  readonly calendar: Pick<Calendar, 'addSpan'>
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string }
  readonly writeAudit: AuditWriter
  readonly onCredentialsChanged: (account: string) => void
}

interface ChangeOptions {
  /** The subscriptions that end where the decision takes back. */
  readonly ending?: readonly string[]
  /** The operator behind the change, whom the audit log names. */
  readonly author?: OperatorAuthor | undefined
}

/** Reasons that a later decision may find gone; others need a person. */
const passingProblems: readonly Order['problem'][] = ['account_deleted', 'never_begins', 'credit_used']

const auditEvents: Partial<Record<OrderStepKind, AuditEvent>> = {
  created: 'order_created',
  paid: 'order_paid',
  payment_corrected: 'order_paid',
  paid_again: 'order_paid',
  granted: 'order_granted',
  not_granted: 'order_not_granted',
  refund_started: 'order_refund_started',
  refunded: 'order_refunded',
  refunded_at_provider: 'order_refunded',
  refund_failed: 'order_refund_failed',
  disputed: 'order_disputed',
  dispute_won: 'order_disputed',
  dispute_lost: 'order_disputed',
  renewal_cancelled: 'order_renewal_cancelled',
  expired: 'order_closed',
  cancelled: 'order_closed',
}

export class OrderChanges {
  readonly #deps: OrderChangeDeps

  constructor(deps: OrderChangeDeps) {
    this.#deps = deps
  }

  /**
   * Changes an order as `decide` says, and grants it where its money was seen. `decide` may run again; null changes nothing. Returns the order
   * as it is afterwards; undefined where there is none.
   */
  async apply(
    id: string,
    by: OrderActor,
    decide: (order: Order) => (Transition & { readonly takesBack?: boolean }) | null,
    { ending = [], author }: ChangeOptions = {},
  ): Promise<Order | undefined> {
    const { store, clock } = this.#deps
    const now = clock.now()
    const context = { ...(await this.#readContext(id, now)), ending }
    let writtenChange: OrderChange | null = null
    const result = await store.orders.change(id, (order, entitlement) => {
      writtenChange = withNotices(this.#complete(order, entitlement, decide(order), context, by))
      return writtenChange
    })
    if (result === undefined) return undefined
    if (result === 'payment_of_another_order') return this.#refusePayment(id, by, now, author)
    if (result === 'reference_of_another_order') return this.#refuseReference(id, by, now, author)
    if (result.isChanged && writtenChange !== null) await this.#follow(writtenChange, author)
    return result.order
  }

  /** Writes steps that were stored to the audit log. */
  async report(order: Order, steps: readonly OrderStep[], author?: OperatorAuthor): Promise<void> {
    for (const { kind, by, facts } of steps) {
      const event = auditEvents[kind]
      if (event !== undefined)
        await this.#deps.writeAudit(
          event,
          order.account,
          author?.client ?? null,
          { by, order: order.id, number: order.number, step: kind, ...facts },
          author && toAuditAuthor(author),
        )
    }
  }

  async #readContext(id: string, now: number): Promise<Omit<GrantContext, 'ending'>> {
    const { store, subscriptions, calendar, ids } = this.#deps
    const order = await store.orders.find(id)
    const formerSubscription =
      order?.formerSubscription == null ? undefined : await store.subscriptions.find(order.formerSubscription)
    const paidBy = formerSubscription === undefined ? undefined : await store.orders.findBySubscription(formerSubscription.id)
    return {
      subscriptions,
      calendar,
      now,
      newSubscription: ids.next('sub_', now),
      former:
        formerSubscription === undefined
          ? null
          : {
              subscription: formerSubscription,
              paidBy: paidBy ?? null,
            },
    }
  }

  #complete(
    before: Order,
    entitlement: Entitlement | undefined,
    transition: (Transition & { readonly takesBack?: boolean }) | null,
    context: GrantContext,
    by: OrderActor,
  ): OrderChange | null {
    if (transition === null) return null
    const { order, steps, takesBack = false } = transition
    if (takesBack) {
      const entitlementChange = decideTakeBack(entitlement, context)
      return { order, steps, ...(entitlementChange === undefined ? {} : { entitlement: entitlementChange }) }
    }
    if (order.state !== 'paid') return { order, steps }
    if (order.problem !== null && !passingProblems.includes(order.problem))
      return withProblemStep(before, order, steps, context.now, by)
    const grant = decideGrant(order, entitlement, context)
    if (grant.kind === 'problem')
      return withProblemStep(before, recordProblem(order, grant.problem, context.now), steps, context.now, by)
    const grantedItem =
      grant.kind === 'plan' ? { subscription: grant.subscription, pack: null } : { subscription: null, pack: grant.claim.id }
    const grantTransition = recordGrant(order, grantedItem, context.now, by)
    const effect = grant.kind === 'plan' ? { entitlement: grant.entitlement } : { claim: grant.claim }
    return { order: grantTransition.order, steps: [...steps, ...grantTransition.steps], ...effect }
  }

  /** The money of this answer belongs to another order, so this one stays unpaid. */
  async #refusePayment(id: string, by: OrderActor, now: number, author?: OperatorAuthor): Promise<Order | undefined> {
    const refuse = (order: Order): OrderChange =>
      withProblemStep(order, recordProblem(order, 'payment_of_another_order', now), [], now, by)
    return this.#write(id, refuse, author)
  }

  /** The provider has opened nothing for this order: the same change of a plan was ordered twice at the same time. */
  async #refuseReference(id: string, by: OrderActor, now: number, author?: OperatorAuthor): Promise<Order | undefined> {
    const reason = 'another order has this payment: the same was ordered twice'
    const refuse = (order: Order): OrderChange | null =>
      order.state === 'created' ? recordClosed(order, 'cancelled', now, by, reason) : null
    return this.#write(id, refuse, author)
  }

  async #write(
    id: string,
    decide: (order: Order) => OrderChange | null,
    author: OperatorAuthor | undefined,
  ): Promise<Order | undefined> {
    const { store } = this.#deps
    let writtenChange: OrderChange | null = null
    const result = await store.orders.change(id, (order) => (writtenChange = withNotices(decide(order))))
    if (typeof result === 'object' && result.isChanged && writtenChange !== null) await this.#follow(writtenChange, author)
    return typeof result === 'object' ? result.order : store.orders.find(id)
  }

  async #follow({ order, steps, entitlement, claim }: OrderChange, author?: OperatorAuthor): Promise<void> {
    const { boosts, onCredentialsChanged } = this.#deps
    if (entitlement !== undefined) onCredentialsChanged(order.account)
    // The claim is stored: where this delivery fails, the sweep of boosts makes it.
    if (claim !== undefined) await boosts.deliver(claim).catch(() => undefined)
    await this.report(order, steps, author)
  }
}

function withNotices(change: OrderChange | null): OrderChange | null {
  return change === null ? null : { ...change, notices: listOrderNotices(change.order, change.steps) }
}

function withProblemStep(before: Order, order: Order, steps: readonly OrderStep[], at: number, by: OrderActor): OrderChange {
  if (order.problem === null || order.problem === before.problem) return { order, steps }
  const facts = {
    problem: order.problem,
    due: formatMoney(order.due),
    ...(order.paid === null ? {} : { paid: formatMoney(order.paid) }),
  }
  return { order, steps: [...steps, { at, kind: 'not_granted', by, facts }] }
}
