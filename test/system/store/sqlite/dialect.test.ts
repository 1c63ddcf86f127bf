/** Kysely statements through the writer thread: alone, in transactions, and concurrent ones. */
import { join } from 'node:path'
import t from 'tap'
import {
  toAccountId,
  addAccount,
  createSettleOrder,
  reserveHold,
  noon,
  createReserveOrder,
} from '../../../support/store/contract/store-contract.ts'
import { createTemporaryFolder, openStoreAt } from '../../../support/store/sqlite/support.ts'

const member = (index: number) => ({
  id: toAccountId(index),
  email: `member${index}@example.org`,
  plan: 'free',
  status: 'active' as const,
  password_hash: null,
  email_verified: 1,
  created_at: noon,
})

t.test('commits or rolls back a whole transaction', async (t) => {
  const store = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'))
  const { write } = store.db
  await t.rejects(
    write.transaction().execute(async (transaction) => {
      await transaction.insertInto('account').values(member(1)).execute()
      t.equal((await transaction.selectFrom('account').selectAll().execute()).length, 1, 'it sees its own writes')
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

t.test('lets no other write between the statements of a transaction, and serves waiting writes afterwards', async (t) => {
  const store = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'))
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
  await Promise.all([...transfers, reserveHold(store), store.accounts.setStatus(toAccountId(1), 'disabled')])
  const plan = (await store.accounts.find(toAccountId(1)))?.plan ?? ''
  t.equal(Array.from(plan.slice(4)).sort().join(''), '01234', 'each began with the result of the previous one')
})

t.test('rolls back a transaction that takes too long, and continues with the others', async (t) => {
  const store = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'), { transactionTimeoutMs: 200 })
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
  t.equal((await store.ledger.reserve(createReserveOrder())).kind, 'held', 'the others wait no longer than the limit')
  letGo()
  await t.rejects(lost, { code: 'internal_error', details: { cause: { message: /took longer/ } } })
  const late = store.db.write.transaction().execute(async (transaction) => {
    await transaction.updateTable('account').set({ plan: 'late' }).execute()
    await store.ledger.reserve(createReserveOrder())
  })
  await t.rejects(late, { code: 'internal_error' }, 'the transaction can no longer be committed')
  const answers = await Promise.all(Array.from({ length: 5 }, () => store.ledger.reserve(createReserveOrder())))
  t.ok(answers.every((answer) => answer.kind === 'held'))
  t.match(await store.accounts.find(toAccountId(1)), { plan: 'free' })
})

t.test('fails only the statement that violates a constraint, and names the constraint', async (t) => {
  const store = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'))
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

t.test('reads committed data and refuses to write', async (t) => {
  const store = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'))
  await store.db.write.insertInto('account').values(member(1)).execute()
  t.equal((await store.db.read.selectFrom('account').selectAll().execute()).length, 1)
  await t.rejects(store.db.read.insertInto('account').values(member(2)).execute(), { code: 'SQLITE_READONLY' })
  await t.rejects(store.db.read.transaction().execute(async () => undefined))
})

t.test('refuses an overdrawn or negative balance by a table constraint', async (t) => {
  const file = join(createTemporaryFolder(t), 'store.db')
  const before = await openStoreAt(t, file)
  await addAccount(before)
  await before.ledger.settle(createSettleOrder((await reserveHold(before)).id, 10))
  await before.close()
  const store = await openStoreAt(t, file)
  const balance = store.db.write.updateTable('balance')
  await t.rejects(balance.set({ premium_day_reserved: -1 }).execute(), { code: 'SQLITE_CONSTRAINT_CHECK' })
  await t.rejects(balance.set({ premium_day_reserved: 991 }).execute(), { code: 'SQLITE_CONSTRAINT_CHECK' })
  await t.rejects(balance.set({ premium_day_debt: 11 }).execute(), { code: 'SQLITE_CONSTRAINT_CHECK' })
  await t.rejects(balance.set({ premium_week_granted: 5 }).execute(), { code: 'SQLITE_CONSTRAINT_CHECK' })
})
