/** Statements of the query builder through the writer thread: alone, in transactions, and beside others. */
import { join } from 'node:path'
import t from 'tap'
import { accountId, addAccount, endOf, holdOf, noon, orderOf } from '../contract.ts'
import { folderOf, openAt } from './support.ts'

const member = (index: number) => ({
  id: accountId(index),
  email: `member${index}@example.org`,
  plan: 'free',
  status: 'active' as const,
  password_hash: null,
  email_verified: 1,
  created_at: noon,
})

t.test('a transaction is all or nothing', async (t) => {
  const store = await openAt(t, join(folderOf(t), 'store.db'))
  const { write } = store.db
  await t.rejects(
    write.transaction().execute(async (transaction) => {
      await transaction.insertInto('account').values(member(1)).execute()
      t.equal((await transaction.selectFrom('account').selectAll().execute()).length, 1, 'it sees what it wrote')
      throw new Error('changed my mind')
    }),
    { message: 'changed my mind' },
  )
  t.equal(await store.accounts.count(), 0)
  await write.transaction().execute(async (transaction) => {
    await transaction.insertInto('account').values(member(1)).execute()
    await transaction.insertInto('account').values(member(2)).execute()
  })
  t.equal(await store.accounts.count(), 2)
})

t.test('nobody writes between the statements of a transaction, and those who wait are served afterwards', async (t) => {
  const store = await openAt(t, join(folderOf(t), 'store.db'))
  await addAccount(store)
  const transfers = Array.from({ length: 5 }, (_, index) =>
    store.db.write.transaction().execute(async (transaction) => {
      const { plan } = await transaction.selectFrom('account').select('plan').executeTakeFirstOrThrow()
      await new Promise((resolve) => setImmediate(resolve))
      await transaction
        .updateTable('account')
        .set({ plan: `${plan}${index}` })
        .execute()
    }),
  )
  await Promise.all([...transfers, holdOf(store), store.accounts.setStatus(accountId(1), 'disabled')])
  const plan = (await store.accounts.find(accountId(1)))?.plan ?? ''
  t.equal(Array.from(plan.slice(4)).sort().join(''), '01234', 'each began with what the one before had written')
})

t.test('a transaction that loses its way is undone and lets the others on', async (t) => {
  const store = await openAt(t, join(folderOf(t), 'store.db'), { transactionLimitMs: 200 })
  await addAccount(store)
  let letGo: () => void = () => undefined
  let inside: () => void = () => undefined
  const entered = new Promise<void>((resolve) => (inside = resolve))
  const lost = store.db.write.transaction().execute(async (transaction) => {
    await transaction.updateTable('account').set({ plan: 'lost' }).execute()
    await new Promise<void>((resolve) => {
      letGo = resolve
      inside()
    })
    await transaction.updateTable('account').set({ plan: 'more' }).execute()
  })
  await entered
  t.equal((await store.ledger.reserve(orderOf())).kind, 'held', 'the others wait no longer than the limit')
  letGo()
  await t.rejects(lost, { code: 'internal_error', details: { cause: { message: /took longer/ } } })
  const late = store.db.write.transaction().execute(async (transaction) => {
    await transaction.updateTable('account').set({ plan: 'late' }).execute()
    await store.ledger.reserve(orderOf())
  })
  await t.rejects(late, { code: 'internal_error' }, 'one that waits for another writer can never be committed')
  const answers = await Promise.all(Array.from({ length: 5 }, () => store.ledger.reserve(orderOf())))
  t.ok(answers.every((answer) => answer.kind === 'held'))
  t.match(await store.accounts.find(accountId(1)), { plan: 'free' })
})

t.test('a statement that breaks a constraint fails alone and says which', async (t) => {
  const store = await openAt(t, join(folderOf(t), 'store.db'))
  await addAccount(store)
  const [bad, good] = await Promise.allSettled([
    store.db.write.insertInto('account').values(member(1)).execute(),
    store.db.write.insertInto('account').values(member(2)).execute(),
  ])
  t.match(bad, { status: 'rejected', reason: { name: 'DatabaseError', code: /^SQLITE_CONSTRAINT/ } })
  t.equal(good.status, 'fulfilled')
  await t.rejects(
    store.db.write.transaction().execute(async (transaction) => {
      await transaction.insertInto('account').values(member(3)).execute()
      await transaction.insertInto('account').values(member(2)).execute()
    }),
    { code: /^SQLITE_CONSTRAINT/ },
  )
  t.equal(await store.accounts.count(), 2)
})

t.test('reading sees what was acknowledged before, and cannot write', async (t) => {
  const store = await openAt(t, join(folderOf(t), 'store.db'))
  await store.db.write.insertInto('account').values(member(1)).execute()
  t.equal((await store.db.read.selectFrom('account').selectAll().execute()).length, 1)
  await t.rejects(store.db.read.insertInto('account').values(member(2)).execute(), { code: 'SQLITE_READONLY' })
  await t.rejects(store.db.read.transaction().execute(async () => undefined))
})

t.test('the database itself refuses a balance that is overdrawn or below zero', async (t) => {
  const file = join(folderOf(t), 'store.db')
  const before = await openAt(t, file)
  await addAccount(before)
  await before.ledger.settle(endOf((await holdOf(before)).id, 10))
  await before.close()
  const store = await openAt(t, file)
  const purse = store.db.write.updateTable('written_purse')
  await t.rejects(purse.set({ premium_day_reserved: -1 }).execute(), { code: 'SQLITE_CONSTRAINT_CHECK' })
  await t.rejects(purse.set({ premium_day_reserved: 991 }).execute(), { code: 'SQLITE_CONSTRAINT_CHECK' })
  await t.rejects(purse.set({ premium_day_debt: 11 }).execute(), { code: 'SQLITE_CONSTRAINT_CHECK' })
  await t.rejects(purse.set({ premium_week_granted: 5 }).execute(), { code: 'SQLITE_CONSTRAINT_CHECK' })
})
