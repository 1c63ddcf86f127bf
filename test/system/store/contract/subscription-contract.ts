/** The contract of terms and subscriptions on every store, with the service that decides about them. */
import type { Test } from 'tap'
import { createCalendar } from '../../../../src/domain/billing/period.ts'
import type { Plan } from '../../../../src/domain/billing/catalog/plan.ts'
import { createSubscription, isRunning } from '../../../../src/domain/billing/subscriptions/subscription.ts'
import type { Subscription } from '../../../../src/domain/billing/subscriptions/subscription.ts'
import { resolvePlan } from '../../../../src/domain/billing/subscriptions/terms.ts'
import { SubscriptionService } from '../../../../src/domain/services/subscription-service.ts'
import { createPlan } from '../../../support/gateway/test-plans.ts'
import type { Repositories } from './repository-contract.ts'
import { createNodeTest } from './test-on-nodes.ts'
import type { OpenNodes } from './test-on-nodes.ts'
import { addAccount, createApiKey, noon, toAccountId } from '../../../support/store/contract/store-contract.ts'

const day = 86_400_000
const firstPlans = { free: createPlan('free', 1), pro: createPlan('pro', 10), max: createPlan('max', 100) }

let ids = 0

/** The service of one node with a configuration. Its clock is `time.now`. */
export function createSubscriptionService(
  store: Repositories,
  time: { now: number },
  plans: Readonly<Record<string, Plan>> = firstPlans,
  audited: unknown[] = [],
): SubscriptionService {
  return new SubscriptionService({
    store,
    plans,
    defaultPlan: 'free',
    calendar: createCalendar('UTC'),
    clock: { now: () => time.now },
    ids: { next: (prefix) => `${prefix}${String((ids += 1)).padStart(26, '0')}` },
    writeAudit: async (...record) => void audited.push(record),
    onCredentialsChanged: () => undefined,
  })
}

export function testSubscriptionContract(t: Test, open: OpenNodes): void {
  const test = createNodeTest(t, open)
  const one = toAccountId(1)
  const pickNode = <Node>(nodes: readonly Node[], index: number): Node => {
    const node = nodes[index % nodes.length]
    if (node === undefined) throw new Error('there is no node')
    return node
  }

  test('lists what was bought and is near its end, is to change, failed or has ended, by page', async (t, { subscriptions }) => {
    const terms = await subscriptions.ensureTerms(firstPlans.pro, noon)
    const next = await subscriptions.ensureTerms(createPlan('pro', 11), noon)
    const put = async (number: number, change: Partial<Subscription>): Promise<void> => {
      const subscription: Subscription = createSubscription({
        id: `sub_${String(number).padStart(26, '0')}`,
        account: one,
        terms,
        source: 'order',
        renewal: 'provider',
        state: 'active',
        startsAt: noon - day,
        endsAt: noon + 30 * day,
        createdAt: noon,
        ...change,
      })
      await subscriptions.change(one, () => ({
        plan: 'pro',
        planUntil: null,
        terms: null,
        basePlan: null,
        changed: [subscription],
      }))
    }
    const ended = { state: 'ended', endsAt: noon - day, endedAt: noon - day } as const
    // One that runs is ended before the next one begins, because an account has one.
    const list = async (after = ''): Promise<readonly number[]> => {
      const page = { endsBefore: noon + 7 * day, endedSince: noon - 2 * day, after, limit: 10 }
      return (await subscriptions.listPurchased(page)).map(({ id }) => Number(id.slice(4)))
    }
    const cases: readonly (readonly [Partial<Subscription>, boolean])[] = [
      [{}, false],
      [{ endsAt: noon + 6 * day }, true],
      [{ endsAt: noon + 6 * day, source: 'code' }, false],
      [{ nextTerms: next.id }, true],
      [{ state: 'past_due' }, true],
      [{ state: 'waiting', endsAt: null, span: '1mo', startsAt: null }, false],
    ]
    for (const [index, [change, isListed]] of cases.entries()) {
      await put(index + 1, change)
      t.equal((await list()).includes(index + 1), isListed, JSON.stringify(change))
      await put(index + 1, { ...change, ...ended, endedAt: noon - 3 * day })
      t.same(await list(), [], 'ended long ago')
    }
    await put(7, ended)
    await put(8, ended)
    t.same(await list(), [7, 8])
    t.same(await list(`sub_${'7'.padStart(26, '0')}`), [8])
  })

  test('numbers the versions of a plan, and makes one only where the plan differs from the newest', async (t, {
    subscriptions,
  }) => {
    const versions: readonly [Plan, string][] = [
      [firstPlans.pro, 'pro@1'],
      [firstPlans.pro, 'pro@1'],
      [createPlan('pro', 11), 'pro@2'],
      [firstPlans.pro, 'pro@3'],
      [firstPlans.max, 'max@1'],
    ]
    for (const [plan, id] of versions) {
      const terms = await subscriptions.ensureTerms(plan, noon)
      t.match(terms, { id, plan: { id: plan.id } })
      t.same(terms.plan, plan)
    }
    t.same(
      (await subscriptions.listTerms()).map(({ id, version, plan }) => [id, version, plan.pools.fast.day]),
      [
        ['max@1', 1, 100],
        ['pro@1', 1, 10],
        ['pro@2', 2, 11],
        ['pro@3', 3, 10],
      ],
    )
    t.equal((await subscriptions.findNewestTerms('pro'))?.id, 'pro@3')
    t.equal(await subscriptions.findNewestTerms('free'), undefined)
    t.same((await subscriptions.findTerms('pro@2'))?.plan, createPlan('pro', 11))
    t.equal(await subscriptions.findTerms('pro@4'), undefined)
  })

  test(
    'makes each version once, however many processes need it at once',
    async (t, _, nodes) => {
      const made = await Promise.all(
        Array.from({ length: 30 }, (__, index) => pickNode(nodes, index).subscriptions.ensureTerms(firstPlans.pro, noon)),
      )
      t.same([...new Set(made.map(({ id }) => id))], ['pro@1'])
    },
    3,
  )

  test('a plan given with an end keeps its terms in every look-up, and one without an end has none', async (t, store) => {
    const time = { now: noon }
    const service = createSubscriptionService(store, time)
    await store.apiKeys.create(createApiKey(1), 5)
    t.match(await service.give(one, firstPlans.pro, noon + day), { plan: 'pro', planUntil: noon + day, terms: 'pro@1' })
    const terms = { id: 'pro@1', version: 1, plan: firstPlans.pro }
    const expected = { plan: 'pro', planUntil: noon + day, terms }
    t.match(await store.accounts.find(one), expected)
    t.match((await store.accounts.list({ limit: 5 }))[0], expected)
    t.match((await store.accounts.findForSignIn(one))?.account, expected)
    t.match((await store.apiKeys.findByHash(createApiKey(1).hash))?.account, expected)
    t.same(await store.accounts.countByPlan(), [], 'it does not follow the configuration')
    t.match(await store.subscriptions.list(one), [
      { terms, source: 'given', order: null, renewal: 'none', state: 'active', startsAt: noon, endsAt: noon + day },
    ])
    t.match(await service.give(one, firstPlans.max, null), { plan: 'max', planUntil: null, terms: null })
    t.match(await store.accounts.find(one), { plan: 'max', planUntil: null, terms: null })
    t.same(await store.subscriptions.list(one), [])
    t.match(await store.subscriptions.list(one, { includeEnded: true }), [{ state: 'ended', endedAt: noon }])
    t.match(await service.give(one, firstPlans.free, null), { plan: 'free', planUntil: null })
    t.equal(await service.give(toAccountId(9), firstPlans.pro, null), undefined)
  })

  test('the configuration changes twenty times, and no subscription has other terms for a moment', async (t, store) => {
    const time = { now: noon }
    const pro = (credits: number) => ({ ...firstPlans, pro: createPlan('pro', credits) })
    for (let version = 1; version <= 20; version += 1) {
      const plans = version % 7 === 0 ? { free: firstPlans.free } : pro(10 + version)
      const service = createSubscriptionService(store, time, plans)
      if ('pro' in plans) {
        await addAccount(store, version + 1)
        await service.give(toAccountId(version + 1), plans.pro, noon + 30 * day)
      }
      await service.advanceDue()
      for (let earlier = 1; earlier <= version; earlier += 1) {
        const account = await store.accounts.find(toAccountId(earlier + 1))
        if (earlier % 7 === 0 || account === undefined) continue
        const served = resolvePlan({ plans, defaultPlan: 'free' }, account)
        t.equal(served.pools.fast.day, 10 + earlier, `account ${earlier} after change ${version}`)
      }
      time.now += day
    }
    const counts = (await store.subscriptions.listTerms()).map(({ running }) => running)
    t.same(
      counts,
      Array.from({ length: 18 }, () => 1),
    )
  })

  test(
    'each subscription ends once, whichever node notices it',
    async (t, store, nodes) => {
      const time = { now: noon }
      const service = createSubscriptionService(store, time)
      for (let index = 1; index <= 20; index += 1) {
        if (index > 1) await addAccount(store, index)
        await service.give(toAccountId(index), firstPlans.pro, noon + day)
      }
      time.now = noon + day - 1
      t.equal(await service.advanceDue(), 0)
      time.now = noon + day
      const audited: unknown[] = []
      await Promise.all(nodes.map((node) => createSubscriptionService(node, time, firstPlans, audited).advanceDue()))
      for (let index = 1; index <= 20; index += 1)
        t.match(await store.accounts.find(toAccountId(index)), { plan: 'free', planUntil: null, terms: null })
      t.equal(audited.length, 20, 'one record for each account')
      t.equal(await service.advanceDue(), 0)
    },
    3,
  )

  test(
    'concurrent changes of one account leave one running subscription',
    async (t, store, nodes) => {
      const time = { now: noon }
      await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          createSubscriptionService(pickNode(nodes, index), time).give(
            one,
            index % 2 === 0 ? firstPlans.pro : firstPlans.max,
            noon + (index + 1) * day,
          ),
        ),
      )
      const all = await store.subscriptions.list(one, { includeEnded: true })
      const [running, ...others] = all.filter(isRunning)
      t.equal(all.length, 20)
      t.same(others, [])
      t.equal(all.filter(({ state }) => state === 'ended').length, 19)
      t.match(await store.accounts.find(one), { plan: running?.terms.plan.id ?? '', terms: { id: running?.terms.id } })
    },
    3,
  )

  test('a plan of groups ends twelve hours after the last sign-in, and a sign-in every hour makes no further row', async (t, store) => {
    const time = { now: noon }
    const service = createSubscriptionService(store, time)
    const hour = day / 24
    for (let count = 0; count < 30; count += 1) {
      time.now = noon + count * hour
      await service.applyGroupPlan(one, 'acme', firstPlans.pro)
      await service.advanceDue()
    }
    const end = noon + 41 * hour
    t.match(await store.accounts.find(one), { plan: 'pro', planUntil: end, terms: { id: 'pro@1' } })
    t.match(await store.subscriptions.list(one, { includeEnded: true }), [
      { source: 'group', provider: 'acme', state: 'active', startsAt: noon, endsAt: end },
    ])
    time.now = end - 1
    await service.advanceDue()
    t.match(await store.accounts.find(one), { plan: 'pro' })
    time.now = end
    await service.advanceDue()
    t.match(await store.accounts.find(one), { plan: 'free', planUntil: null, terms: null })
    // Every day anew, and with another plan.
    for (const plan of [firstPlans.pro, firstPlans.max, firstPlans.pro]) {
      time.now += day
      await service.advanceDue()
      t.match((await service.applyGroupPlan(one, 'acme', plan))?.change, { plan: plan.id, planUntil: time.now + 12 * hour })
      t.equal((await store.subscriptions.list(one, { includeEnded: true })).length, 1, 'those of before leave no rows')
    }
    t.match((await service.applyGroupPlan(one, 'acme', firstPlans.max))?.change, { plan: 'max' })
    t.match((await service.applyGroupPlan(one, 'acme', null))?.change, { plan: 'free', planUntil: null })
    t.equal(await service.applyGroupPlan(one, 'acme', null), undefined)
    t.equal(await service.applyGroupPlan(toAccountId(9), 'acme', firstPlans.pro), undefined, 'no such account')
  })

  test('a plan of groups neither replaces nor lowers what was given by hand', async (t, store) => {
    const time = { now: noon }
    const service = createSubscriptionService(store, time)
    await service.give(one, firstPlans.max, noon + day)
    const given = await store.subscriptions.list(one)
    await service.applyGroupPlan(one, 'acme', firstPlans.pro)
    t.match(await store.accounts.find(one), { plan: 'max', planUntil: noon + day })
    await service.applyGroupPlan(one, 'acme', null)
    t.same(await store.subscriptions.list(one), given)
    await service.give(one, firstPlans.max, null)
    await service.applyGroupPlan(one, 'acme', firstPlans.pro)
    t.match(await store.accounts.find(one), { plan: 'max', planUntil: null, terms: null })
    // An older version gave a plan with an end, which no job has taken over yet.
    await addAccount(store, 2)
    await store.accounts.setPlan(toAccountId(2), 'max', noon + day)
    t.equal(await service.applyGroupPlan(toAccountId(2), 'acme', firstPlans.pro), undefined)
    t.match(await store.accounts.find(toAccountId(2)), { plan: 'max', planUntil: noon + day })
  })

  test(
    'sign-ins at the same time make one subscription of groups',
    async (t, store, nodes) => {
      const time = { now: noon }
      await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          createSubscriptionService(pickNode(nodes, index), time).applyGroupPlan(one, 'acme', firstPlans.pro),
        ),
      )
      t.match(await store.subscriptions.list(one, { includeEnded: true }), [{ source: 'group', state: 'active' }])
    },
    3,
  )

  test('other processes are told of every change of plan or terms', async (t, store) => {
    const time = { now: noon }
    const service = createSubscriptionService(store, time)
    let seq = await store.credentialChanges.getLatestSeq()
    const look = async () => {
      const told = await store.credentialChanges.listSince(seq, 100)
      seq = told.seq
      return told.accounts
    }
    await service.give(one, firstPlans.pro, noon + day)
    t.same(await look(), [one])
    const [from, to] = [
      await store.subscriptions.ensureTerms(firstPlans.pro, noon),
      await store.subscriptions.ensureTerms(createPlan('pro', 20), noon),
    ]
    await service.move({ from, to, at: 'now', isDryRun: false, reason: null })
    t.same(await look(), [one], 'only the terms have changed')
    t.match(await store.accounts.find(one), { plan: 'pro', terms: { id: 'pro@2', plan: { pools: { fast: { day: 20 } } } } })
    time.now = noon + day
    await service.advanceDue()
    t.same(await look(), [one])
  })

  test('a plan with an end of an older version becomes a subscription with the terms of now', async (t, store) => {
    const time = { now: noon }
    await addAccount(store, 2)
    await addAccount(store, 3)
    await store.accounts.setPlan(one, 'pro', noon + day)
    await store.accounts.setPlan(toAccountId(2), 'gone', noon + day)
    await store.accounts.setPlan(toAccountId(3), 'max')
    await createSubscriptionService(store, time).advanceDue()
    t.match(await store.accounts.find(one), { plan: 'pro', planUntil: noon + day, terms: { id: 'pro@1' } })
    t.match(await store.accounts.find(toAccountId(2)), { plan: 'gone', planUntil: noon + day, terms: null })
    t.match(await store.accounts.find(toAccountId(3)), { plan: 'max', planUntil: null, terms: null })
    await createSubscriptionService(store, time, { free: firstPlans.free, pro: createPlan('pro', 1) }).advanceDue()
    t.match(await store.subscriptions.list(one), [{ terms: { id: 'pro@1' }, source: 'given', endsAt: noon + day }])
    // An older version, which still runs on another node, gives another plan.
    await store.subscriptions.change(one, ({ subscriptions, basePlan, terms }) => {
      return { plan: 'max', planUntil: null, basePlan, terms, changed: subscriptions.slice(1) }
    })
    t.match(await store.accounts.find(one), { plan: 'max', terms: null }, 'the terms of another plan do not count')
    time.now = noon + day
    await createSubscriptionService(store, time).advanceDue()
    t.match(await store.accounts.find(toAccountId(2)), { plan: 'free', planUntil: null })
  })

  test('moves subscriptions to other terms, at once or with their renewal, and only reports in a dry run', async (t, store) => {
    const time = { now: noon }
    const audited: unknown[] = []
    const service = createSubscriptionService(store, time, firstPlans, audited)
    for (let index = 2; index <= 5; index += 1) await addAccount(store, index)
    for (let index = 1; index <= 4; index += 1) await service.give(toAccountId(index), firstPlans.pro, noon + day)
    await service.give(toAccountId(5), firstPlans.max, noon + day)
    const from = await store.subscriptions.ensureTerms(firstPlans.pro, noon)
    const to = await store.subscriptions.ensureTerms(createPlan('pro', 5), noon)
    const move = { from, to, at: 'now', isDryRun: true, reason: null } as const
    const planned = { moved: 4, unchanged: 0, givesLess: true }
    t.same(await service.move(move), planned)
    t.match(await store.accounts.find(one), { terms: { id: 'pro@1' } })
    t.same(await service.move({ ...move, isDryRun: false, at: 'renewal' }), { moved: 0, unchanged: 4, givesLess: true })
    t.equal(audited.length, 0)
    t.same(await service.move({ ...move, isDryRun: false, reason: 'a mistake' }), planned)
    t.equal(audited.length, 4)
    for (let index = 1; index <= 4; index += 1) t.match(await store.accounts.find(toAccountId(index)), { terms: { id: 'pro@2' } })
    t.match(await store.accounts.find(toAccountId(5)), { terms: { id: 'max@1' } })
    t.same(await service.move({ ...move, isDryRun: false }), { moved: 0, unchanged: 0, givesLess: true }, 'again')
    // One that is renewed keeps its terms, and has the others from then on.
    await store.subscriptions.change(one, ({ subscriptions, plan, planUntil, terms, basePlan }) => ({
      plan,
      planUntil,
      terms,
      basePlan,
      changed: subscriptions.map((each) => ({ ...each, renewal: 'manual' as const })),
    }))
    const back = { from: to, to: from, at: 'renewal', isDryRun: false, reason: null } as const
    t.same(await service.move(back), { moved: 1, unchanged: 3, givesLess: false })
    t.match(await store.subscriptions.list(one), [{ terms: { id: 'pro@2' }, nextTerms: 'pro@1' }])
    t.match((await store.accounts.find(one))?.terms, { id: 'pro@2' })
  })

  test('a deleted account has no subscription, and its history stays', async (t, store) => {
    const time = { now: noon }
    const service = createSubscriptionService(store, time)
    await service.give(one, firstPlans.pro, noon + day)
    await store.accounts.erase(one, noon)
    t.match(await store.accounts.find(one), { status: 'deleted', planUntil: null, terms: null })
    t.same(await store.subscriptions.list(one), [])
    t.equal((await store.subscriptions.list(one, { includeEnded: true })).length, 1)
    time.now = noon + day
    t.equal(await service.advanceDue(), 0)
    t.equal(await service.give(one, firstPlans.pro, noon + 2 * day), undefined)
  })
}
