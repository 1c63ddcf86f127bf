/** An account as its row has it. */
import type { Account } from '../membership/account.ts'

/** What an `Account` is made of; a join that has the same columns under other names uses its own. */
export const accountColumns = [
  'account.id',
  'account.email',
  'account.plan',
  'account.plan_until',
  'account.status',
  'account.created_at',
] as const

export interface AccountRow {
  readonly id: string
  readonly email: string | null
  readonly plan: string
  readonly plan_until: number | null
  readonly status: Account['status']
  readonly created_at: number
}

export function toAccount(row: AccountRow): Account {
  const { id, email, plan, plan_until: planUntil, status, created_at: createdAt } = row
  return { id, email, plan, planUntil, status, createdAt: Number(createdAt) }
}
