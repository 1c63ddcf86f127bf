import t from 'tap'
import { chooseNotices } from '../../../../../src/domain/billing/subscriptions/subscription-notice.ts'
import { createSubscription } from '../../../../../src/domain/billing/subscriptions/subscription.ts'
import type { Subscription } from '../../../../../src/domain/billing/subscriptions/subscription.ts'
import { createPlan } from '../../../../support/gateway/test-plans.ts'

const day = 86_400_000
const now = Date.UTC(2026, 10, 24)
const terms = { id: 'pro@1', version: 1, plan: createPlan('pro', 10) }

const bought = (change: Partial<Subscription> = {}): Subscription =>
  createSubscription({
    id: 'sub_1',
    account: 'acc_1',
    terms,
    source: 'order',
    order: 'ord_1',
    renewal: 'provider',
    state: 'active',
    startsAt: now - 20 * day,
    endsAt: now + 10 * day,
    createdAt: now - 20 * day,
    ...change,
  })

t.test('announces the renewal a week before, new terms at once, and what has failed or ended', async (t) => {
  const other = bought({ id: 'sub_2', terms: { ...terms, id: 'max@1', plan: createPlan('max', 100) } })
  const sequel = bought({ id: 'sub_3', state: 'waiting', endsAt: null, span: '1mo' })
  const over = { state: 'ended', endsAt: now - day, endedAt: now - day } as const
  const cases: readonly (readonly [string, Partial<Subscription>, readonly Subscription[], readonly string[]])[] = [
    ['ten days before its end', {}, [], []],
    ['a week before', { endsAt: now + 7 * day }, [other], ['renewal']],
    ['a week before, paid by hand', { endsAt: now + 7 * day, renewal: 'manual' }, [], ['renewal']],
    ['the same, bought again already', { endsAt: now + 7 * day, renewal: 'manual' }, [sequel], []],
    ['a gift of days', { endsAt: now + 7 * day, renewal: 'none' }, [], []],
    ['cancelled', { endsAt: now + 7 * day, state: 'cancelled' }, [], []],
    ['in its grace', { endsAt: now - day }, [], []],
    ['new terms', { endsAt: now + 300 * day, nextTerms: 'pro@2' }, [], ['terms']],
    ['the same terms', { nextTerms: 'pro@1' }, [], []],
    ['new terms of a plan that is not renewed', { renewal: 'manual', nextTerms: 'pro@2' }, [], []],
    ['a payment failed', { state: 'past_due', endsAt: now - day }, [], ['payment_failed']],
    ['ended', over, [], ['ended']],
    ['ended, and another plan follows', over, [other], ['ended']],
    ['ended, and the same plan goes on', over, [sequel], []],
    ['ended long ago', { ...over, endedAt: now - 3 * day }, [], []],
    ['ended by a refund', { state: 'ended', endedAt: now - day }, [], []],
    ['waiting', { state: 'waiting', endsAt: null }, [], []],
  ]
  for (const [name, change, others, kinds] of cases)
    t.same(
      chooseNotices(bought(change), others, now).map(({ kind }) => kind),
      kinds,
      name,
    )
})
