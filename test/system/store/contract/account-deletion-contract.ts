/** The contract of deletions that wait for a payment provider, on every store. */
import type { Test } from 'tap'
import { PaymentProviderError } from '../../../../src/domain/billing/orders/payment-provider.ts'
import { AccountDeletionService } from '../../../../src/domain/services/account-deletion-service.ts'
import type { Store } from '../../../../src/domain/store.ts'
import { checkDeletions } from '../../../../src/operator/commands/doctor/check-orders.ts'
import { createOrderWorld, placeOrder } from '../../../support/payments/order-world.ts'
import { PaymentProviderStandIn } from '../../../support/payments/payment-provider-stand-in.ts'
import { addAccount, noon, toAccountId } from '../../../support/store/contract/store-contract.ts'

const minute = 60_000
const never = new AbortController().signal

/** `openStore` returns an empty store and closes it at the end of the test. */
export function testAccountDeletionContract(t: Test, openStore: (t: Test) => Promise<Store>): void {
  const open = async (t: Test) => {
    const store = await openStore(t)
    await addAccount(store)
    const account = await store.accounts.find(toAccountId(1))
    if (account === undefined) throw new Error('there is no account')
    const time = { now: noon }
    const provider = new PaymentProviderStandIn()
    const world = createOrderWorld({ store, time, account, providers: [provider] })
    const order = await placeOrder(world, 'pro/month')
    provider.pay(order.id)
    const { providerSubscription } = (await world.orders.check(order.id, 'return')) ?? order
    const events: string[] = []
    const createDeletions = (orders: typeof world.orders | null, from: Pick<Store, 'accounts'> = store) =>
      new AccountDeletionService({
        store: { ...store, accounts: from.accounts },
        orders,
        usageCarryOver: { exportUsage: async () => null },
        mailer: {
          sendAccountDeleted: async ({ to }) => void events.push(`email to ${to}: deleted`),
          sendAccountDeletionWaits: async ({ to }) => void events.push(`email to ${to}: waits`),
        },
        writeAudit: async (event) => void events.push(event),
        clock: { now: () => time.now },
        onCredentialsChanged: () => undefined,
      })
    const fail = (reason: 'unavailable' | null): void => {
      provider.beforeAnswer = () => {
        if (reason !== null) throw new PaymentProviderError(reason, 'no answer')
      }
    }
    const readStatus = async () => (await store.accounts.find(account.id))?.status
    const readRenewal = () => provider.getSubscription(providerSubscription ?? '').state
    return { store, account, time, world, events, createDeletions, fail, readStatus, readRenewal }
  }
  const request = { reader: { language: 'zh' as const, timeZone: 'Asia/Shanghai' }, client: null }

  t.test('a deletion waits until the provider has ended the renewal, and completes by itself', async (t) => {
    const { store, account, time, world, events, createDeletions, fail, readStatus, readRenewal } = await open(t)
    const deletions = createDeletions(world.orders)
    fail('unavailable')
    t.equal(await deletions.delete(account.id, request), 'waiting')
    t.equal(await readStatus(), 'disabled')
    t.same(events.splice(0), ['account_deletion_waiting', `email to ${account.email}: waits`])
    t.equal(await deletions.delete(account.id, request), 'waiting', 'a repeated request')
    t.same(events, [])
    t.same(await store.accountDeletions.summarize(), { count: 1, oldestRequestedAt: noon })
    t.match(await checkDeletions(store.accountDeletions), [
      { ok: false, detail: new RegExp(`1 deleted account waits .*${account.id}.*--without-provider`) },
    ])
    await deletions.sweep(never)
    t.match(await store.accountDeletions.find(account.id), { attempts: 0 }, 'not due yet')
    time.now += 5 * minute
    await deletions.sweep(never)
    t.match(await store.accountDeletions.find(account.id), { attempts: 1, reader: request.reader })
    fail(null)
    await deletions.sweep(never)
    t.equal(await readStatus(), 'disabled', 'after a longer pause')
    time.now += 15 * minute
    await deletions.sweep(never)
    t.equal(readRenewal(), 'ended')
    t.equal(await readStatus(), 'deleted')
    t.same(events, ['account_deleted', `email to ${account.email}: deleted`])
    t.same(await store.accountDeletions.summarize(), { count: 0, oldestRequestedAt: null })
    t.same(await checkDeletions(store.accountDeletions), [])
    t.same((await store.ledger.verify()).mismatches, [])
    t.same(await store.orders.verify(), [])
  })

  t.test('a process that ends between the provider and the deletion leaves one that completes', async (t) => {
    const { account, time, world, createDeletions, readStatus, readRenewal, store } = await open(t)
    const killed = () => Promise.reject(new Error('killed'))
    const accounts = { ...store.accounts, erase: killed }
    await t.rejects(createDeletions(world.orders, { accounts }).delete(account.id, request), /killed/)
    t.equal(readRenewal(), 'ended')
    t.equal(await readStatus(), 'disabled')
    time.now += 5 * minute
    await createDeletions(world.orders).sweep(never)
    t.equal(await readStatus(), 'deleted')
  })

  t.test('where the provider is configured no more the deletion waits, until the operator skips it', async (t) => {
    const { account, time, events, createDeletions, readStatus, readRenewal } = await open(t)
    const deletions = createDeletions(null)
    t.equal(await deletions.delete(account.id, request), 'waiting')
    time.now += 5 * minute
    await deletions.sweep(never)
    t.equal(await readStatus(), 'disabled')
    t.equal(await deletions.delete(account.id, { ...request, skipsProvider: true }), 'deleted')
    t.equal(await readStatus(), 'deleted')
    t.equal(readRenewal(), 'active')
    t.ok(events.includes('account_deleted'))
  })

  t.test('the operator takes a deletion back by enabling the account', async (t) => {
    const { store, account, time, world, createDeletions, fail, readStatus } = await open(t)
    const deletions = createDeletions(world.orders)
    fail('unavailable')
    await deletions.delete(account.id, request)
    await store.accounts.setStatus(account.id, 'active')
    fail(null)
    time.now += 60 * minute
    await deletions.sweep(never)
    t.equal(await readStatus(), 'active')
    t.equal(await store.accountDeletions.find(account.id), undefined)
  })
}
