/** Credits of upgrades, and ends of spans that are continued. */
import t from 'tap'
import { createCalendar } from '../../../../../src/domain/billing/period.ts'
import { computeCredit, extendEnd } from '../../../../../src/domain/billing/orders/purchase-quote.ts'
import { chooseRenewalTerms } from '../../../../../src/domain/services/orders/order-renewals.ts'
import type { PricedTerms } from '../../../../../src/domain/services/orders/order-renewals.ts'
import { createPlan } from '../../../../support/gateway/test-plans.ts'

const calendar = createCalendar('UTC')
const day = 86_400_000
const start = Date.parse('2026-01-01T10:00:00Z')

t.test('the credit is whole unused days × price ÷ days of the span, rounded down', async (t) => {
  const terms = { id: 'pro@1', version: 1, plan: createPlan('pro', 10) }
  for (const [interval, price, afterDays, credit, creditedDays] of [
    ['month', 3_100, 0, 3_100, 31],
    ['month', 3_100, 0.5, 3_000, 30],
    ['month', 3_100, 1, 3_000, 30],
    ['month', 1_000, 30, 32, 1],
    ['month', 1_000, 30.5, 0, 0],
    ['month', 1_000, 31, 0, 0],
    ['month', 1_000, 40, 0, 0],
    ['year', 36_500, 100, 26_500, 265],
    ['year', 999_999_999_999, 1, 997_260_273_971, 364],
  ] as const) {
    const endsAt = calendar.addSpan(start, { count: 1, unit: interval === 'month' ? 'mo' : 'y' })
    const order = {
      item: { kind: 'plan', terms, interval },
      price: { amount: price, currency: 'EUR' },
      paidAt: start,
      refunded: 0,
      createdAt: start,
    } as const
    const found = computeCredit({ endsAt }, order, start + afterDays * day, calendar)
    t.same(found, { credit, creditedDays }, `${interval} ${price} after ${afterDays} days`)
    t.ok(found.credit <= price)
  }
})

t.test('each renewal keeps the day of the first start, also after a short month', async (t) => {
  const startsAt = Date.parse('2026-01-31T10:00:00Z')
  let endsAt = calendar.addSpan(startsAt, { count: 1, unit: 'mo' })
  const ends = [endsAt]
  for (let renewals = 0; renewals < 4; renewals++) ends.push((endsAt = extendEnd({ startsAt, endsAt }, 'month', calendar)))
  t.same(
    ends.map((end) => new Date(end).toISOString().slice(0, 10)),
    ['2026-02-28', '2026-03-31', '2026-04-30', '2026-05-31', '2026-06-30'],
  )
  const leap = Date.parse('2028-02-29T00:00:00Z')
  t.equal(
    new Date(extendEnd({ startsAt: leap, endsAt: Date.parse('2031-02-28T00:00:00Z') }, 'year', calendar))
      .toISOString()
      .slice(0, 10),
    '2032-02-29',
  )
})

t.test('one that was interrupted is renewed from its last end', async (t) => {
  const startsAt = Date.parse('2026-01-31T10:00:00Z')
  const endsAt = Date.parse('2026-03-12T10:00:00Z')
  t.equal(new Date(extendEnd({ startsAt, endsAt }, 'month', calendar)).toISOString(), '2026-04-12T10:00:00.000Z')
})

t.test('a renewal takes newer terms only where they cost no more and give no less, or were announced', async (t) => {
  const create = (version: number, credits: number, amount: number, currency = 'EUR'): PricedTerms => ({
    terms: { id: `pro@${version}`, version, plan: createPlan('pro', credits) },
    price: { amount, currency },
  })
  const current = create(1, 100, 3_000)
  for (const [newest, moved, expected] of [
    [null, null, 1],
    [create(2, 100, 3_000), null, 2],
    [create(2, 200, 2_000), null, 2],
    [create(2, 200, 3_001), null, 1],
    [create(2, 99, 1_000), null, 1],
    [create(2, 200, 2_000, 'USD'), null, 1],
    [null, { ...create(3, 50, 5_000), wasAnnounced: false }, 1],
    [null, { ...create(3, 50, 5_000), wasAnnounced: true }, 3],
    [create(2, 200, 2_000), { ...create(3, 50, 5_000), wasAnnounced: false }, 2],
    [create(2, 200, 2_000), { ...create(3, 150, 3_000), wasAnnounced: false }, 3],
  ] as const)
    t.equal(chooseRenewalTerms(current, newest, moved).terms.version, expected)
})
