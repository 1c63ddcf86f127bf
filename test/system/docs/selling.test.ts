/** Each row of the table of rules in `docs/selling.md`, run on a store with its ledger. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import type { Plan } from '../../../src/domain/billing/catalog/plan.ts'
import { createCalendar } from '../../../src/domain/billing/period.ts'
import type { CodeGift } from '../../../src/domain/billing/redeem-code.ts'
import { AttemptLimits, mergeAttemptLimits } from '../../../src/domain/identity/limits/attempt-limits.ts'
import { createCodes, RedeemCodeService } from '../../../src/domain/services/redeem-code-service.ts'
import { resolvePlan } from '../../../src/domain/billing/subscriptions/terms.ts'
import { BoostService } from '../../../src/domain/services/boost-service.ts'
import { Mailboxes } from '../../../src/domain/services/mailboxes.ts'
import type { BoostRules } from '../../../src/domain/services/boost-service.ts'
import { verifyBooks } from '../../../src/domain/services/orders/verify-books.ts'
import { createPlan } from '../../support/gateway/test-plans.ts'
import {
  addAccount,
  createReserveOrder,
  createSettleOrder,
  noon,
  reserveHold,
  toAccountId,
} from '../../support/store/contract/store-contract.ts'
import { createSubscriptionService } from '../store/contract/subscription-contract.ts'
import { purchaseRows } from './purchase-rows.ts'
import { createTemporaryFolder, openStoreAt } from '../../support/store/sqlite/support.ts'

const day = 86_400_000
const price = (amount: number, interval: 'month' | 'year') => ({ amount, currency: 'EUR', interval, multiplier: null })
const plans = {
  free: createPlan('free', 1_000),
  pro: createPlan('pro', 10_000, { prices: [price(30, 'month'), price(300, 'year')] }),
  max: createPlan('max', 100_000, { prices: [price(90, 'month'), price(900, 'year')] }),
}
const one = toAccountId(1)

/** A member who has used 7 credits of the free plan and has one pack. */
async function createMember(t: Test) {
  const store = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'))
  await addAccount(store)
  const time = { now: noon }
  const clock = { now: () => time.now }
  const calendar = createCalendar('UTC')
  await store.ledger.grant({
    id: 'pack_first',
    account: one,
    kind: 'grant',
    pool: 'premium',
    credits: 50,
    at: noon,
    expiresAt: noon + 900 * day,
  })
  const { id } = await reserveHold(store, { amount: 10 })
  await store.ledger.settle(createSettleOrder(id, 7))
  const ids = {
    next: (prefix: string) => `${prefix}${randomBytes(13).toString('hex')}`,
    bytes: (size: number) => randomBytes(size),
  }
  const withPlans = (configured: Readonly<Record<string, Plan>>) => {
    const subscriptions = createSubscriptionService(store, time, configured)
    const boosts = new BoostService({
      ...store,
      boosts: store.boosts,
      calendar,
      clock,
      ids,
      secret: new Uint8Array(32),
      rules: {} as BoostRules,
      mailboxes: new Mailboxes({ store, secret: new Uint8Array(32), mergeAliases: false }),
    })
    const codes = new RedeemCodeService({
      store,
      subscriptions,
      boosts,
      attemptLimits: new AttemptLimits(store.attempts, mergeAttemptLimits({})),
      clock,
      ids,
      secret: new Uint8Array(32),
      writeAudit: async () => undefined,
      onCredentialsChanged: () => undefined,
    })
    return { subscriptions, codes }
  }
  const { subscriptions, codes } = withPlans(plans)
  const createCode = async (gift: CodeGift): Promise<{ readonly id: string; readonly code: string }> => {
    const [created] = await createCodes(store, ids, { gift, count: 1, maxUses: 1, expiresAt: null, batch: null }, time.now)
    return created ?? { id: '', code: '' }
  }
  const find = async () => {
    const account = await store.accounts.find(one)
    if (account === undefined) throw new Error('there is no account')
    return account
  }
  const client = { network: 'n', ip: '192.0.2.1', requestId: 'mbr_1' } as Parameters<RedeemCodeService['redeem']>[2]
  const redeem = async (code: string) => codes.redeem(code, await find(), client)
  const redeemPlan = async (plan: Plan, span: string) => {
    const terms = await store.subscriptions.ensureTerms(plan, time.now)
    return redeem((await createCode({ kind: 'plan', terms, span })).code)
  }
  /** Plan, end in days from noon, credits used today, limit of today, credits in packs. */
  const describe = async (configured: Readonly<Record<string, Plan>> = plans) => {
    const account = await find()
    const plan = resolvePlan({ plans: configured, defaultPlan: 'free' }, account)
    const at = noon
    const { pools, packs } = await store.ledger.balance({
      account: one,
      at,
      periods: calendar.getPeriods(at),
      limits: plan.pools,
    })
    const used = pools.reduce((sum, each) => (each.window === 'day' ? sum + each.used : sum), 0)
    const end = account.planUntil === null ? null : (account.planUntil - noon) / day
    const inPacks = packs.reduce((sum, { granted, settled }) => sum + granted - settled, 0)
    return [account.plan, end, used, plan.pools.fast.day, inPacks]
  }
  return { store, time, subscriptions, codes, withPlans, createCode, redeem, redeemPlan, describe, find, client }
}

type Member = Awaited<ReturnType<typeof createMember>>

const rows: Readonly<Record<string, (t: Test, member: Member) => Promise<void>>> = {
  async 'First code for a plan'(t, { redeemPlan, describe }) {
    await redeemPlan(plans.pro, '30d')
    t.same(await describe(), ['pro', 30, 7, 10_000, 50])
  },
  async 'Code on the same plan'(t, { redeemPlan, describe }) {
    await redeemPlan(plans.pro, '30d')
    await redeemPlan(plans.pro, '10d')
    t.same(await describe(), ['pro', 40, 7, 10_000, 50])
  },
  async 'Code on a higher plan'(t, { redeemPlan, describe, time, subscriptions }) {
    await redeemPlan(plans.pro, '30d')
    await redeemPlan(plans.max, '10d')
    t.same(await describe(), ['max', 10, 7, 100_000, 50])
    time.now = noon + 10 * day
    await subscriptions.advanceDue()
    t.same(await describe(), ['pro', 40, 7, 10_000, 50])
  },
  async 'Code on a lower plan'(t, { redeemPlan, describe, time, subscriptions }) {
    await redeemPlan(plans.max, '30d')
    await redeemPlan(plans.pro, '10d')
    t.same(await describe(), ['max', 30, 7, 100_000, 50])
    time.now = noon + 30 * day
    await subscriptions.advanceDue()
    t.same(await describe(), ['pro', 40, 7, 10_000, 50])
  },
  async 'Code on a plan that would never begin'(t, { subscriptions, redeemPlan, describe }) {
    await subscriptions.give(one, plans.max, null)
    t.match(await redeemPlan(plans.pro, '30d'), { kind: 'refused', reason: 'never_begins' })
    t.same(await describe(), ['max', null, 7, 100_000, 50])
  },
  async 'Code for credits'(t, { createCode, redeem, describe, store }) {
    const { code } = await createCode({ kind: 'credits', pool: 'fast', credits: 25, days: 30 })
    await redeem(code)
    t.same(await describe(), ['free', null, 7, 1_000, 75])
    t.equal((await store.ledger.verify()).ok, true)
  },
  async Expiry(t, { redeemPlan, subscriptions, time, describe }) {
    await redeemPlan(plans.pro, '1mo')
    time.now = noon + 32 * day
    await subscriptions.advanceDue()
    t.same(await describe(), ['free', null, 7, 1_000, 50])
    await subscriptions.give(one, plans.pro, null)
    await redeemPlan(plans.max, '2d')
    time.now += 2 * day
    await subscriptions.advanceDue()
    t.same(await describe(), ['pro', null, 7, 10_000, 50])
  },
  async 'Plan given without an end'(t, { redeemPlan, subscriptions, describe }) {
    await subscriptions.give(one, plans.pro, noon + 5 * day)
    await subscriptions.give(one, plans.pro, null)
    t.same(await describe(), ['pro', null, 7, 10_000, 50])
    await redeemPlan(plans.max, '30d')
    await subscriptions.give(one, plans.free, null)
    t.same(await describe(), ['max', 30, 7, 100_000, 50], 'what was redeemed stays')
  },
  async 'Plan given with an end'(t, { redeemPlan, subscriptions, describe, time }) {
    await redeemPlan(plans.pro, '30d')
    await subscriptions.give(one, plans.max, noon + 5 * day)
    t.same(await describe(), ['max', 5, 7, 100_000, 50])
    time.now = noon + 5 * day
    await subscriptions.advanceDue()
    t.same(await describe(), ['pro', 35, 7, 10_000, 50])
  },
  async 'Configuration changed'(t, { redeemPlan, withPlans, describe }) {
    await redeemPlan(plans.pro, '30d')
    const changed = { ...plans, pro: createPlan('pro', 5_000) }
    await withPlans(changed).subscriptions.advanceDue()
    t.same(await describe(changed), ['pro', 30, 7, 10_000, 50])
    await redeemPlan(changed.pro, '10d')
    t.same(await describe(changed), ['pro', 40, 7, 10_000, 50], 'the new terms wait')
  },
  async 'Plan withdrawn'(t, { redeemPlan, withPlans, describe, time }) {
    await redeemPlan(plans.pro, '30d')
    const without = { free: plans.free }
    const { subscriptions } = withPlans(without)
    await subscriptions.advanceDue()
    t.same(await describe(without), ['pro', 30, 7, 10_000, 50])
    time.now = noon + 30 * day
    await subscriptions.advanceDue()
    t.same(await describe(without), ['free', null, 7, 1_000, 50])
  },
  async 'Terms moved now'(t, { redeemPlan, subscriptions, store, describe }) {
    await redeemPlan(plans.pro, '30d')
    const from = (await store.subscriptions.findTerms('pro@1')) ?? t.fail('there are no terms')
    const to = await store.subscriptions.ensureTerms(createPlan('pro', 20_000), noon)
    if (typeof from === 'boolean') return
    const move = { from, to, at: 'now', isDryRun: false, reason: null } as const
    t.match(await subscriptions.move(move), { moved: 1, givesLess: false })
    t.same(await describe(), ['pro', 30, 7, 20_000, 50])
    t.match(await subscriptions.move({ ...move, from: to, to: from, isDryRun: true }), { givesLess: true })
  },
  async 'Subscription ended by the operator'(t, { redeemPlan, subscriptions, store, describe }) {
    await redeemPlan(plans.pro, '30d')
    await redeemPlan(plans.max, '30d')
    const running = (await store.subscriptions.list(one)).find(({ state }) => state === 'active')
    t.equal(await subscriptions.end(running?.id ?? ''), true)
    t.same(await describe(), ['pro', 30, 7, 10_000, 50])
  },
  async 'Code revoked'(t, { createCode, redeem, store, describe }) {
    const terms = await store.subscriptions.ensureTerms(plans.pro, noon)
    const { code, id } = await createCode({ kind: 'plan', terms, span: '30d' })
    await redeem(code)
    await store.redeemCodes.revoke({ id }, noon)
    t.same(await describe(), ['pro', 30, 7, 10_000, 50])
  },
  async 'Credits corrected by the operator'(t, { store, describe }) {
    const { account, periods } = createReserveOrder()
    const pool = createReserveOrder().pool
    const order = { account, pool, reason: 'a fault', at: noon, expiresAt: noon + day, periods, limits: plans.free.pools[pool] }
    await store.ledger.adjust({ ...order, id: 'adj_1', credits: -100 })
    t.same(await describe(), ['free', null, 107, 1_000, 50])
    await store.ledger.adjust({ ...order, id: 'adj_2', credits: 30 })
    t.same(await describe(), ['free', null, 107, 1_000, 80])
    t.equal((await store.ledger.verify()).ok, true)
  },
  async 'Deletion of the account'(t, { redeemPlan, store, find }) {
    await redeemPlan(plans.pro, '30d')
    await store.accounts.erase(one, noon)
    t.match(await find(), { status: 'deleted', planUntil: null, terms: null })
    t.same(await store.subscriptions.list(one), [])
    t.equal((await store.ledger.verify()).ok, true)
  },
}

t.test('the document and this test have the same events', async (t) => {
  const text = readFileSync(new URL('../../../docs/selling.md', import.meta.url), 'utf8')
  const table = text.split('<!-- rules -->')[1]?.split('<!-- end -->')[0] ?? ''
  const events = [...table.matchAll(/^\| ([^|]+) \|/gm)].map(([, event]) => event).filter((event) => event !== 'Event')
  t.same(events.toSorted(), [...Object.keys(rows), ...Object.keys(purchaseRows)].toSorted())
})

for (const [event, run] of Object.entries(rows)) t.test(event, async (t) => run(t, await createMember(t)))
for (const [event, run] of Object.entries(purchaseRows))
  t.test(event, async (t) => {
    const member = await createMember(t)
    await run(t, { ...member, plans })
    t.same((await verifyBooks(member.store)).mismatches, [])
  })
