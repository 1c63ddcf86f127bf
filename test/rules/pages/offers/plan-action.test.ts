import t from 'tap'
import base from '../../../../gateway.config.ts'
import { checkConfig } from '../../../../src/config/config.ts'
import type { Account } from '../../../../src/domain/identity/account.ts'
import type { Offer } from '../../../../src/domain/services/orders/order-answers.ts'
import { choosePlanAction } from '../../../../src/pages/offers/plan-action.ts'

const listen = { host: '127.0.0.1', port: 0 }
const config = checkConfig({ ...base, listen, site: { contactUrl: 'mailto:team@example.com' } })
const member = (plan: string, planUntil: number | null = null) =>
  ({ id: 'acc_1', email: 'mei@example.com', plan, planUntil }) as unknown as Account
const choose = (plan: string, viewer: Account | null, by = config) => choosePlanAction(by.plans[plan]!, viewer, by)

t.test('a visitor starts on the default plan, and comes back to any other plan after signing in', async (t) => {
  t.same(choose('free', null), { kind: 'start', href: '/sign-in' })
  t.same(choose('max-20x', null), { kind: 'choose', href: '/sign-in?next=%2Fplans%3Fplan%3Dmax-20x' })
})

t.test('a member sees their own plan, what it includes, and how to get more', async (t) => {
  const until = Date.UTC(2026, 11, 14)
  const cases = [
    ['free', { kind: 'included' }],
    ['pro', { kind: 'current', until }],
    ['max', { kind: 'upgrade', href: 'mailto:team@example.com?subject=svc%3A%20Max%20(max)%2C%20mei%40example.com' }],
  ] as const
  for (const [plan, action] of cases) t.same(choose(plan, member('pro', until)), action, plan)
  t.match(choose('pro', member('removed-plan')), { kind: 'upgrade' }, 'a plan that is gone counts as the default one')
})

t.test('a plan with more of one thing and less of another is a change', async (t) => {
  const plans = { ...base.plans, pro: { ...base.plans.pro!, rpm: 5 } }
  const mixed = checkConfig({ ...base, listen, plans })
  t.same(
    choose('pro', member('free'), mixed),
    { kind: 'change', href: null },
    'without an address of the operator there is no link',
  )
})

t.test('a web address of the operator is used as it is', async (t) => {
  const byForm = checkConfig({ ...base, listen, site: { contactUrl: 'https://example.com/order' } })
  t.same(choose('pro', member('free'), byForm), { kind: 'upgrade', href: 'https://example.com/order' })
  t.throws(() => checkConfig({ ...base, listen, site: { contactUrl: 'javascript:alert(1)' } }), /site\.contactUrl/)
})

t.test('where plans are sold, the button leads to the checkout with the price that is shown', async (t) => {
  const price = { amount: 9, currency: 'EUR', interval: 'month', multiplier: 1 } as const
  const offer = (plan: string, event: Offer['event'], refusal: Offer['refusal'] = null): Offer => ({
    item: { kind: 'plan', plan: config.plans[plan]!, interval: 'month' },
    prices: [{ amount: 900, currency: 'EUR' }],
    event,
    refusal,
  })
  const until = Date.UTC(2026, 11, 14)
  const decide = (plan: string, viewer: Account | null, offers: readonly Offer[]) =>
    choosePlanAction(config.plans[plan]!, viewer, config, { offers, price })
  const href = '/checkout?plan=pro&interval=month&currency=EUR'
  const cases = [
    [member('free'), offer('pro', 'first'), { kind: 'buy', href, event: 'first', until: null }],
    [member('pro', until), offer('pro', 'renewal'), { kind: 'buy', href, event: 'renewal', until }],
    [member('max', until), offer('pro', 'downgrade'), { kind: 'buy', href, event: 'downgrade', until: null }],
    [member('pro', until), offer('pro', 'renewal', 'renews_itself'), { kind: 'current', until }],
    [member('max'), offer('pro', 'downgrade', 'never_begins'), { kind: 'included' }],
    [member('free'), offer('pro', 'first', 'too_many_open'), { kind: 'upgrade', href }],
  ] as const
  for (const [viewer, sold, action] of cases) t.same(decide('pro', viewer, [sold]), action)
  t.match(decide('max', member('pro'), [offer('pro', 'first')]), { kind: 'upgrade', href: /^mailto:/ }, 'not sold at this price')
  t.same(decide('pro', null, []), {
    kind: 'choose',
    href: `/sign-in?${new URLSearchParams({ next: '/plans?plan=pro&interval=month&currency=EUR' })}`,
  })
})
