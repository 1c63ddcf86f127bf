/** An account's pools and packs, under its plan as configured. */
import type { Account } from '../../../membership/account.ts'
import type { Balance } from '../../../membership/ledger.ts'
import type { Services } from '../../../services.ts'

/** @throws Error where the configuration has lost the account's plan: an operator's mistake, not the member's */
export function balanceOf(
  account: Account,
  { ledger, calendar, clock, config }: Pick<Services, 'ledger' | 'calendar' | 'clock' | 'config'>,
): Promise<Balance> {
  const plan = config.plans[account.plan]
  if (plan === undefined) throw new Error(`the plan '${account.plan}' of account ${account.id} is not configured`)
  const at = clock.now()
  return ledger.balance({ account: account.id, at, periods: calendar.at(at), limits: plan.pools })
}
