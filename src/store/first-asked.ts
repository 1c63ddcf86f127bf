/**
 * What a start asks, and a key that is used for the first time. In plain SQL, because the query builder of the other repositories takes
 * longer to load than the rest of the store: it is loaded when one of them is asked something.
 */
import type { Accounts } from '../membership/account.ts'
import type { ApiKeys } from '../membership/api-key.ts'
import type { AccountRow } from './account-row.ts'
import { toAccount } from './account-row.ts'
import type { KeyRow } from './api-key-row.ts'
import { keyColumns, toApiKey } from './api-key-row.ts'

/** Runs a statement that reads; `?` stands for a parameter. */
export type Ask = (text: string, parameters: readonly unknown[]) => readonly unknown[] | Promise<readonly unknown[]>

export interface FirstAsked {
  readonly accounts: Pick<Accounts, 'count' | 'byPlan'>
  readonly keys: Pick<ApiKeys, 'findByHash'>
}

const countOfAccounts = 'select count(*) as total from account'

const accountsByPlan = `
  select plan, count(*) as accounts from account where status <> 'deleted' group by plan order by plan`

/** The key by itself first: a join on what is bound is planned anew by SQLite each time that it is asked, at seven times the price. */
const keyWithOwner = `
  select ${keyColumns.join(', ')}, owner.email, owner.plan, owner.plan_until, owner.status, owner.created_at as account_created_at
  from api_key join account as owner on owner.id = api_key.account
  where api_key.id = (select id from api_key where hash = ?)`

type KeyWithOwner = KeyRow & Omit<AccountRow, 'id'> & { readonly account_created_at: number }

export function firstAskedOf(ask: Ask): FirstAsked {
  return {
    accounts: {
      async count() {
        const [row] = (await ask(countOfAccounts, [])) as readonly { total: number }[]
        return Number(row?.total ?? 0)
      },

      async byPlan() {
        const rows = (await ask(accountsByPlan, [])) as readonly { plan: string; accounts: number }[]
        return rows.map(({ plan, accounts }) => ({ plan, accounts: Number(accounts) }))
      },
    },

    keys: {
      async findByHash(hash) {
        const [row] = (await ask(keyWithOwner, [hash])) as readonly KeyWithOwner[]
        if (row === undefined) return undefined
        return { key: toApiKey(row), account: toAccount({ ...row, id: row.account, created_at: row.account_created_at }) }
      },
    },
  }
}
