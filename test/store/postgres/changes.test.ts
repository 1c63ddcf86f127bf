/** The book of changes where several nodes write: numbers are taken in one order and seen in another. */
import { Client } from 'pg'
import t from 'tap'
import { postgresFor } from '../../support/postgres.ts'
import { accountId, addAccount } from '../contract.ts'
import { furnish, openOn } from './support.ts'

const postgres = await postgresFor(t, furnish)

if (postgres !== undefined) {
  t.test('a change whose number is lower than what was seen already is told all the same, and no change twice', async (t) => {
    const url = await postgres.database(t)
    const store = await openOn(t, url)
    for (const index of [1, 2, 3]) await addAccount(store, index)
    const slow = new Client({ connectionString: url })
    await slow.connect()
    t.teardown(() => slow.end())
    let seen = await store.changes.latest()
    const look = async () => {
      const { seq, accounts } = await store.changes.since(seen, 10)
      t.ok(seq >= seen, 'it never goes back')
      seen = seq
      return accounts
    }
    await slow.query('begin')
    await slow.query(`update account set plan = 'pro' where id = $1`, [accountId(1)])
    await store.accounts.setPlan(accountId(2), 'pro')
    t.same(await look(), [accountId(2)])
    await slow.query('commit')
    t.same(await look(), [accountId(1)])
    t.same(await look(), [])
    await store.accounts.setPlan(accountId(1), 'max')
    t.same(await look(), [accountId(1)])
    // What is settled is not read again, or each look would be as long as the day.
    await slow.query(`update account_change set at = at - interval '1 minute'`)
    t.same(await look(), [])
    await store.accounts.setPlan(accountId(3), 'max')
    t.same(await look(), [accountId(3)])
  })

  t.test('more changes than are asked for at once are told in pages', async (t) => {
    const store = await openOn(t, await postgres.database(t))
    const all = [1, 2, 3, 4, 5].map(accountId)
    for (const index of all.keys()) await addAccount(store, index + 1)
    for (const account of all) await store.accounts.setPlan(account, 'pro')
    const first = await store.changes.since(0, 2)
    const second = await store.changes.since(first.seq, 2)
    const third = await store.changes.since(second.seq, 2)
    t.same(
      [first, second, third].map(({ accounts }) => accounts.length),
      [2, 2, 1],
    )
    t.same(
      [first, second, third].flatMap(({ accounts }) => accounts),
      all,
    )
  })
}
