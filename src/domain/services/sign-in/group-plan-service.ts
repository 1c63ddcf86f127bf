/** Gives and takes the plans that follow the groups of a sign-in provider. */
import type { Plan } from '../../billing/catalog/plan.ts'
import type { AuditWriter } from '../../identity/audit.ts'
import type { ClientInfo } from '../../identity/client-info.ts'
import { formatInstant } from '../../instant.ts'
import type { SubscriptionService } from '../subscription-service.ts'

/** By provider, the ids of the plans that its groups give, the first first. */
export type GroupPlans = Readonly<Record<string, readonly (readonly [group: string, plan: string])[]>>

interface GroupPlanDeps {
  readonly subscriptions: Pick<SubscriptionService, 'applyGroupPlan'>
  readonly plans: Readonly<Record<string, Plan>>
  readonly groupPlans: GroupPlans
  readonly writeAudit: AuditWriter
}

export class GroupPlanService {
  readonly #deps: GroupPlanDeps

  constructor(deps: GroupPlanDeps) {
    this.#deps = deps
  }

  /** At a sign-in with a provider: the plan follows the member's groups of now. A sign-in that only moves its end has no audit record. */
  async applyGroups(account: string, provider: string, groups: readonly string[], client: ClientInfo): Promise<void> {
    const { subscriptions, plans, groupPlans, writeAudit } = this.#deps
    const rules = Object.hasOwn(groupPlans, provider) ? (groupPlans[provider] ?? []) : []
    const id = rules.find(([group]) => groups.includes(group))?.[1]
    const plan = id !== undefined && Object.hasOwn(plans, id) ? (plans[id] ?? null) : null
    const result = await subscriptions.applyGroupPlan(account, provider, plan)
    if (result === undefined) return
    const { before, change } = result
    if (before.plan === change.plan && before.terms === change.terms) return
    await writeAudit('plan_changed', account, client, {
      by: provider,
      plan: change.plan,
      ...(change.terms === null ? null : { terms: change.terms }),
      ...(change.planUntil === null ? null : { until: formatInstant(change.planUntil) }),
      before: before.plan,
    })
  }
}
