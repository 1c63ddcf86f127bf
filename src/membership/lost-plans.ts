/** Plans that accounts are on and the configuration has lost: their members are on the default plan meanwhile, and the operator must hear of it. */
import type { Accounts } from './account.ts'
import type { Plans } from './plan.ts'

/** A sentence for each. */
export async function lostPlans(accounts: Pick<Accounts, 'byPlan'>, { plans, defaultPlan }: Plans): Promise<readonly string[]> {
  const lost = (await accounts.byPlan()).filter(({ plan }) => !Object.hasOwn(plans, plan))
  return lost.map(({ plan, accounts: count }) => {
    const who = count === 1 ? '1 account is' : `${count} accounts are`
    return `${who} on the plan '${plan}', which is not in the configuration, and treated as '${defaultPlan}': put the plan back, or give them another with svc-gateway account set-plan.`
  })
}
