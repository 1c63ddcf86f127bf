/** An account's pools and packs, under its plan as configured. */
import type { Account } from '../../../membership/account.ts'
import type { Balance } from '../../../membership/ledger.ts'
import { planFor } from '../../../membership/plan.ts'
import type { Services } from '../../../gateway/services.ts'

export function balanceOf(
  account: Account,
  { ledger, calendar, clock, config }: Pick<Services, 'ledger' | 'calendar' | 'clock' | 'config'>,
): Promise<Balance> {
  const at = clock.now()
  return ledger.balance({ account: account.id, at, periods: calendar.at(at), limits: planFor(config, account.plan).pools })
}
