/** The credential change log of several nodes: numbers become visible in another order than they were taken. */
import { Client } from 'pg'
import t from 'tap'
import { providePostgres } from '../../../../support/servers/postgres/postgres.ts'
import { toAccountId, addAccount } from '../../../../support/store/contract/store-contract.ts'
import { createTestSchema, openTestStore } from '../test-store.ts'

const postgres = await providePostgres(t, createTestSchema)

if (postgres !== undefined) {
  t.test('returns a change with a lower number than an earlier one, and no change twice', async (t) => {
    const url = await postgres.createDatabase(t)
    const store = await openTestStore(t, url)
    for (const index of [1, 2, 3]) await addAccount(store, index)
    const slow = new Client({ connectionString: url })
    await slow.connect()
    t.teardown(() => slow.end())
    let seen = await store.credentialChanges.getLatestSeq()
    const look = async () => {
      const { seq, accounts } = await store.credentialChanges.listSince(seen, 10)
      t.ok(seq >= seen, 'it never goes back')
      seen = seq
      return accounts
    }
    await slow.query('begin')
    await slow.query(`update account set plan = 'pro' where id = $1`, [toAccountId(1)])
    await store.accounts.setPlan(toAccountId(2), 'pro')
    t.same(await look(), [toAccountId(2)])
    await slow.query('commit')
    t.same(await look(), [toAccountId(1)])
    t.same(await look(), [])
    await store.accounts.setPlan(toAccountId(1), 'max')
    t.same(await look(), [toAccountId(1)])
    // Settled changes are not read again, or each read would grow.
    await slow.query(`update account_change set at = at - interval '1 minute'`)
    t.same(await look(), [])
    await store.accounts.setPlan(toAccountId(3), 'max')
    t.same(await look(), [toAccountId(3)])
  })

  t.test('returns more changes than the limit in pages', async (t) => {
    const store = await openTestStore(t, await postgres.createDatabase(t))
    const all = [1, 2, 3, 4, 5].map(toAccountId)
    for (const index of all.keys()) await addAccount(store, index + 1)
    for (const account of all) await store.accounts.setPlan(account, 'pro')
    const first = await store.credentialChanges.listSince(0, 2)
    const second = await store.credentialChanges.listSince(first.seq, 2)
    const third = await store.credentialChanges.listSince(second.seq, 2)
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
