/**
 * Plan pools belong to the person. Whoever deletes their account and comes back, or comes with another address of the same mailbox, goes on
 * with what they have used of the periods at hand.
 */
import type { Account } from './account.ts'
import type { Balance, Ledger } from './ledger.ts'
import { canonicalAddress, personOf } from './mail-address.ts'
import type { Calendar, Periods } from './period.ts'
import type { KeptUse, Legacy } from './person.ts'
import { windows } from './plan.ts'
import type { PoolLimits, Window } from './plan.ts'
import type { Pool } from './product.ts'
import type { Store } from './store.ts'

export interface PersonParts {
  readonly store: Pick<Store, 'accounts' | 'persons'>
  readonly ledger: Pick<Ledger, 'balance' | 'carry'>
  readonly calendar: Calendar
  readonly clock: { now(): number }
  readonly secret: Uint8Array
  readonly rules: { readonly mergeAliases: boolean }
}

const none: PoolLimits = { day: 0, week: 0, month: 0 }
const pools = ['fast', 'premium'] as const satisfies readonly Pool[]

export class PersonDesk {
  readonly #parts: PersonParts

  constructor(parts: PersonParts) {
    this.#parts = parts
  }

  /** For the step that forgets the account. What is held by running turns counts as used: nobody will be there to see it end. */
  async legacyOf({ id, email }: Account): Promise<Legacy | null> {
    if (email === null) return null
    const { secret, clock, calendar, rules } = this.#parts
    const periods = calendar.at(clock.now())
    const use = usedIn(await this.#balance(id, periods), periods).filter(({ used }) => used > 0)
    return { person: personOf(secret, email, rules.mergeAliases), use }
  }

  /** Opens a new account's books with what its person has used: as whoever they were before, or with other addresses now. */
  async carryTo({ id, email }: Account): Promise<void> {
    if (email === null) return
    const { store, ledger, clock, calendar, secret, rules } = this.#parts
    const at = clock.now()
    const periods = calendar.at(at)
    const mailbox = canonicalAddress(email, rules.mergeAliases)
    const others = rules.mergeAliases ? await store.accounts.ofMailbox(mailbox) : []
    const living = await Promise.all(
      others.filter((account) => account.id !== id).map((account) => this.#balance(account.id, periods)),
    )
    // Somebody's later account began with what the one before had used, so the most that is known is all there is.
    const known = [
      ...(await store.persons.use(personOf(secret, email, rules.mergeAliases))),
      ...living.flatMap((balance) => usedIn(balance, periods)),
    ]
    const used = (pool: Pool, window: Window): number =>
      known
        .filter((use) => use.pool === pool && use.window === window && use.endsAt > at)
        .reduce((most, use) => Math.max(most, use.used), 0)
    for (const pool of pools) {
      const use = { day: used(pool, 'day'), week: used(pool, 'week'), month: used(pool, 'month') }
      if (windows.some((window) => use[window] > 0)) await ledger.carry({ account: id, pool, at, periods, used: use })
    }
  }

  #balance(account: string, periods: Periods): Promise<Balance> {
    const { ledger, clock } = this.#parts
    // What was used is the same under any plan.
    return ledger.balance({ account, at: clock.now(), periods, limits: { fast: none, premium: none } })
  }
}

function usedIn({ pools: balances }: Balance, periods: Periods): KeptUse[] {
  // A period that was opened under another time zone ends when it was said to.
  return balances.map(({ pool, window, used, reserved, resetsAt }) => {
    return { pool, window, startsAt: periods[window].start, endsAt: resetsAt, used: used + reserved }
  })
}
