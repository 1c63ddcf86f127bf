/** Gives plans to accounts, begins and ends their subscriptions, and moves subscriptions to other terms. The only writer of plans. */
import { applyGroupTerms } from '../billing/subscriptions/group-plan.ts'
import type { Calendar } from '../billing/period.ts'
import type { Plan, Plans } from '../billing/catalog/plan.ts'
import { getPlan } from '../billing/catalog/plan.ts'
import type { AuditWriter } from '../identity/audit.ts'
import { arrangeSubscriptions, projectStretches } from '../billing/subscriptions/subscription-queue.ts'
import type { PlanStretch, Queue, QueueRules } from '../billing/subscriptions/subscription-queue.ts'
import { createSubscription } from '../billing/subscriptions/subscription.ts'
import type { Entitlement, EntitlementChange, Subscription, Subscriptions } from '../billing/subscriptions/subscription.ts'
import type { PlanTerms } from '../billing/subscriptions/terms.ts'
import { includesPlan } from '../billing/subscriptions/terms.ts'
import type { Accounts } from '../identity/account.ts'

interface SubscriptionDeps {
  readonly store: { readonly subscriptions: Subscriptions; readonly accounts: Pick<Accounts, 'endExpiredPlans'> }
  readonly plans: Plans['plans']
  readonly defaultPlan: string
  readonly calendar: Pick<Calendar, 'addSpan'>
  readonly clock: { now(): number }
  readonly ids: { next(prefix: string, now: number): string }
  readonly writeAudit: AuditWriter
  /** Called when the plan in effect has changed. */
  readonly onCredentialsChanged: (account: string) => void
}

/** How many accounts one statement lists. */
const batchSize = 100

export class SubscriptionService {
  readonly #deps: SubscriptionDeps
  readonly #rules: QueueRules

  constructor(deps: SubscriptionDeps) {
    this.#deps = deps
    this.#rules = {
      calendar: deps.calendar,
      defaultPlan: deps.defaultPlan,
      getPlan: (id) => getPlan(deps, id),
    }
  }

  get rules(): QueueRules {
    return this.#rules
  }

  /**
   * Gives a plan by hand, in place of what was given before. With an end it is a subscription that keeps its terms; without one it follows the
   * configuration. What the member redeemed or paid for stays, and applies where it is higher. Returns the plan in effect, and what was
   * before; undefined where there is no such account.
   */
  async give(
    account: string,
    plan: Plan,
    until: number | null,
  ): Promise<(EntitlementChange & { readonly before: Entitlement }) | undefined> {
    const { store, clock, ids, defaultPlan } = this.#deps
    const now = clock.now()
    const terms = until === null ? null : await store.subscriptions.ensureTerms(plan, now)
    const id = ids.next('sub_', now)
    const result = await store.subscriptions.change(account, (entitlement) => {
      if (entitlement.isDeleted) return null
      const earlierSubscriptions = entitlement.subscriptions.map((each) => (each.source === 'given' ? end(each, now) : each))
      const givenSubscriptions =
        terms === null || until === null
          ? []
          : [createSubscription({ id, account, terms, source: 'given', endsAt: until, createdAt: now })]
      const basePlan = until === null && plan.id !== defaultPlan ? plan.id : null
      return this.arrange(entitlement, { basePlan, subscriptions: [...earlierSubscriptions, ...givenSubscriptions] }, now, {
        endsDue: true,
      })
    })
    if (result?.change == null) return undefined
    this.#deps.onCredentialsChanged(account)
    return { ...result.change, before: result.before }
  }

  /**
   * At a sign-in with a provider: gives the plan of its groups until twelve hours from now, or ends the one that they gave before (null).
   * Undefined where nothing has changed.
   */
  async applyGroupPlan(
    account: string,
    provider: string,
    plan: Plan | null,
  ): Promise<{ readonly before: Entitlement; readonly change: EntitlementChange } | undefined> {
    const { store, clock, ids, onCredentialsChanged } = this.#deps
    const now = clock.now()
    // Most sign-ins have no such plan, and write nothing.
    if (plan === null && !(await store.subscriptions.list(account)).some((each) => each.provider === provider)) return undefined
    const terms = plan === null ? null : await store.subscriptions.ensureTerms(plan, now)
    const id = ids.next('sub_', now)
    const result = await store.subscriptions.change(account, (entitlement) => {
      // A plan that a version without terms gave with an end gets its terms from the job, and is no part of the queue before.
      if (entitlement.isDeleted || (entitlement.planUntil !== null && entitlement.terms === null)) return null
      const subscriptions = applyGroupTerms(entitlement.subscriptions, { id, account, provider, terms, now })
      if (subscriptions === entitlement.subscriptions) return null
      return this.arrange(entitlement, { ...this.toQueue(entitlement), subscriptions }, now, { endsDue: false })
    })
    if (result?.change == null) return undefined
    onCredentialsChanged(account)
    return { before: result.before, change: result.change }
  }

  /** Ends one subscription before its end; the next one begins. False where it has ended already. */
  async end(subscription: string): Promise<boolean> {
    const { store, clock, onCredentialsChanged } = this.#deps
    const now = clock.now()
    const storedSubscription = await store.subscriptions.find(subscription)
    if (storedSubscription === undefined) return false
    const result = await store.subscriptions.change(storedSubscription.account, (entitlement) => {
      if (!entitlement.subscriptions.some(({ id }) => id === subscription)) return null
      const subscriptions = entitlement.subscriptions.map((each) => (each.id === subscription ? end(each, now) : each))
      return this.arrange(entitlement, { ...this.toQueue(entitlement), subscriptions }, now, { endsDue: true })
    })
    if (result?.change == null) return false
    onCredentialsChanged(storedSubscription.account)
    return true
  }

  /** The subscriptions of an account as they will run, one after the other, if nothing else is bought or given. */
  async listStretches(account: string): Promise<readonly PlanStretch[]> {
    const { store, clock } = this.#deps
    const entitlement = await store.subscriptions.findEntitlement(account)
    return entitlement === undefined ? [] : projectStretches(this.toQueue(entitlement), clock.now(), this.#rules)
  }

  /** Begins and ends what is due. Needs a clock that is right. Returns how many accounts have another plan or another end of it. */
  async advanceDue(): Promise<number> {
    const { store, clock, defaultPlan } = this.#deps
    const now = clock.now()
    const endedAccounts = await store.accounts.endExpiredPlans(now, defaultPlan)
    for (const account of endedAccounts) await this.#reportEnd(account, defaultPlan, null)
    await this.#adoptGivenPlans(now)
    const dueAccounts = await store.subscriptions.listDue(now, batchSize)
    for (const account of dueAccounts) {
      const result = await store.subscriptions.change(account, (entitlement) =>
        this.arrange(entitlement, this.toQueue(entitlement), now, { endsDue: true }),
      )
      if (result?.change == null || result.before.isDeleted) continue
      const { plan, terms } = result.change
      if (plan !== result.before.plan || terms !== result.before.terms) await this.#reportEnd(account, plan, terms)
    }
    return endedAccounts.length + dueAccounts.length
  }

  async #reportEnd(account: string, plan: string, terms: string | null): Promise<void> {
    this.#deps.onCredentialsChanged(account)
    await this.#deps.writeAudit('plan_changed', account, null, {
      by: 'the end of the plan',
      plan,
      ...(terms === null ? null : { terms }),
    })
  }

  /** Plans that a version without terms gave with an end keep the terms that they have now. */
  async #adoptGivenPlans(now: number): Promise<void> {
    const { store, plans, ids } = this.#deps
    for (const { account, plan } of await store.subscriptions.listWithoutTerms(Object.keys(plans), batchSize)) {
      const terms = await store.subscriptions.ensureTerms(getPlan(this.#deps, plan), now)
      const id = ids.next('sub_', now)
      const result = await store.subscriptions.change(account, (entitlement) => {
        const { planUntil, isDeleted } = entitlement
        if (isDeleted || planUntil === null || entitlement.terms !== null || entitlement.plan !== plan) return null
        const givenSubscription = createSubscription({ id, account, terms, source: 'given', endsAt: planUntil, createdAt: now })
        const subscriptions = [...entitlement.subscriptions.filter(({ source }) => source !== 'given'), givenSubscription]
        return this.arrange(entitlement, { basePlan: null, subscriptions }, now, { endsDue: false })
      })
      if (result?.change != null) this.#deps.onCredentialsChanged(account)
    }
  }

  /**
   * Moves the subscriptions of some terms to others: now, or each with its next renewal. Those that are not renewed keep their terms to their
   * end. Returns how many of each there are, also where nothing is to be changed (`isDryRun`).
   */
  async move({ from, to, at, isDryRun, reason }: TermsMove): Promise<TermsMoveResult> {
    const { store, clock, writeAudit, onCredentialsChanged } = this.#deps
    const result = { moved: 0, unchanged: 0, givesLess: !includesPlan(to.plan, from.plan) }
    for (let after = ''; ;) {
      const accounts = await store.subscriptions.listSubscribers(from.id, { after, limit: batchSize })
      for (const account of accounts) {
        const moves = (each: Subscription) => each.terms.id === from.id && (at === 'now' || each.renewal !== 'none')
        const now = clock.now()
        const moveOne = (each: Subscription): Subscription =>
          !moves(each) ? each : at === 'now' ? { ...each, terms: to } : { ...each, nextTerms: to.id }
        let counts = { moved: 0, unchanged: 0 }
        const changeResult = await store.subscriptions.change(account, (entitlement) => {
          const those = entitlement.subscriptions.filter(({ terms }) => terms.id === from.id)
          counts = { moved: those.filter(moves).length, unchanged: those.filter((each) => !moves(each)).length }
          if (isDryRun || counts.moved === 0) return null
          const queue = this.toQueue(entitlement)
          return this.arrange(entitlement, { ...queue, subscriptions: queue.subscriptions.map(moveOne) }, now, { endsDue: false })
        })
        result.moved += counts.moved
        result.unchanged += counts.unchanged
        if (changeResult?.change == null) continue
        onCredentialsChanged(account)
        await writeAudit('plan_changed', account, null, {
          by: 'operator',
          from: from.id,
          terms: to.id,
          ...(at === 'now' ? null : { at }),
          ...(reason === null ? null : { reason }),
        })
      }
      const last = accounts.at(-1)
      if (last === undefined) return result
      after = last
    }
  }

  /** The stored subscriptions with the plan that was given without an end. */
  toQueue({ plan, planUntil, terms, basePlan, subscriptions }: Entitlement): Queue {
    const { defaultPlan } = this.#deps
    const base = terms === null ? (planUntil === null && plan !== defaultPlan ? plan : null) : basePlan
    return { basePlan: base, subscriptions }
  }

  /** Arranges the queue that a change has left; its subscriptions may be new or altered. */
  arrange(
    { subscriptions: stored }: Pick<Entitlement, 'subscriptions'>,
    queue: Queue,
    now: number,
    options: { readonly endsDue: boolean },
  ): EntitlementChange {
    const { subscriptions, ...effect } = arrangeSubscriptions(queue, now, this.#rules, options)
    return { ...effect, changed: subscriptions.filter((each) => !stored.includes(each)) }
  }
}

export interface TermsMove {
  readonly from: PlanTerms
  readonly to: PlanTerms
  readonly at: 'now' | 'renewal'
  readonly isDryRun: boolean
  readonly reason: string | null
}

interface TermsMoveResult {
  readonly moved: number
  /** Those that are not renewed. */
  readonly unchanged: number
  /** Whether the new terms give less of something. */
  readonly givesLess: boolean
}

function end(subscription: Subscription, at: number): Subscription {
  return { ...subscription, state: 'ended', endedAt: at }
}
