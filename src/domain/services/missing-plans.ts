/** Plans of accounts that are no longer configured: their members have the default plan meanwhile, and the operator is warned. */
import type { Accounts } from '../identity/account.ts'
import type { Plans } from '../billing/catalog/plan.ts'

/** One sentence for each plan. */
export async function describeMissingPlans(
  accounts: Pick<Accounts, 'countByPlan'>,
  { plans, defaultPlan }: Plans,
): Promise<readonly string[]> {
  const missingPlans = (await accounts.countByPlan()).filter(({ plan }) => !Object.hasOwn(plans, plan))
  return missingPlans.map(({ plan, accounts: count }) => {
    const who = count === 1 ? '1 account is' : `${count} accounts are`
    return `${who} on the plan '${plan}', which is not in the configuration, and treated as '${defaultPlan}': put the plan back, or give them another with svc-gateway account set-plan.`
  })
}
