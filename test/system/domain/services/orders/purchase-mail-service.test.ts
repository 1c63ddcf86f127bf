/** Emails about purchases: each once, whatever the number of nodes and runs; announced terms count from when they were sent. */
import t from 'tap'
import type { Test } from 'tap'
import { termsNoticeMs } from '../../../../../src/domain/billing/subscription-notice.ts'
import type { Subscription } from '../../../../../src/domain/billing/subscription.ts'
import type { MemberRecipient, PurchaseEmail } from '../../../../../src/domain/services/member-mailer.ts'
import { PurchaseMailService } from '../../../../../src/domain/services/orders/purchase-mail-service.ts'
import { startGateway, waitUntil } from '../../../../support/gateway/test-gateway.ts'
import { createPlan } from '../../../../support/gateway/test-plans.ts'
import { createGrantedOrder } from '../../../../support/orders/test-order.ts'

const day = 86_400_000
const never = new AbortController().signal

async function open(t: Test) {
  const gateway = await startGateway(t)
  const { store, config } = gateway.services
  const { id: account, email } = await gateway.createAccount('free')
  const now = gateway.services.clock.now()
  const time = { now }
  const sent: (readonly [MemberRecipient, PurchaseEmail])[] = []
  const room = { isFull: false }
  const mails = new PurchaseMailService({
    store,
    plans: config,
    clock: { now: () => time.now },
    secret: gateway.services.secret,
    timeZone: 'Europe/Berlin',
    mailer: {
      sendPurchaseEmail: async (recipient, email) => {
        if (!room.isFull) sent.push([recipient, email])
        return !room.isFull
      },
    },
    onFailure: (error) => t.fail(String(error)),
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
    const subscription: Subscription = {
      id: 'sub_1',
      account,
      terms,
      source: 'order',
      order: order.id,
      renewal: 'provider',
      nextTerms: null,
      state: 'active',
      span: null,
      startsAt: now,
      endsAt: now + 60 * day,
      createdAt: now,
      endedAt: null,
      ...change,
    }
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
  return { gateway, store, account, email, time, now, mails, sent, room, order, put, find }
}

t.test('a renewal, new terms, a failed payment and the end are each announced once', async (t) => {
  const { store, email, time, now, mails, sent, put } = await open(t)
  const kinds = async (): Promise<readonly string[]> => {
    for (let run = 0; run < 2; run += 1) await mails.sendDue(never)
    return sent.splice(0).map(([, { kind }]) => kind)
  }
  t.same(await kinds(), [], 'nothing is due')
  await put({ nextTerms: (await store.subscriptions.ensureTerms(createPlan('pro', 900, { name: 'Pro' }), now)).id })
  await mails.sendDue(never)
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

t.test('an email for which the queue has no room is sent by a later run', async (t) => {
  const { now, mails, sent, room, put } = await open(t)
  await put({ endsAt: now + 5 * day })
  room.isFull = true
  await mails.sendDue(never)
  room.isFull = false
  await mails.sendDue(never)
  t.match(sent, [[{}, { kind: 'renewal', renews: true }]])
})

t.test('new terms count as announced where the email was sent thirty days before the end', async (t) => {
  const { store, time, now, mails, put, find } = await open(t)
  const { id } = await store.subscriptions.ensureTerms(createPlan('pro', 900, { name: 'Pro' }), now)
  await put({ nextTerms: id, endsAt: now + termsNoticeMs })
  t.equal(await mails.wasAnnounced(await find(), id), false, 'not sent yet')
  await mails.sendDue(never)
  t.equal(await mails.wasAnnounced(await find(), id), true)
  t.equal(await mails.wasAnnounced(await find(), 'pro@9'), false, 'other terms')
  time.now = now + termsNoticeMs
  t.equal(await mails.wasAnnounced(await find(), id), true, 'when the span ends')
  t.equal(await mails.wasAnnounced({ ...(await find()), endsAt: now + termsNoticeMs - 1 }, id), false, 'a day too late')
})

t.test('a delivered order sends its receipt and a refund its notice, and other changes nothing', async (t) => {
  const { mails, sent, order, store, account } = await open(t)
  const step = (kind: 'granted' | 'checked' | 'refunded') => [{ at: 1, kind, by: 'sweep' as const, facts: {} }]
  mails.onChanged(order, step('checked'))
  mails.onChanged(order, step('granted'))
  await waitUntil(() => sent.length === 1, 'the receipt is sent')
  mails.onChanged({ ...order, refunded: 1200 }, step('refunded'))
  await waitUntil(() => sent.length === 2, 'the notice is sent')
  t.same(
    sent.map(([, { kind }]) => kind),
    ['receipt', 'refunded'],
  )
  t.ok((await store.accounts.find(account))?.email)
})
