/** Emails about purchases: each once, whatever the number of nodes and runs; announced terms count from when they were sent. */
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { listOrderNotices } from '../../../../../src/domain/billing/orders/order-rules.ts'
import { termsNoticeMs } from '../../../../../src/domain/billing/subscriptions/subscription-notice.ts'
import { createSubscription } from '../../../../../src/domain/billing/subscriptions/subscription.ts'
import type { Subscription } from '../../../../../src/domain/billing/subscriptions/subscription.ts'
import type { DeliveryOutcome, MemberRecipient, PurchaseEmail } from '../../../../../src/domain/member-mailer.ts'
import { PurchaseMailService } from '../../../../../src/domain/services/orders/purchase-mail-service.ts'
import { createPlan } from '../../../../support/gateway/test-plans.ts'
import { createGrantedOrder } from '../../../../support/orders/test-order.ts'
import { salePlans } from '../../../../support/payments/order-world.ts'
import { addAccount, noon, toAccountId } from '../../../../support/store/contract/store-contract.ts'
import { createTemporaryFolder, openStoreAt } from '../../../../support/store/sqlite/support.ts'

const [minute, day] = [60_000, 86_400_000]
const never = new AbortController().signal

async function open(t: Test) {
  const store = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'))
  await addAccount(store)
  const account = toAccountId(1)
  const email = (await store.accounts.find(account))?.email
  const now = noon
  const time = { now }
  const sent: (readonly [MemberRecipient, PurchaseEmail])[] = []
  const server: { outcome: DeliveryOutcome } = { outcome: 'sent' }
  const mails = new PurchaseMailService({
    store,
    plans: { plans: salePlans, defaultPlan: 'free' },
    clock: { now: () => time.now },
    secret: new Uint8Array(32),
    timeZone: 'Europe/Berlin',
    mailer: {
      deliverPurchaseEmail: async (recipient, email) => {
        if (server.outcome !== 'unavailable') sent.push([recipient, email])
        return server.outcome
      },
    },
  })
  const plan = createPlan('pro', 1_000, { name: 'Pro' })
  const terms = await store.subscriptions.ensureTerms(plan, now)
  const order = createGrantedOrder({
    account,
    item: { kind: 'plan', terms, interval: 'month' },
    subscription: 'sub_1',
    language: 'zh',
    createdAt: now,
    paidAt: now,
  })
  const put = (change: Partial<Subscription> = {}): Promise<unknown> => {
    const subscription: Subscription = createSubscription({
      id: 'sub_1',
      account,
      terms,
      source: 'order',
      order: order.id,
      renewal: 'provider',
      state: 'active',
      startsAt: now,
      endsAt: now + 60 * day,
      createdAt: now,
      ...change,
    })
    return store.subscriptions.change(account, ({ plan: planId, planUntil, basePlan }) => ({
      plan: planId,
      planUntil,
      terms: null,
      basePlan,
      changed: [subscription],
    }))
  }
  await put()
  await store.orders.create(order, [], { maxOpen: 5, year: 2026 })
  const find = async (): Promise<Subscription> => {
    const subscription = await store.subscriptions.find('sub_1')
    if (subscription === undefined) throw new Error('there is no subscription')
    return subscription
  }
  const send = async (): Promise<void> => {
    await mails.recordDue(never)
    await mails.sendDue(never)
  }
  return { store, account, email, time, now, mails, sent, server, order, put, find, send }
}

t.test('a renewal, new terms, a failed payment and the end are each announced once', async (t) => {
  const { store, email, time, now, send, sent, put } = await open(t)
  const kinds = async (): Promise<readonly string[]> => {
    for (let run = 0; run < 2; run += 1) await send()
    return sent.splice(0).map(([, { kind }]) => kind)
  }
  t.same(await kinds(), [], 'nothing is due')
  await put({ nextTerms: (await store.subscriptions.ensureTerms(createPlan('pro', 900, { name: 'Pro' }), now)).id })
  await send()
  t.match(sent.splice(0), [
    [
      { to: email, reader: { language: 'zh', timeZone: 'Europe/Berlin' } },
      { kind: 'terms', plan: 'Pro' },
    ],
  ])
  t.same(await kinds(), [])
  time.now = now + 54 * day
  t.same(await kinds(), ['renewal'])
  await put({ endsAt: now + 90 * day })
  t.same(await kinds(), [])
  time.now = now + 84 * day
  t.same(await kinds(), ['renewal'], 'the next span has its own')
  await put({ endsAt: now + 90 * day, state: 'past_due' })
  t.same(await kinds(), ['payment_failed'])
  time.now = now + 91 * day
  await put({ endsAt: now + 90 * day, state: 'ended', endedAt: now + 91 * day })
  t.same(await kinds(), ['ended'])
})

t.test('an email that the mail server does not take is sent later, and not once it is untrue', async (t) => {
  const { now, time, send, sent, server, put } = await open(t)
  await put({ endsAt: now + 5 * day })
  server.outcome = 'unavailable'
  await send()
  server.outcome = 'sent'
  await send()
  t.same(sent, [], 'after a pause')
  time.now += minute
  await send()
  t.match(sent.splice(0), [[{}, { kind: 'renewal', renews: true }]])

  await put({ endsAt: now + 6 * day })
  server.outcome = 'unavailable'
  await send()
  server.outcome = 'sent'
  await put({ endsAt: now + 6 * day, state: 'cancelled' })
  time.now += minute
  await send()
  t.same(sent, [], 'its renewal was cancelled meanwhile')
})

t.test('an email without an answer is sent three times at most, and a refused one once', async (t) => {
  const { now, time, send, sent, server, put } = await open(t)
  for (const [outcome, copies, endsAt] of [
    ['unknown', 3, now + 5 * day],
    ['rejected', 1, now + 6 * day],
  ] as const) {
    await put({ endsAt })
    server.outcome = outcome
    for (let run = 0; run < 5; run += 1) {
      await send()
      time.now += 10 * minute
    }
    t.equal(sent.splice(0).length, copies, outcome)
  }
})

t.test('new terms count as announced where the email was sent thirty days before the end', async (t) => {
  const { store, time, now, mails, send, server, put, find } = await open(t)
  const { id } = await store.subscriptions.ensureTerms(createPlan('pro', 900, { name: 'Pro' }), now)
  await put({ nextTerms: id, endsAt: now + minute + termsNoticeMs })
  server.outcome = 'unavailable'
  await send()
  t.equal(await mails.wasAnnounced(await find(), id), false, 'not sent yet')
  server.outcome = 'sent'
  time.now = now + minute
  await send()
  t.equal(await mails.wasAnnounced(await find(), id), true)
  t.equal(await mails.wasAnnounced(await find(), 'pro@9'), false, 'other terms')
  time.now = now + termsNoticeMs
  t.equal(await mails.wasAnnounced(await find(), id), true, 'when the span ends')
  t.equal(await mails.wasAnnounced({ ...(await find()), endsAt: now + termsNoticeMs }, id), false, 'a minute too late')
})

t.test('a delivered order sends its receipt and a refund its notice, also after a kill behind the commit', async (t) => {
  const { mails, sent, order, store, account, time, send } = await open(t)
  const write = (refunded: number, kind: 'granted' | 'checked' | 'refunded') =>
    store.orders.change(order.id, (stored) => {
      const changed = { ...stored, refunded }
      const steps = [{ at: time.now, kind, by: 'sweep' as const, facts: {} }]
      return { order: changed, steps, notices: listOrderNotices(changed, steps) }
    })
  await write(0, 'checked')
  await send()
  t.same(sent, [], 'other changes have no email')
  await write(0, 'granted')
  await write(500, 'refunded')
  await write(1200, 'refunded')
  // What wrote the changes is gone; another process sends.
  await send()
  await send()
  const emails = sent.splice(0).map(([, email]) => `${email.kind} ${'order' in email ? email.order.refunded : ''}`)
  t.same(emails.toSorted(), ['receipt 1200', 'refunded 1200', 'refunded 500'])
  await write(1300, 'refunded')
  const taken = { now: time.now, leaseMs: 10 * minute, maxPauseMs: 60 * minute }
  t.match(await store.purchaseNotices.claim(taken), { attempt: 1, account })
  await mails.sendDue(never)
  t.same(sent, [], 'another process sends it')
  time.now += 10 * minute
  await mails.sendDue(never)
  t.match(sent.splice(0), [[{}, { order: { refunded: 1300 } }]], 'that process was killed')
  await write(1400, 'refunded')
  time.now -= 10 * day
  await mails.sendDue(never)
  t.equal(sent.splice(0).length, 1, 'the clock was ahead')
  await write(1500, 'refunded')
  await store.accounts.erase(account, time.now)
  await mails.sendDue(never)
  t.same(sent, [], 'the account is gone')
})
