/** The contract of every store's ledger. Each store's test runs it with its way to open a store. */
import type { Test } from 'tap'
import type { ReserveOrder, SettleOrder, TurnQuery } from '../../../../src/domain/billing/ledger.ts'
import type { Calendar } from '../../../../src/domain/billing/period.ts'
import { createCalendar } from '../../../../src/domain/billing/period.ts'
import { windows } from '../../../../src/domain/billing/catalog/plan.ts'
import type { Pool } from '../../../../src/domain/billing/catalog/product.ts'
import type { Account } from '../../../../src/domain/identity/account.ts'
import type { Store } from '../../../../src/domain/store.ts'

const hour = 3_600_000
const day = 24 * hour
/** A Wednesday in the middle of a month. */
export const noon = Date.UTC(2026, 4, 13, 12)
const calendar: Calendar = createCalendar('UTC')
export const price = { input: 435, cachedInput: 44, output: 870, discountPercent: 75 }
export const limits = { day: 1000, week: 3000, month: 8000 }

export function toAccountId(index: number): string {
  return `acc_${String(index).padStart(26, '0')}`
}

export function createReserveOrder(change: Partial<ReserveOrder> = {}): ReserveOrder {
  const at = change.at ?? noon
  return {
    account: toAccountId(1),
    requestId: 'mbr_1',
    model: 'svc-2.1',
    pool: 'premium',
    at,
    periods: calendar.getPeriods(at),
    limits,
    amount: 100,
    minAmount: 1,
    price,
    leaseUntil: at + hour,
    idempotency: null,
    maxConcurrentTurns: Infinity,
    ...change,
  }
}

export function createSettleOrder(hold: number, credits: number, at = noon): SettleOrder {
  return {
    hold,
    at,
    credits,
    tokens: { input: 10, cachedInput: 4, output: 20 },
    estimated: false,
    outcome: 'completed',
    target: 'main/model',
    upstreamStatus: 200,
  }
}

export function createRefundOrder(hold: number, at = noon) {
  return { hold, at, code: 'upstream_error', target: null, upstreamStatus: 500 }
}

export async function addAccount(store: Pick<Store, 'accounts'>, index = 1): Promise<string> {
  const account = {
    id: toAccountId(index),
    email: `member${index}@example.org`,
    plan: 'free',
    passwordHash: null,
    emailVerified: true,
    at: noon,
  }
  await store.accounts.create(account)
  return account.id
}

/** Returns so many new accounts. */
export async function addAccounts(store: Pick<Store, 'accounts'>, count: number): Promise<Account[]> {
  const accounts: Account[] = []
  for (let index = 1; index <= count; index++) {
    const account = await store.accounts.find(await addAccount(store, index))
    if (account !== undefined) accounts.push(account)
  }
  return accounts
}

/** Reserves and expects a hold. */
export async function reserveHold(store: Store, change: Partial<ReserveOrder> = {}): Promise<{ id: number; credits: number }> {
  const reservation = await store.ledger.reserve(createReserveOrder(change))
  if (reservation.kind !== 'held') throw new Error(`expected a hold, got ${JSON.stringify(reservation)}`)
  return reservation.hold
}

/** The balance of one pool by window, and of the packs by id. */
export async function readBalance(
  store: Store,
  { at = noon, pool = 'premium' as Pool, account = toAccountId(1), plan = limits, calendar: asked = calendar } = {},
) {
  const { pools, packs } = await store.ledger.balance({
    account,
    at,
    periods: asked.getPeriods(at),
    limits: { fast: plan, premium: plan },
  })
  const mine = pools.filter((balance) => balance.pool === pool)
  return {
    remaining: mine.map((balance) => balance.remaining),
    used: mine.map((balance) => balance.used),
    reserved: mine.map((balance) => balance.reserved),
    debt: mine.map((balance) => balance.debt),
    resetsAt: mine.map((balance) => balance.resetsAt),
    packs: Object.fromEntries(packs.map((pack) => [pack.id, pack.granted - pack.reserved - pack.settled])),
  }
}

export function createGrantOrder(
  id: string,
  credits: number,
  change: { expiresAt?: number; account?: string; pool?: Pool } = {},
) {
  return {
    id,
    account: toAccountId(1),
    kind: 'grant' as const,
    pool: 'premium' as Pool,
    credits,
    at: noon,
    expiresAt: noon + 7 * day,
    ...change,
  }
}

/**
 * Tests the ledger; `repository-contract.ts` tests the rest. `openStore` returns an empty store and closes it at the end of the
 * test.
 */
export function testStoreContract(t: Test, openStore: (t: Test) => Promise<Store>): void {
  /** A test on a store with one account, whose ledger must verify afterwards. */
  const promise = (name: string, keep: (t: Test, store: Store) => Promise<void>): void => {
    t.test(name, async (t) => {
      const store = await openStore(t)
      await addAccount(store)
      await keep(t, store)
      t.same((await store.ledger.verify()).mismatches, [], 'the ledger verifies')
    })
  }

  promise('a deleted account loses its address and keys, keeps its ledger, and frees its address', async (t, store) => {
    await store.apiKeys.create(createApiKey(1), 5)
    const hold = await reserveHold(store)
    t.equal(await store.accounts.erase(toAccountId(1), noon), true)
    t.equal(await store.accounts.erase(toAccountId(1), noon), false)
    t.match(await store.accounts.find(toAccountId(1)), { email: null, status: 'deleted' })
    t.equal(await store.accounts.find('member1@example.org'), undefined)
    t.equal((await store.apiKeys.findByHash(createApiKey(1).hash))?.key.revokedAt, noon)
    t.equal(await store.apiKeys.create(createApiKey(2), 5), undefined, 'no new key for a deleted account')
    t.equal(await store.accounts.setStatus(toAccountId(1), 'active'), undefined)
    t.equal((await store.ledger.settle(createSettleOrder(hold.id, 40))).credits, 40)
    const heir = {
      id: toAccountId(2),
      email: 'member1@example.org',
      plan: 'pro',
      passwordHash: null,
      emailVerified: false,
      at: noon,
    }
    t.ok(await store.accounts.create(heir))
  })

  promise('verification stops when it is cancelled', async (t, store) => {
    const closing = new AbortController()
    const proving = store.ledger.verify(closing.signal)
    closing.abort()
    t.equal(await proving.catch((error: unknown) => error), closing.signal.reason)
  })

  promise('a hold reserves in day, week and month at once, and is settled for the used credits', async (t, store) => {
    const hold = await reserveHold(store, { amount: 100 })
    t.same((await readBalance(store)).reserved, [100, 100, 100])
    t.same(await store.ledger.settle(createSettleOrder(hold.id, 30)), { applied: true, state: 'settled', credits: 30, debt: 0 })
    const after = await readBalance(store)
    t.match(after, { used: [30, 30, 30], reserved: [0, 0, 0], remaining: [970, 2970, 7970] })
    t.same(after.resetsAt, [Date.UTC(2026, 4, 14), Date.UTC(2026, 4, 18), Date.UTC(2026, 5, 1)])
    t.same((await readBalance(store, { pool: 'fast' })).used, [0, 0, 0], 'the other pool is untouched')
  })

  promise('a refund returns everything', async (t, store) => {
    const hold = await reserveHold(store)
    t.same(await store.ledger.refund(createRefundOrder(hold.id)), { applied: true, state: 'refunded', credits: 0, debt: 0 })
    t.match(await readBalance(store), { used: [0, 0, 0], reserved: [0, 0, 0], remaining: [1000, 3000, 8000] })
  })

  promise('a second ending of a hold changes nothing and reports it', async (t, store) => {
    const settled = await reserveHold(store)
    const refunded = await reserveHold(store)
    await store.ledger.settle(createSettleOrder(settled.id, 30))
    await store.ledger.refund(createRefundOrder(refunded.id))
    const before = await readBalance(store)
    t.same(await store.ledger.settle(createSettleOrder(settled.id, 99)), {
      applied: false,
      state: 'settled',
      credits: 30,
      debt: 0,
    })
    t.same(await store.ledger.refund(createRefundOrder(settled.id)), { applied: false, state: 'settled', credits: 30, debt: 0 })
    t.same(await store.ledger.settle(createSettleOrder(refunded.id, 10)), {
      applied: false,
      state: 'refunded',
      credits: 0,
      debt: 0,
    })
    t.same(await readBalance(store), before)
    await t.rejects(store.ledger.settle(createSettleOrder(4711, 1)), 'an unknown hold is an error')
  })

  promise('exactly one of many concurrent endings is applied', async (t, store) => {
    const hold = await reserveHold(store)
    const endings = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        index % 2 === 0 ? store.ledger.settle(createSettleOrder(hold.id, 10)) : store.ledger.refund(createRefundOrder(hold.id)),
      ),
    )
    t.equal(endings.filter((ending) => ending.applied).length, 1)
  })

  promise('a hold is reduced to the remaining credits, but never below its minimum', async (t, store) => {
    t.equal((await reserveHold(store, { amount: 950 })).credits, 950)
    t.equal(
      (await store.ledger.reserve(createReserveOrder({ amount: 100, minAmount: 51 }))).kind,
      'reserved_elsewhere',
      'a running turn is in the way',
    )
    t.equal((await reserveHold(store, { amount: 100, minAmount: 50 })).credits, 50)
    t.same((await readBalance(store)).remaining, [0, 2000, 7000])
  })

  promise('the window with the least room limits a hold', async (t, store) => {
    for (const window of windows) {
      const hold = await reserveHold(store, { amount: 500, limits: { day: 900, week: 900, month: 900, [window]: 120 } })
      t.equal(hold.credits, 120, window)
      await store.ledger.refund(createRefundOrder(hold.id))
    }
  })

  promise('a refusal names the instant when there is room again', async (t, store) => {
    const spend = async (credits: number, plan: typeof limits) => {
      const hold = await reserveHold(store, { amount: credits, limits: plan })
      await store.ledger.settle(createSettleOrder(hold.id, credits))
    }
    await spend(100, { day: 100, week: 3000, month: 8000 })
    const emptyDay = createReserveOrder({ limits: { day: 100, week: 3000, month: 8000 } })
    t.same(await store.ledger.reserve(emptyDay), { kind: 'insufficient', resetsAt: Date.UTC(2026, 4, 14), window: 'day' })
    const emptyWeek = createReserveOrder({ limits: { day: 500, week: 100, month: 8000 } })
    t.same(await store.ledger.reserve(emptyWeek), { kind: 'insufficient', resetsAt: Date.UTC(2026, 4, 18), window: 'week' })
    const emptyDayAndMonth = createReserveOrder({ limits: { day: 100, week: 3000, month: 100 } })
    t.same(await store.ledger.reserve(emptyDayAndMonth), {
      kind: 'insufficient',
      resetsAt: Date.UTC(2026, 5, 1),
      window: 'month',
    })
  })

  promise('packs are used after the plan, the earliest expiry first', async (t, store) => {
    await store.ledger.grant(createGrantOrder('late', 500, { expiresAt: noon + 3 * day }))
    await store.ledger.grant(createGrantOrder('soon', 50, { expiresAt: noon + day }))
    await store.ledger.grant(createGrantOrder('gone', 500, { expiresAt: noon - 1 }))
    await store.ledger.grant(createGrantOrder('other', 500, { pool: 'fast' }))
    const hold = await reserveHold(store, { amount: 1100 })
    t.equal(hold.credits, 1100)
    t.same(await readBalance(store), {
      ...(await readBalance(store)),
      reserved: [1000, 1000, 1000],
      packs: { soon: 0, late: 450, other: 500 },
    })
    await store.ledger.settle(createSettleOrder(hold.id, 1020))
    t.match(await readBalance(store), { used: [1000, 1000, 1000], packs: { soon: 30, late: 500 } })
    const more = await reserveHold(store, { amount: 100 })
    t.equal(more.credits, 100)
    await store.ledger.refund(createRefundOrder(more.id))
    t.match((await readBalance(store)).packs, { soon: 30, late: 500 })
  })

  promise(
    'a settlement above the hold takes credits from all windows, then from packs, and one window’s debt does not hide another’s usage',
    async (t, store) => {
      await store.ledger.grant(createGrantOrder('pack', 50))
      const hold = await reserveHold(store, { amount: 100 })
      t.same(await store.ledger.settle(createSettleOrder(hold.id, 1200)), {
        applied: true,
        state: 'settled',
        credits: 1200,
        debt: 150,
      })
      // 1000 from all three, 50 from the pack; for the last 150 the day has no room, the week and the month have.
      t.match(await readBalance(store), { used: [1150, 1150, 1150], debt: [150, 0, 0], remaining: [0, 1850, 6850], packs: {} })
      t.equal((await store.ledger.reserve(createReserveOrder())).kind, 'insufficient')
      const tomorrow = noon + day
      t.match(await readBalance(store, { at: tomorrow }), { used: [0, 1150, 1150], remaining: [1000, 1850, 6850] })
    },
  )

  promise('each window covers the overflow as far as it has room, and has debt for the rest', async (t, store) => {
    const plan = { day: 100, week: 120, month: 8000 }
    const hold = await reserveHold(store, { amount: 100, limits: plan })
    t.match(await store.ledger.settle(createSettleOrder(hold.id, 150)), { credits: 150, debt: 50 })
    t.match(await readBalance(store, { plan }), { used: [150, 150, 150], debt: [50, 30, 0], remaining: [0, 0, 7850] })
  })

  promise('a settlement above its hold does not take credits that other turns hold', async (t, store) => {
    const other = await reserveHold(store, { amount: 900 })
    const hold = await reserveHold(store, { amount: 50 })
    t.match(await store.ledger.settle(createSettleOrder(hold.id, 200)), { credits: 200, debt: 100 })
    t.match(await store.ledger.settle(createSettleOrder(other.id, 900)), { credits: 900, debt: 0 })
  })

  promise('a free turn is held and settled at zero', async (t, store) => {
    const hold = await reserveHold(store, { amount: 0, minAmount: 0 })
    t.equal(hold.credits, 0)
    t.match(await store.ledger.settle(createSettleOrder(hold.id, 0)), { applied: true, credits: 0 })
  })

  promise('a hold returns to the periods it came from, even after they are over', async (t, store) => {
    const lateSunday = Date.UTC(2026, 4, 31, 23, 59)
    const monday = Date.UTC(2026, 5, 1, 0, 1)
    const [first, second, third] = [
      await reserveHold(store, { at: lateSunday, amount: 100 }),
      await reserveHold(store, { at: lateSunday, amount: 200 }),
      await reserveHold(store, { at: lateSunday, amount: 300, leaseUntil: lateSunday + 1000 }),
    ]
    const next = await reserveHold(store, { at: monday, amount: 7 })
    await store.ledger.settle(createSettleOrder(first.id, 60, monday))
    await store.ledger.refund(createRefundOrder(second.id, monday))
    t.match(await readBalance(store, { at: lateSunday }), { used: [60, 60, 60], reserved: [300, 300, 300] })
    t.match(await readBalance(store, { at: monday }), { used: [0, 0, 0], reserved: [7, 7, 7] }, 'the new periods start unused')
    t.equal(await store.ledger.expire(monday, monday), 1)
    t.same((await readBalance(store, { at: lateSunday })).reserved, [0, 0, 0])
    t.equal((await store.ledger.settle(createSettleOrder(third.id, 1, monday))).applied, false)
    await store.ledger.settle(createSettleOrder(next.id, 7, monday))
    t.same((await readBalance(store, { at: monday })).used, [7, 7, 7])
  })

  promise('a clock that steps back finds the earlier periods unchanged', async (t, store) => {
    const midnight = Date.UTC(2026, 4, 14)
    const before = await reserveHold(store, { at: midnight - 10 })
    const after = await reserveHold(store, { at: midnight + 10 })
    const again = await reserveHold(store, { at: midnight - 5 })
    t.same((await readBalance(store, { at: midnight - 10 })).reserved, [200, 300, 300])
    t.same((await readBalance(store, { at: midnight + 10 })).reserved, [100, 300, 300])
    for (const hold of [before, after, again]) await store.ledger.settle(createSettleOrder(hold.id, 100, midnight + 20))
    t.same((await readBalance(store, { at: midnight + 10 })).used, [100, 300, 300])
  })

  promise('a turn refused in an earlier period leaves the period unchanged', async (t, store) => {
    const midnight = Date.UTC(2026, 4, 14)
    await reserveHold(store, { at: midnight - 10, amount: 1000 })
    await reserveHold(store, { at: midnight + 10 })
    t.equal((await store.ledger.reserve(createReserveOrder({ at: midnight - 5 }))).kind, 'reserved_elsewhere')
    await reserveHold(store, { at: midnight + 10 })
    t.equal((await store.ledger.reserve(createReserveOrder({ at: midnight - 5 }))).kind, 'reserved_elsewhere')
    t.same((await readBalance(store, { at: midnight - 10 })).reserved, [1000, 1200, 1200])
  })

  promise(
    'another time zone grants nothing twice: running periods keep their end, and then follow the new calendar',
    async (t, store) => {
      const hold = await reserveHold(store, { amount: 600 })
      await store.ledger.settle(createSettleOrder(hold.id, 600))
      const midnight = Date.UTC(2026, 4, 14)
      // In the evening of UTC it is already tomorrow in the first, and in the morning of the next day still today in the second.
      for (const [zone, nextDayEnds] of [
        ['Asia/Shanghai', Date.UTC(2026, 4, 14, 16)],
        ['America/Los_Angeles', Date.UTC(2026, 4, 15, 7)],
      ] as const) {
        const there = createCalendar(zone)
        for (const at of [noon + 1, midnight - 1]) {
          t.match(
            await readBalance(store, { at, calendar: there }),
            { used: [600, 600, 600], remaining: [400, 2400, 7400] },
            zone,
          )
          t.equal((await readBalance(store, { at, calendar: there })).resetsAt[0], midnight, zone)
          t.equal(
            (await store.ledger.reserve(createReserveOrder({ at, periods: there.getPeriods(at), amount: 500, minAmount: 401 })))
              .kind,
            'insufficient',
            zone,
          )
        }
        const account = await addAccount(store, zone === 'Asia/Shanghai' ? 2 : 3)
        await reserveHold(store, { account, amount: 600 })
        const next = await reserveHold(store, { account, at: midnight, periods: there.getPeriods(midnight), amount: 900 })
        t.equal(next.credits, 900, 'a new day once the old one is over')
        for (const at of [midnight, nextDayEnds - 1]) {
          const balance = await readBalance(store, { account, at, calendar: there })
          t.match(balance, { reserved: [900, 1500, 1500] }, zone)
          t.equal(balance.resetsAt[0], nextDayEnds, 'which ends as days end there')
        }
        const following = await readBalance(store, { account, at: nextDayEnds, calendar: there })
        t.match(following, { reserved: [0, 1500, 1500], resetsAt: [there.getPeriods(nextDayEnds).day.end] })
      }
    },
  )

  promise('a month that ends while the new zone is still in it is followed by a whole month', async (t, store) => {
    const there = createCalendar('America/Los_Angeles')
    await reserveHold(store)
    const june = Date.UTC(2026, 5, 1)
    await reserveHold(store, { at: june, periods: there.getPeriods(june), amount: 30 })
    for (const at of [june, Date.UTC(2026, 5, 1, 7), Date.UTC(2026, 6, 1, 7) - 1]) {
      const balance = await readBalance(store, { at, calendar: there })
      t.match([balance.reserved[2], balance.resetsAt[2]], [30, Date.UTC(2026, 6, 1, 7)], new Date(at).toISOString())
    }
  })

  promise('daily usage lists each past day and the current one', async (t, store) => {
    const use = async (at: number, credits: number): Promise<void> => {
      await store.ledger.settle(createSettleOrder((await reserveHold(store, { at })).id, credits, at))
    }
    await use(noon, 30)
    await use(noon + day, 40)
    const since = async (instant: number) =>
      (await store.dailyUsage.listSince(toAccountId(1), instant)).map(({ period, pool, used }) => [
        new Date(period.start).getUTCDate(),
        pool,
        used,
      ])
    t.same(await since(noon - 2 * day), [
      [13, 'premium', 30],
      [14, 'premium', 40],
    ])
    t.same(await since(noon + day), [[14, 'premium', 40]])
    await use(noon + 3 * day, 5)
    t.same(await since(noon + day), [
      [14, 'premium', 40],
      [16, 'premium', 5],
    ])
    t.same(await store.dailyUsage.listSince(toAccountId(2), 0), [])
  })

  promise('sums ended turns by quarter of an hour, model, credential and API format', async (t, store) => {
    const use = async (change: Partial<ReserveOrder>, credits: number): Promise<void> => {
      const hold = await reserveHold(store, change)
      await store.ledger.settle(createSettleOrder(hold.id, credits, change.at ?? noon))
    }
    await use({ credential: 'key_1' }, 30)
    await use({ credential: 'key_1', at: noon + 899_999 }, 12)
    await use({ credential: 'key_1', at: noon + 900_000, apiFormat: 'messages' }, 5)
    await use({ credential: 'web', model: 'svc-fast', pool: 'fast' }, 7)
    const failed = await reserveHold(store, { credential: 'key_1' })
    await store.ledger.refund(createRefundOrder(failed.id))
    await store.ledger.refund(createRefundOrder(failed.id))
    await reserveHold(store, { credential: 'key_1' })
    const list = async (since: number) =>
      (await store.usageSums.listSince(toAccountId(1), since)).map((sum) => [
        (sum.startsAt - noon) / 60_000,
        sum.credential,
        sum.apiFormat,
        sum.model,
        [sum.turns, sum.failed, sum.credits, sum.inputTokens, sum.cachedInputTokens, sum.outputTokens],
      ])
    const chat = 'chat_completions'
    const later = [15, 'key_1', 'messages', 'svc-2.1', [1, 0, 5, 10, 4, 20]]
    const sums = await list(noon)
    t.same(
      sums.toSorted((one, other) => String(one).localeCompare(String(other))),
      [[0, 'key_1', chat, 'svc-2.1', [2, 1, 42, 20, 8, 40]], [0, 'web', chat, 'svc-fast', [1, 0, 7, 10, 4, 20]], later],
    )
    t.same(await list(noon + 900_000), [later])
    t.same(await store.usageSums.listSince(toAccountId(2), 0), [])
    await store.usageAlerts.subscribe(toAccountId(1), { language: null, timeZone: null }, noon)
    const countSince = async (since: number) => (await store.usageAlerts.listCandidates({ since, after: '', limit: 9 }))[0]?.turns
    t.same([await countSince(noon), await countSince(noon + 900_000), await countSince(noon + hour)], [5, 1, 0])
  })

  promise('stores the tokens from a cache: none unless reported, and never more than the prompt', async (t, store) => {
    const settle = async (tokens: SettleOrder['tokens']) =>
      store.ledger.settle({ ...createSettleOrder((await reserveHold(store)).id, 5), tokens })
    await settle({ input: 10, output: 20 })
    await settle({ input: 10, cachedInput: 10, output: 20 })
    const failed = await reserveHold(store, { price: { input: 435, output: 870, discountPercent: 75 } })
    await store.ledger.refund(createRefundOrder(failed.id))
    t.same(
      (await store.ledger.turns({ limit: 10 })).map(({ cachedInputTokens }) => cachedInputTokens),
      [0, 10, 0],
    )
    const bug = { name: 'RangeError' }
    for (const cachedInput of [11, -1, 0.5, Number.NaN]) await t.rejects(settle({ input: 10, cachedInput, output: 20 }), bug)
    t.same((await store.ledger.verify()).mismatches, [])
  })

  promise('lists turns by credential, API format, time and offset', async (t, store) => {
    const use = async (minutes: number, change: Partial<ReserveOrder>): Promise<void> => {
      const at = noon + minutes * 60_000
      const hold = await reserveHold(store, { ...change, at, requestId: `mbr_${minutes}` })
      await store.ledger.settle(createSettleOrder(hold.id, 1, at))
    }
    await use(1, { credential: 'key_1' })
    await use(2, { credential: 'web' })
    await use(3, { credential: 'key_1', apiFormat: 'messages' })
    const list = async (query: Partial<TurnQuery>) =>
      (await store.ledger.turns({ account: toAccountId(1), limit: 10, ...query })).map(({ requestId }) => requestId)
    t.same(await list({ credential: 'key_1' }), ['mbr_3', 'mbr_1'])
    t.same(await list({ apiFormat: 'messages' }), ['mbr_3'])
    t.same(await list({ until: noon + 120_000 }), ['mbr_1'])
    t.same(await list({ offset: 1, limit: 1 }), ['mbr_2'])
    t.match(await store.ledger.turns({ account: toAccountId(1), limit: 1 }), [{ credential: 'key_1' }])
  })

  promise("finds a request's turns among the newest of its account", async (t, store) => {
    for (const [minutes, change] of [
      [1, { requestId: 'mbr_a' }],
      [2, { requestId: 'mbr_b' }],
      [3, { requestId: 'mbr_a' }],
    ] as const) {
      const at = noon + minutes * 60_000
      const hold = await reserveHold(store, { ...change, at })
      await store.ledger.settle(createSettleOrder(hold.id, 1, at))
    }
    const find = async (searched: number, query: Partial<TurnQuery> = {}) => {
      const request = { id: 'mbr_a', searched }
      const turns = await store.ledger.turns({ account: toAccountId(1), limit: 10, request, ...query })
      return turns.map(({ startedAt }) => (startedAt - noon) / 60_000)
    }
    t.same(await find(10), [3, 1], 'newest first')
    t.same(await find(2), [3], 'the oldest of three turns is not searched')
    t.same(await find(10, { offset: 1 }), [1])
    t.same(await find(10, { limit: 1 }), [3])
    t.same(await find(10, { account: toAccountId(2) }), [])
  })

  promise('returns what was left before a hold in the tightest window', async (t, store) => {
    const reserve = async (limits: ReserveOrder['limits'], amount: number) => {
      const reservation = await store.ledger.reserve(createReserveOrder({ limits, amount, minAmount: 1 }))
      return reservation.kind === 'held' ? reservation.left : reservation
    }
    const equal = { day: 1000, week: 1000, month: 1000 }
    t.match(await reserve(equal, 300), { window: 'month', credits: 1000 }, 'of windows with the same the last to reset')
    t.match(await reserve({ ...equal, week: 900 }, 100), { window: 'week', credits: 600 }, 'less what is reserved')
    t.match(await reserve({ ...equal, day: 500 }, 100), { window: 'day', credits: 100 })
  })

  promise('a plan change keeps the usage', async (t, store) => {
    const hold = await reserveHold(store, { amount: 800 })
    await store.ledger.settle(createSettleOrder(hold.id, 800))
    const smaller = { day: 500, week: 3000, month: 8000 }
    t.match(await readBalance(store, { plan: smaller }), { used: [800, 800, 800], remaining: [0, 2200, 7200] })
    t.equal((await store.ledger.reserve(createReserveOrder({ limits: smaller }))).kind, 'insufficient')
    const larger = { day: 900, week: 3000, month: 8000 }
    t.equal((await reserveHold(store, { limits: larger, amount: 500 })).credits, 100)
    await store.accounts.setPlan(toAccountId(1), 'max')
    t.same((await readBalance(store, { plan: larger })).used, [800, 800, 800], 'unrelated writes move no money')
  })

  promise('carried-over usage opens the periods of a new account once, whatever the plan includes', async (t, store) => {
    const order = { account: toAccountId(1), pool: 'premium' as Pool, at: noon, periods: calendar.getPeriods(noon) }
    await store.ledger.openWithUsage({ ...order, used: { day: 0, week: 900, month: 9_000 } })
    t.same((await readBalance(store)).used, [0, 900, 9_000])
    t.same((await readBalance(store)).remaining, [1000, 2100, 0], 'usage above the plan is no debt')
    t.same((await readBalance(store, { pool: 'fast' })).used, [0, 0, 0])
    t.equal((await store.ledger.reserve(createReserveOrder({ amount: 10 }))).kind, 'insufficient')
    const larger = { day: 1000, week: 3000, month: 10_000 }
    await store.ledger.settle(createSettleOrder((await reserveHold(store, { amount: 10, limits: larger })).id, 7))
    t.same((await readBalance(store)).used, [7, 907, 9_007])
    await store.ledger.openWithUsage({ ...order, used: { day: 500, week: 500, month: 500 } })
    t.same((await readBalance(store)).used, [7, 907, 9_007], 'periods that are open stay as they are')
    await t.rejects(store.ledger.openWithUsage({ ...order, used: { day: -1, week: 0, month: 0 } }), /whole number/)
  })

  promise('overdue holds expire, the others stay', async (t, store) => {
    const overdue = await reserveHold(store, { leaseUntil: noon + 10 })
    await reserveHold(store, { leaseUntil: noon + 1000 })
    t.equal(await store.ledger.expire(noon + 9, noon + 9), 0)
    t.equal(await store.ledger.expire(noon + 10, noon + 10), 1)
    t.same((await readBalance(store)).reserved, [100, 100, 100])
    t.same(await store.ledger.settle(createSettleOrder(overdue.id, 5)), { applied: false, state: 'expired', credits: 0, debt: 0 })
    t.equal(store.ledger.stats().holdsOpen, 1)
  })

  promise('grants the same pack once', async (t, store) => {
    const grants = await Promise.all(Array.from({ length: 10 }, () => store.ledger.grant(createGrantOrder('pack', 50))))
    t.ok(grants.every((pack) => pack.granted === 50 && pack.id === 'pack'))
    t.same((await readBalance(store)).packs, { pack: 50 })
    await addAccount(store, 2)
    await t.rejects(store.ledger.grant(createGrantOrder('pack', 50, { account: toAccountId(2) })), 'an id belongs to one account')
  })

  promise('an idempotency key is charged once, and may run again after a refund', async (t, store) => {
    const keyed = (bodyHash: string, requestId: string, account = toAccountId(1)) =>
      store.ledger.reserve(createReserveOrder({ account, requestId, idempotency: { key: 'k', bodyHash } }))
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => keyed('a', `mbr_${index}`)))
    const held = answers.filter((answer) => answer.kind === 'held')
    t.equal(held.length, 1)
    const first = { kind: 'duplicate', state: 'held', sameBody: true, requestId: 'mbr_0', aborted: false, credits: 0 }
    t.same(answers[10], first)
    t.match(await keyed('b', 'mbr_x'), { kind: 'duplicate', sameBody: false })
    await addAccount(store, 2)
    t.equal((await keyed('a', 'mbr_y', toAccountId(2))).kind, 'held', 'another account is independent')

    const [hold] = held
    if (hold?.kind !== 'held') throw new Error('no hold')
    await store.ledger.refund(createRefundOrder(hold.hold.id))
    const again = await keyed('b', 'mbr_z')
    if (again.kind !== 'held') throw new Error('the key did not run again')
    await store.ledger.settle({ ...createSettleOrder(again.hold.id, 10), outcome: 'aborted' })
    const settled = { kind: 'duplicate', state: 'settled', sameBody: true, requestId: 'mbr_z', aborted: true, credits: 10 }
    t.same(await keyed('b', 'mbr_q'), settled, 'with its ending and its cost')
  })

  promise('an idempotency key reports what all parts of its request cost', async (t, store) => {
    const reserve = async (part?: number, requestId = 'mbr_1') => {
      const idempotency = { key: 'k', bodyHash: 'a', ...(part === undefined ? {} : { part }) }
      const reservation = await store.ledger.reserve(createReserveOrder({ requestId, idempotency }))
      return reservation.kind === 'held' ? reservation.hold.id : reservation
    }
    const settle = async (hold: unknown, credits: number, outcome: 'completed' | 'aborted' = 'completed') =>
      store.ledger.settle({ ...createSettleOrder(Number(hold), credits), outcome })
    const repeat = () => reserve(undefined, 'mbr_2')
    const expected = { kind: 'duplicate', sameBody: true, requestId: 'mbr_1', aborted: false }
    await settle(await reserve(), 10)
    t.same(await repeat(), { ...expected, state: 'settled', credits: 10 })
    const search = await reserve(1)
    t.same(await repeat(), { ...expected, state: 'held', credits: 10 }, 'it still runs')
    await settle(search, 7)
    await store.ledger.refund(createRefundOrder(Number(await reserve(2))))
    t.same(await repeat(), { ...expected, state: 'settled', credits: 17 }, 'a part that failed costs nothing')
    await settle(await reserve(3), 5, 'aborted')
    t.same(await repeat(), { ...expected, state: 'settled', aborted: true, credits: 22 })
  })

  promise('200 concurrent turns on quota for 20 admit exactly 20', async (t, store) => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => store.ledger.reserve(createReserveOrder({ amount: 50, minAmount: 50 }))),
    )
    t.equal(answers.filter((answer) => answer.kind === 'held').length, 20)
    t.ok(answers.every((answer) => answer.kind === 'held' || answer.kind === 'reserved_elsewhere'))
    t.same((await readBalance(store)).remaining, [0, 2000, 7000])
  })

  promise('an amount that is not a whole number of credits is refused and changes nothing', async (t, store) => {
    for (const amount of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 1e308]) {
      await t.rejects(store.ledger.reserve(createReserveOrder({ amount })), RangeError)
    }
    await t.rejects(store.ledger.reserve(createReserveOrder({ amount: 5, minAmount: 6 })), RangeError)
    const hold = await reserveHold(store)
    for (const credits of [-1, 0.1, Number.NaN, 1e308])
      await t.rejects(store.ledger.settle(createSettleOrder(hold.id, credits)), RangeError)
    t.same((await readBalance(store)).reserved, [100, 100, 100])
  })

  promise('an unknown account cannot hold anything', async (t, store) => {
    await t.rejects(store.ledger.reserve(createReserveOrder({ account: toAccountId(9) })))
    t.equal((await store.ledger.verify()).turns, 0)
  })

  promise('a failing operation does not affect others of its batch', async (t, store) => {
    const answers = await Promise.allSettled([
      store.ledger.reserve(createReserveOrder()),
      store.ledger.reserve(createReserveOrder({ account: toAccountId(9) })),
      store.ledger.settle(createSettleOrder(4711, 1)),
      store.ledger.reserve(createReserveOrder()),
    ])
    t.same(
      answers.map((answer) => answer.status),
      ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
    )
    t.same((await readBalance(store)).reserved, [200, 200, 200])
  })

  promise('the period of a held turn is not pruned, however old it is', async (t, store) => {
    const later = noon + 100 * day
    const none = { day: 0, week: 0, month: 0 }
    await store.ledger.grant(createGrantOrder('pack', 1_000, { expiresAt: later + day }))
    await store.ledger.settle(createSettleOrder((await reserveHold(store)).id, 10))
    const ofPacks = await reserveHold(store, { amount: 50, minAmount: 50, limits: none })
    const after = await reserveHold(store, { at: later, periods: calendar.getPeriods(later), leaseUntil: later + day })
    await store.ledger.settle(createSettleOrder(after.id, 10, later))
    // The rest is pruned by a later run.
    await store.ledger.pruneTurns(later, 100).catch(() => undefined)
    t.match(await store.ledger.settle(createSettleOrder(ofPacks.id, 60, later)), { applied: true, state: 'settled', credits: 60 })
  })

  promise('lists turns newest first, by account, state, model, time and page', async (t, store) => {
    await addAccount(store, 2)
    for (let index = 1; index <= 6; index++) {
      const at = noon + index
      const hold = await reserveHold(store, {
        requestId: `mbr_${index}`,
        account: toAccountId((index % 2) + 1),
        model: index > 3 ? 'auto' : 'svc-2.1',
        at,
      })
      if (index === 5) await store.ledger.refund(createRefundOrder(hold.id, at))
      else if (index !== 6) await store.ledger.settle({ ...createSettleOrder(hold.id, index, at), estimated: index === 2 })
    }
    const ask = async (query: Omit<Parameters<typeof store.ledger.turns>[0], 'limit'>, limit = 10) =>
      (await store.ledger.turns({ ...query, limit })).map((turn) => turn.requestId.slice(4)).join('')
    t.equal(await ask({}), '654321')
    t.equal(await ask({}, 2), '65')
    t.equal(await ask({ account: toAccountId(1) }), '642')
    t.equal(await ask({ account: toAccountId(2) }, 2), '53')
    t.equal(await ask({ account: toAccountId(3) }), '')
    t.equal(await ask({ state: 'settled' }), '4321')
    t.equal(await ask({ state: 'held' }), '6')
    t.equal(await ask({ model: 'auto' }), '654')
    t.equal(await ask({ since: noon + 3 }), '6543')
    const [newest] = await store.ledger.turns({ account: toAccountId(2), limit: 1 })
    t.match(newest, {
      state: 'refunded',
      code: 'upstream_error',
      credits: 0,
      reserved: 100,
      upstreamStatus: 500,
      endedAt: noon + 5,
    })
    t.equal(await ask({ account: toAccountId(2), before: newest?.id ?? 0 }), '31')
    const [older] = await store.ledger.turns({ account: toAccountId(2), before: newest?.id ?? 0, limit: 1 })
    t.equal(await ask({ account: toAccountId(2), before: older?.id ?? 0 }, 1), '1')
    t.equal(await ask({ account: toAccountId(2), before: newest?.id ?? 0, since: noon + 2 }), '3')
    const [second] = (await store.ledger.turns({ limit: 10 })).filter((turn) => turn.requestId === 'mbr_2')
    t.match(second, {
      inputTokens: 10,
      cachedInputTokens: 4,
      outputTokens: 20,
      estimated: true,
      target: 'main/model',
      credits: 2,
      startedAt: noon + 2,
    })
  })

  promise('old turns are pruned a few at a time, open ones and the balances stay', async (t, store) => {
    await reserveHold(store)
    for (let index = 0; index < 5; index++) await store.ledger.settle(createSettleOrder((await reserveHold(store)).id, 10))
    t.equal(await store.ledger.pruneTurns(noon, 100), 0, 'not older')
    t.equal(await store.ledger.pruneTurns(noon + 1, 3), 2, 'the open one is among the oldest three')
    t.equal(await store.ledger.pruneTurns(noon + 1, 100), 2, 'the newest turn always stays')
    t.equal((await store.ledger.turns({ account: toAccountId(1), limit: 10 })).length > 0, true)
    t.same((await readBalance(store)).used, [50, 50, 50])
    const next = await reserveHold(store)
    t.ok(next.id > 6, 'an id is never used twice')
  })

  promise('counts the invitations of one person together, those of two separately', async (t, store) => {
    const { boosts } = store
    const addresses = [
      'ann@example.org',
      'ann+2@example.org',
      'ann+3@example.org',
      'ben@example.org',
      'cleo@example.org',
      'dan@example.org',
    ]
    for (const [index, email] of addresses.entries())
      await store.accounts.create({
        id: toAccountId(11 + index),
        email,
        plan: 'free',
        passwordHash: null,
        emailVerified: true,
        at: noon,
      })
    const person = (index: number): Uint8Array => Buffer.from([index])
    const [ann, ben] = [person(1), person(2)]
    // Without merging of addresses the third belongs to another person.
    for (const [inviter, inviterPerson, invited] of [
      [11, ann, 14],
      [12, ann, 15],
      [13, ben, 16],
    ] as const) {
      await boosts.recordInvite({
        invited: toAccountId(invited),
        inviter: toAccountId(inviter),
        person: person(invited),
        inviterPerson,
        at: noon,
      })
      await store.ledger.settle(createSettleOrder((await reserveHold(store, { account: toAccountId(invited) })).id, 10))
    }
    await boosts.decideInvites(noon, noon - 1, 1)
    const paid = (await boosts.listPayableInvites(5)).map(({ inviter }) => inviter)
    t.equal(paid.length, 2)
    t.ok(paid.includes(toAccountId(13)))
    for (const person of [ann, ben]) t.equal(await boosts.countPaidInvites(person, noon - 1), 1)
  })

  promise('statistics count operations, commits and flushes', async (t, store) => {
    const before = store.ledger.stats()
    const holds = await Promise.all(Array.from({ length: 8 }, () => reserveHold(store, { amount: 10 })))
    await Promise.all(holds.map((hold) => store.ledger.settle(createSettleOrder(hold.id, 10))))
    const after = store.ledger.stats()
    t.equal(after.operations - before.operations, 16)
    t.ok(after.commits - before.commits <= 4, 'operations that arrive together share a commit')
    t.ok(after.syncs > before.syncs)
    t.equal(after.commitSeconds.length, after.commits - before.commits)
    t.match(after, { holdsOpen: 0, queue: 0, writable: true })
  })
}

export function createApiKey(index: number) {
  return {
    id: `key_${index}`,
    account: toAccountId(1),
    name: `key ${index}`,
    prefix: 'svc_live_abcd',
    last4: 'wxyz',
    hash: new Uint8Array(32).fill(index + 1),
    createdAt: noon,
    expiresAt: null,
  }
}
