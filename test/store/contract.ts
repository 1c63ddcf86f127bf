/** What every store's ledger promises, whatever stands behind it. Each store's own test runs this with its way of opening one. */
import type { Test } from 'tap'
import type { ReserveOrder, SettleOrder } from '../../src/membership/ledger.ts'
import type { Calendar } from '../../src/membership/period.ts'
import { calendarOf } from '../../src/membership/period.ts'
import { windows } from '../../src/membership/plan.ts'
import type { Pool } from '../../src/membership/product.ts'
import type { Store } from '../../src/membership/store.ts'

const hour = 3_600_000
const day = 24 * hour
/** A Wednesday in the middle of a month. */
export const noon = Date.UTC(2026, 4, 13, 12)
const calendar: Calendar = calendarOf('UTC')
export const price = { input: 435, output: 870, discountPercent: 75 }
export const limits = { day: 1000, week: 3000, month: 8000 }

export function accountId(index: number): string {
  return `acc_${String(index).padStart(26, '0')}`
}

export function orderOf(change: Partial<ReserveOrder> = {}): ReserveOrder {
  const at = change.at ?? noon
  return {
    account: accountId(1),
    requestId: 'mbr_1',
    model: 'svc-2.1',
    pool: 'premium',
    at,
    periods: calendar.at(at),
    limits,
    want: 100,
    floor: 1,
    price,
    until: at + hour,
    idempotency: null,
    concurrency: Infinity,
    ...change,
  }
}

export function endOf(hold: number, credits: number, at = noon): SettleOrder {
  return {
    hold,
    at,
    credits,
    tokens: { input: 10, output: 20 },
    estimated: false,
    outcome: 'completed',
    target: 'main/model',
    upstreamStatus: 200,
  }
}

export function refundOf(hold: number, at = noon) {
  return { hold, at, code: 'upstream_error', target: null, upstreamStatus: 500 }
}

export async function addAccount(store: Pick<Store, 'accounts'>, index = 1): Promise<string> {
  const account = {
    id: accountId(index),
    email: `member${index}@example.org`,
    plan: 'free',
    passwordHash: null,
    emailVerified: true,
    at: noon,
  }
  await store.accounts.create(account)
  return account.id
}

/** Reserves and expects to be given a hold. */
export async function holdOf(store: Store, change: Partial<ReserveOrder> = {}): Promise<{ id: number; credits: number }> {
  const reservation = await store.ledger.reserve(orderOf(change))
  if (reservation.kind !== 'held') throw new Error(`expected a hold, got ${JSON.stringify(reservation)}`)
  return reservation.hold
}

/** The balance of one pool by window, and of the packs by id. */
export async function balanceOf(
  store: Store,
  { at = noon, pool = 'premium' as Pool, account = accountId(1), plan = limits, calendar: asked = calendar } = {},
) {
  const { pools, packs } = await store.ledger.balance({
    account,
    at,
    periods: asked.at(at),
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

export function grantOf(id: string, credits: number, change: { expiresAt?: number; account?: string; pool?: Pool } = {}) {
  return {
    id,
    account: accountId(1),
    kind: 'grant' as const,
    pool: 'premium' as Pool,
    credits,
    at: noon,
    expiresAt: noon + 7 * day,
    ...change,
  }
}

/** The ledger's; `repository-contract.ts` has the rest. `openStore` gives an empty store and closes it at the end of the test. */
export function storeContract(t: Test, openStore: (t: Test) => Promise<Store>): void {
  /** A promise about a store with one account, whose books must be in order afterwards. */
  const promise = (name: string, keep: (t: Test, store: Store) => Promise<void>): void => {
    t.test(name, async (t) => {
      const store = await openStore(t)
      await addAccount(store)
      await keep(t, store)
      t.same((await store.ledger.verify()).mismatches, [], 'the books are in order')
    })
  }

  promise('a forgotten account loses address and keys, keeps its books, and frees its address', async (t, store) => {
    await store.keys.create(keyOf(1), 5)
    const hold = await holdOf(store)
    t.equal(await store.accounts.forget(accountId(1), noon), true)
    t.equal(await store.accounts.forget(accountId(1), noon), false)
    t.match(await store.accounts.find(accountId(1)), { email: null, status: 'deleted' })
    t.equal(await store.accounts.find('member1@example.org'), undefined)
    t.equal((await store.keys.findByHash(keyOf(1).hash))?.key.revokedAt, noon)
    t.equal(await store.keys.create(keyOf(2), 5), undefined, 'no new key for a deleted account')
    t.equal(await store.accounts.setStatus(accountId(1), 'active'), false)
    t.equal((await store.ledger.settle(endOf(hold.id, 40))).credits, 40)
    const heir = {
      id: accountId(2),
      email: 'member1@example.org',
      plan: 'pro',
      passwordHash: null,
      emailVerified: false,
      at: noon,
    }
    t.ok(await store.accounts.create(heir))
  })

  promise('proving is given up where nobody waits for it any more', async (t, store) => {
    const closing = new AbortController()
    const proving = store.ledger.verify(closing.signal)
    closing.abort()
    t.equal(await proving.catch((error: unknown) => error), closing.signal.reason)
  })

  promise('a hold is taken from day, week and month at once, and settled for what was used', async (t, store) => {
    const hold = await holdOf(store, { want: 100 })
    t.same((await balanceOf(store)).reserved, [100, 100, 100])
    t.same(await store.ledger.settle(endOf(hold.id, 30)), { done: true, state: 'settled', credits: 30, debt: 0 })
    const after = await balanceOf(store)
    t.match(after, { used: [30, 30, 30], reserved: [0, 0, 0], remaining: [970, 2970, 7970] })
    t.same(after.resetsAt, [Date.UTC(2026, 4, 14), Date.UTC(2026, 4, 18), Date.UTC(2026, 5, 1)])
    t.same((await balanceOf(store, { pool: 'fast' })).used, [0, 0, 0], 'the other pool is untouched')
  })

  promise('a refund gives everything back', async (t, store) => {
    const hold = await holdOf(store)
    t.same(await store.ledger.refund(refundOf(hold.id)), { done: true, state: 'refunded', credits: 0, debt: 0 })
    t.match(await balanceOf(store), { used: [0, 0, 0], reserved: [0, 0, 0], remaining: [1000, 3000, 8000] })
  })

  promise('a hold has one ending: a second one changes nothing and says so', async (t, store) => {
    const settled = await holdOf(store)
    const refunded = await holdOf(store)
    await store.ledger.settle(endOf(settled.id, 30))
    await store.ledger.refund(refundOf(refunded.id))
    const before = await balanceOf(store)
    t.same(await store.ledger.settle(endOf(settled.id, 99)), { done: false, state: 'settled', credits: 30, debt: 0 })
    t.same(await store.ledger.refund(refundOf(settled.id)), { done: false, state: 'settled', credits: 30, debt: 0 })
    t.same(await store.ledger.settle(endOf(refunded.id, 10)), { done: false, state: 'refunded', credits: 0, debt: 0 })
    t.same(await balanceOf(store), before)
    await t.rejects(store.ledger.settle(endOf(4711, 1)), 'a hold that never was is an error')
  })

  promise('of many endings at once exactly one is done', async (t, store) => {
    const hold = await holdOf(store)
    const endings = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        index % 2 === 0 ? store.ledger.settle(endOf(hold.id, 10)) : store.ledger.refund(refundOf(hold.id)),
      ),
    )
    t.equal(endings.filter((ending) => ending.done).length, 1)
  })

  promise('a hold is clamped to what is left, but never under its floor', async (t, store) => {
    t.equal((await holdOf(store, { want: 950 })).credits, 950)
    t.equal((await store.ledger.reserve(orderOf({ want: 100, floor: 51 }))).kind, 'busy', 'a running turn is in the way')
    t.equal((await holdOf(store, { want: 100, floor: 50 })).credits, 50)
    t.same((await balanceOf(store)).remaining, [0, 2000, 7000])
  })

  promise('whichever window has the least room decides', async (t, store) => {
    for (const window of windows) {
      const hold = await holdOf(store, { want: 500, limits: { day: 900, week: 900, month: 900, [window]: 120 } })
      t.equal(hold.credits, 120, window)
      await store.ledger.refund(refundOf(hold.id))
    }
  })

  promise('the refusal says when there is room again', async (t, store) => {
    const spend = async (credits: number, plan: typeof limits) => {
      const hold = await holdOf(store, { want: credits, limits: plan })
      await store.ledger.settle(endOf(hold.id, credits))
    }
    await spend(100, { day: 100, week: 3000, month: 8000 })
    const emptyDay = orderOf({ limits: { day: 100, week: 3000, month: 8000 } })
    t.same(await store.ledger.reserve(emptyDay), { kind: 'empty', resetsAt: Date.UTC(2026, 4, 14), window: 'day' })
    const emptyWeek = orderOf({ limits: { day: 500, week: 100, month: 8000 } })
    t.same(await store.ledger.reserve(emptyWeek), { kind: 'empty', resetsAt: Date.UTC(2026, 4, 18), window: 'week' })
    const emptyDayAndMonth = orderOf({ limits: { day: 100, week: 3000, month: 100 } })
    t.same(await store.ledger.reserve(emptyDayAndMonth), { kind: 'empty', resetsAt: Date.UTC(2026, 5, 1), window: 'month' })
  })

  promise('packs are drawn on after the plan, the one that expires first before the others', async (t, store) => {
    await store.ledger.grant(grantOf('late', 500, { expiresAt: noon + 3 * day }))
    await store.ledger.grant(grantOf('soon', 50, { expiresAt: noon + day }))
    await store.ledger.grant(grantOf('gone', 500, { expiresAt: noon - 1 }))
    await store.ledger.grant(grantOf('other', 500, { pool: 'fast' }))
    const hold = await holdOf(store, { want: 1100 })
    t.equal(hold.credits, 1100)
    t.same(await balanceOf(store), {
      ...(await balanceOf(store)),
      reserved: [1000, 1000, 1000],
      packs: { soon: 0, late: 450, other: 500 },
    })
    await store.ledger.settle(endOf(hold.id, 1020))
    t.match(await balanceOf(store), { used: [1000, 1000, 1000], packs: { soon: 30, late: 500 } })
    const more = await holdOf(store, { want: 100 })
    t.equal(more.credits, 100)
    await store.ledger.refund(refundOf(more.id))
    t.match((await balanceOf(store)).packs, { soon: 30, late: 500 })
  })

  promise(
    'a settlement above the hold takes what all windows have room for, then packs, and no window’s debt hides another’s use',
    async (t, store) => {
      await store.ledger.grant(grantOf('pack', 50))
      const hold = await holdOf(store, { want: 100 })
      t.same(await store.ledger.settle(endOf(hold.id, 1200)), { done: true, state: 'settled', credits: 1200, debt: 150 })
      // 1000 from all three, 50 from the pack; for the last 150 the day has no room, the week and the month have.
      t.match(await balanceOf(store), { used: [1150, 1150, 1150], debt: [150, 0, 0], remaining: [0, 1850, 6850], packs: {} })
      t.equal((await store.ledger.reserve(orderOf())).kind, 'empty')
      const tomorrow = noon + day
      t.match(await balanceOf(store, { at: tomorrow }), { used: [0, 1150, 1150], remaining: [1000, 1850, 6850] })
    },
  )

  promise('each window takes of an overflow what it has room for, and owes the rest', async (t, store) => {
    const plan = { day: 100, week: 120, month: 8000 }
    const hold = await holdOf(store, { want: 100, limits: plan })
    t.match(await store.ledger.settle(endOf(hold.id, 150)), { credits: 150, debt: 50 })
    t.match(await balanceOf(store, { plan }), { used: [150, 150, 150], debt: [50, 30, 0], remaining: [0, 0, 7850] })
  })

  promise('what other turns hold is not taken by a settlement above its hold', async (t, store) => {
    const other = await holdOf(store, { want: 900 })
    const hold = await holdOf(store, { want: 50 })
    t.match(await store.ledger.settle(endOf(hold.id, 200)), { credits: 200, debt: 100 })
    t.match(await store.ledger.settle(endOf(other.id, 900)), { credits: 900, debt: 0 })
  })

  promise('a free turn is held and settled at zero', async (t, store) => {
    const hold = await holdOf(store, { want: 0, floor: 0 })
    t.equal(hold.credits, 0)
    t.match(await store.ledger.settle(endOf(hold.id, 0)), { done: true, credits: 0 })
  })

  promise('a hold returns to the periods it came from, also after they are over', async (t, store) => {
    const lateSunday = Date.UTC(2026, 4, 31, 23, 59)
    const monday = Date.UTC(2026, 5, 1, 0, 1)
    const [first, second, third] = [
      await holdOf(store, { at: lateSunday, want: 100 }),
      await holdOf(store, { at: lateSunday, want: 200 }),
      await holdOf(store, { at: lateSunday, want: 300, until: lateSunday + 1000 }),
    ]
    const next = await holdOf(store, { at: monday, want: 7 })
    await store.ledger.settle(endOf(first.id, 60, monday))
    await store.ledger.refund(refundOf(second.id, monday))
    t.match(await balanceOf(store, { at: lateSunday }), { used: [60, 60, 60], reserved: [300, 300, 300] })
    t.match(
      await balanceOf(store, { at: monday }),
      { used: [0, 0, 0], reserved: [7, 7, 7] },
      'the new periods start with nothing used',
    )
    t.equal(await store.ledger.expire(monday, monday), 1)
    t.same((await balanceOf(store, { at: lateSunday })).reserved, [0, 0, 0])
    t.equal((await store.ledger.settle(endOf(third.id, 1, monday))).done, false)
    await store.ledger.settle(endOf(next.id, 7, monday))
    t.same((await balanceOf(store, { at: monday })).used, [7, 7, 7])
  })

  promise('a clock that steps back finds the periods as they were', async (t, store) => {
    const midnight = Date.UTC(2026, 4, 14)
    const before = await holdOf(store, { at: midnight - 10 })
    const after = await holdOf(store, { at: midnight + 10 })
    const again = await holdOf(store, { at: midnight - 5 })
    t.same((await balanceOf(store, { at: midnight - 10 })).reserved, [200, 300, 300])
    t.same((await balanceOf(store, { at: midnight + 10 })).reserved, [100, 300, 300])
    for (const hold of [before, after, again]) await store.ledger.settle(endOf(hold.id, 100, midnight + 20))
    t.same((await balanceOf(store, { at: midnight + 10 })).used, [100, 300, 300])
  })

  promise('a turn refused for a period that came back leaves the period as it was', async (t, store) => {
    const midnight = Date.UTC(2026, 4, 14)
    await holdOf(store, { at: midnight - 10, want: 1000 })
    await holdOf(store, { at: midnight + 10 })
    t.equal((await store.ledger.reserve(orderOf({ at: midnight - 5 }))).kind, 'busy')
    await holdOf(store, { at: midnight + 10 })
    t.equal((await store.ledger.reserve(orderOf({ at: midnight - 5 }))).kind, 'busy')
    t.same((await balanceOf(store, { at: midnight - 10 })).reserved, [1000, 1200, 1200])
  })

  promise(
    'another time zone grants nothing anew: what runs goes on to its end, then the new calendar is followed',
    async (t, store) => {
      const hold = await holdOf(store, { want: 600 })
      await store.ledger.settle(endOf(hold.id, 600))
      const midnight = Date.UTC(2026, 4, 14)
      // In the evening of UTC it is already tomorrow in the first, and in the morning of the next day still today in the second.
      for (const [zone, nextDayEnds] of [
        ['Asia/Shanghai', Date.UTC(2026, 4, 14, 16)],
        ['America/Los_Angeles', Date.UTC(2026, 4, 15, 7)],
      ] as const) {
        const there = calendarOf(zone)
        for (const at of [noon + 1, midnight - 1]) {
          t.match(await balanceOf(store, { at, calendar: there }), { used: [600, 600, 600], remaining: [400, 2400, 7400] }, zone)
          t.equal((await balanceOf(store, { at, calendar: there })).resetsAt[0], midnight, zone)
          t.equal((await store.ledger.reserve(orderOf({ at, periods: there.at(at), want: 500, floor: 401 }))).kind, 'empty', zone)
        }
        const account = await addAccount(store, zone === 'Asia/Shanghai' ? 2 : 3)
        await holdOf(store, { account, want: 600 })
        const next = await holdOf(store, { account, at: midnight, periods: there.at(midnight), want: 900 })
        t.equal(next.credits, 900, 'a new day when the old one is over')
        for (const at of [midnight, nextDayEnds - 1]) {
          const balance = await balanceOf(store, { account, at, calendar: there })
          t.match(balance, { reserved: [900, 1500, 1500] }, zone)
          t.equal(balance.resetsAt[0], nextDayEnds, 'which ends as days end there')
        }
        const following = await balanceOf(store, { account, at: nextDayEnds, calendar: there })
        t.match(following, { reserved: [0, 1500, 1500], resetsAt: [there.at(nextDayEnds).day.end] })
      }
    },
  )

  promise(
    'a month that ends while the new zone is still in it is followed by a whole one, not by its last hours',
    async (t, store) => {
      const there = calendarOf('America/Los_Angeles')
      await holdOf(store)
      const june = Date.UTC(2026, 5, 1)
      await holdOf(store, { at: june, periods: there.at(june), want: 30 })
      for (const at of [june, Date.UTC(2026, 5, 1, 7), Date.UTC(2026, 6, 1, 7) - 1]) {
        const balance = await balanceOf(store, { at, calendar: there })
        t.match([balance.reserved[2], balance.resetsAt[2]], [30, Date.UTC(2026, 6, 1, 7)], new Date(at).toISOString())
      }
    },
  )

  promise('used days tell each day that is over, the last one as soon as it is, and the one at hand', async (t, store) => {
    const use = async (at: number, credits: number): Promise<void> => {
      await store.ledger.settle(endOf((await holdOf(store, { at })).id, credits, at))
    }
    await use(noon, 30)
    await use(noon + day, 40)
    const since = async (instant: number) =>
      (await store.days.since(accountId(1), instant)).map(({ period, pool, used }) => [
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
    t.same(await store.days.since(accountId(2), 0), [])
  })

  promise('a plan change keeps what was used', async (t, store) => {
    const hold = await holdOf(store, { want: 800 })
    await store.ledger.settle(endOf(hold.id, 800))
    const smaller = { day: 500, week: 3000, month: 8000 }
    t.match(await balanceOf(store, { plan: smaller }), { used: [800, 800, 800], remaining: [0, 2200, 7200] })
    t.equal((await store.ledger.reserve(orderOf({ limits: smaller }))).kind, 'empty')
    const larger = { day: 900, week: 3000, month: 8000 }
    t.equal((await holdOf(store, { limits: larger, want: 500 })).credits, 100)
    await store.accounts.setPlan(accountId(1), 'max')
    t.same((await balanceOf(store, { plan: larger })).used, [800, 800, 800], 'unrelated writes move no money')
  })

  promise('what a person has used already opens new books, once, whatever the plan includes', async (t, store) => {
    const order = { account: accountId(1), pool: 'premium' as Pool, at: noon, periods: calendar.at(noon) }
    await store.ledger.carry({ ...order, used: { day: 0, week: 900, month: 9_000 } })
    t.same((await balanceOf(store)).used, [0, 900, 9_000])
    t.same((await balanceOf(store)).remaining, [1000, 2100, 0], 'more than this plan has is no debt')
    t.same((await balanceOf(store, { pool: 'fast' })).used, [0, 0, 0])
    t.equal((await store.ledger.reserve(orderOf({ want: 10 }))).kind, 'empty')
    const larger = { day: 1000, week: 3000, month: 10_000 }
    await store.ledger.settle(endOf((await holdOf(store, { want: 10, limits: larger })).id, 7))
    t.same((await balanceOf(store)).used, [7, 907, 9_007])
    await store.ledger.carry({ ...order, used: { day: 500, week: 500, month: 500 } })
    t.same((await balanceOf(store)).used, [7, 907, 9_007], 'periods that are open stay as they are')
    await t.rejects(store.ledger.carry({ ...order, used: { day: -1, week: 0, month: 0 } }), /whole number/)
  })

  promise('overdue holds are given back, the others stay', async (t, store) => {
    const overdue = await holdOf(store, { until: noon + 10 })
    await holdOf(store, { until: noon + 1000 })
    t.equal(await store.ledger.expire(noon + 9, noon + 9), 0)
    t.equal(await store.ledger.expire(noon + 10, noon + 10), 1)
    t.same((await balanceOf(store)).reserved, [100, 100, 100])
    t.same(await store.ledger.settle(endOf(overdue.id, 5)), { done: false, state: 'expired', credits: 0, debt: 0 })
    t.equal(store.ledger.vitals().holdsOpen, 1)
  })

  promise('the same pack is granted once', async (t, store) => {
    const grants = await Promise.all(Array.from({ length: 10 }, () => store.ledger.grant(grantOf('pack', 50))))
    t.ok(grants.every((pack) => pack.granted === 50 && pack.id === 'pack'))
    t.same((await balanceOf(store)).packs, { pack: 50 })
    await addAccount(store, 2)
    await t.rejects(store.ledger.grant(grantOf('pack', 50, { account: accountId(2) })), 'an id belongs to one account')
  })

  promise('an idempotency key is charged once, and runs again when its turn was given back', async (t, store) => {
    const keyed = (bodyHash: string, requestId: string, account = accountId(1)) =>
      store.ledger.reserve(orderOf({ account, requestId, idempotency: { key: 'k', bodyHash } }))
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => keyed('a', `mbr_${index}`)))
    const held = answers.filter((answer) => answer.kind === 'held')
    t.equal(held.length, 1)
    const first = { kind: 'duplicate', state: 'held', sameBody: true, requestId: 'mbr_0', aborted: false, credits: 0 }
    t.same(answers[10], first)
    t.match(await keyed('b', 'mbr_x'), { kind: 'duplicate', sameBody: false })
    await addAccount(store, 2)
    t.equal((await keyed('a', 'mbr_y', accountId(2))).kind, 'held', 'another account is independent')

    const [hold] = held
    if (hold?.kind !== 'held') throw new Error('no hold')
    await store.ledger.refund(refundOf(hold.hold.id))
    const again = await keyed('b', 'mbr_z')
    if (again.kind !== 'held') throw new Error('the key did not run again')
    await store.ledger.settle({ ...endOf(again.hold.id, 10), outcome: 'aborted' })
    const settled = { kind: 'duplicate', state: 'settled', sameBody: true, requestId: 'mbr_z', aborted: true, credits: 10 }
    t.same(await keyed('b', 'mbr_q'), settled, 'how it ended, and what it cost')
  })

  promise('200 turns at once on quota for 20 admit exactly 20', async (t, store) => {
    const answers = await Promise.all(Array.from({ length: 200 }, () => store.ledger.reserve(orderOf({ want: 50, floor: 50 }))))
    t.equal(answers.filter((answer) => answer.kind === 'held').length, 20)
    t.ok(answers.every((answer) => answer.kind === 'held' || answer.kind === 'busy'))
    t.same((await balanceOf(store)).remaining, [0, 2000, 7000])
  })

  promise('an amount that is no whole number of credits is refused and moves nothing', async (t, store) => {
    for (const want of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 1e308]) {
      await t.rejects(store.ledger.reserve(orderOf({ want })), RangeError)
    }
    await t.rejects(store.ledger.reserve(orderOf({ want: 5, floor: 6 })), RangeError)
    const hold = await holdOf(store)
    for (const credits of [-1, 0.1, Number.NaN, 1e308]) await t.rejects(store.ledger.settle(endOf(hold.id, credits)), RangeError)
    t.same((await balanceOf(store)).reserved, [100, 100, 100])
  })

  promise('an unknown account cannot hold anything', async (t, store) => {
    await t.rejects(store.ledger.reserve(orderOf({ account: accountId(9) })))
    t.equal((await store.ledger.verify()).turns, 0)
  })

  promise('an operation that fails takes none of its neighbours with it', async (t, store) => {
    const answers = await Promise.allSettled([
      store.ledger.reserve(orderOf()),
      store.ledger.reserve(orderOf({ account: accountId(9) })),
      store.ledger.settle(endOf(4711, 1)),
      store.ledger.reserve(orderOf()),
    ])
    t.same(
      answers.map((answer) => answer.status),
      ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
    )
    t.same((await balanceOf(store)).reserved, [200, 200, 200])
  })

  promise('a period that a held turn may still draw on stays, however long ago the clock says it was', async (t, store) => {
    const later = noon + 100 * day
    const none = { day: 0, week: 0, month: 0 }
    await store.ledger.grant(grantOf('pack', 1_000, { expiresAt: later + day }))
    await store.ledger.settle(endOf((await holdOf(store)).id, 10))
    const ofPacks = await holdOf(store, { want: 50, floor: 50, limits: none })
    const after = await holdOf(store, { at: later, periods: calendar.at(later), until: later + day })
    await store.ledger.settle(endOf(after.id, 10, later))
    // What cannot go yet waits for the next time.
    await store.ledger.forgetTurns(later, 100).catch(() => undefined)
    t.match(await store.ledger.settle(endOf(ofPacks.id, 60, later)), { done: true, state: 'settled', credits: 60 })
  })

  promise('the turn log tells each turn, newest first, by account, state, model, time and page', async (t, store) => {
    await addAccount(store, 2)
    for (let index = 1; index <= 6; index++) {
      const at = noon + index
      const hold = await holdOf(store, {
        requestId: `mbr_${index}`,
        account: accountId((index % 2) + 1),
        model: index > 3 ? 'auto' : 'svc-2.1',
        at,
      })
      if (index === 5) await store.ledger.refund(refundOf(hold.id, at))
      else if (index !== 6) await store.ledger.settle({ ...endOf(hold.id, index, at), estimated: index === 2 })
    }
    const ask = async (query: Omit<Parameters<typeof store.ledger.turns>[0], 'limit'>, limit = 10) =>
      (await store.ledger.turns({ ...query, limit })).map((turn) => turn.requestId.slice(4)).join('')
    t.equal(await ask({}), '654321')
    t.equal(await ask({}, 2), '65')
    t.equal(await ask({ account: accountId(1) }), '642')
    t.equal(await ask({ account: accountId(2) }, 2), '53')
    t.equal(await ask({ account: accountId(3) }), '')
    t.equal(await ask({ state: 'settled' }), '4321')
    t.equal(await ask({ state: 'held' }), '6')
    t.equal(await ask({ model: 'auto' }), '654')
    t.equal(await ask({ since: noon + 3 }), '6543')
    const [newest] = await store.ledger.turns({ account: accountId(2), limit: 1 })
    t.match(newest, {
      state: 'refunded',
      code: 'upstream_error',
      credits: 0,
      reserved: 100,
      upstreamStatus: 500,
      endedAt: noon + 5,
    })
    t.equal(await ask({ account: accountId(2), before: newest?.id ?? 0 }), '31')
    const [second] = (await store.ledger.turns({ limit: 10 })).filter((turn) => turn.requestId === 'mbr_2')
    t.match(second, { inputTokens: 10, outputTokens: 20, estimated: true, target: 'main/model', credits: 2, startedAt: noon + 2 })
  })

  promise('old turns are forgotten a few at a time, open ones and the books stay', async (t, store) => {
    await holdOf(store)
    for (let index = 0; index < 5; index++) await store.ledger.settle(endOf((await holdOf(store)).id, 10))
    t.equal(await store.ledger.forgetTurns(noon, 100), 0, 'not older')
    t.equal(await store.ledger.forgetTurns(noon + 1, 3), 2, 'the open one is among the oldest three')
    t.equal(await store.ledger.forgetTurns(noon + 1, 100), 2, 'the newest always stays')
    t.equal((await store.ledger.turns({ account: accountId(1), limit: 10 })).length > 0, true)
    t.same((await balanceOf(store)).used, [50, 50, 50])
    const next = await holdOf(store)
    t.ok(next.id > 6, 'an id is never used twice')
  })

  promise('the invitations of one person are counted together, those of two apart', async (t, store) => {
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
        id: accountId(11 + index),
        email,
        plan: 'free',
        passwordHash: null,
        emailVerified: true,
        at: noon,
      })
    const person = (index: number): Uint8Array => Buffer.from([index])
    const [ann, ben] = [person(1), person(2)]
    // Where addresses are not merged, the third is somebody else's.
    for (const [inviter, inviterPerson, invited] of [
      [11, ann, 14],
      [12, ann, 15],
      [13, ben, 16],
    ] as const) {
      await boosts.recordInvite({
        invited: accountId(invited),
        inviter: accountId(inviter),
        person: person(invited),
        inviterPerson,
        at: noon,
      })
      await store.ledger.settle(endOf((await holdOf(store, { account: accountId(invited) })).id, 10))
    }
    await boosts.decideInvites(noon, noon - 1, 1)
    const paid = (await boosts.payableInvites(5)).map(({ inviter }) => inviter)
    t.equal(paid.length, 2)
    t.ok(paid.includes(accountId(13)))
    for (const index of [11, 12]) t.equal(await boosts.credited(accountId(index), ann, noon - 1), 1)
    t.equal(await boosts.credited(accountId(13), ben, noon - 1), 1)
  })

  promise('vitals count operations, commits and waits for the disk', async (t, store) => {
    const before = store.ledger.vitals()
    const holds = await Promise.all(Array.from({ length: 8 }, () => holdOf(store, { want: 10 })))
    await Promise.all(holds.map((hold) => store.ledger.settle(endOf(hold.id, 10))))
    const after = store.ledger.vitals()
    t.equal(after.operations - before.operations, 16)
    t.ok(after.commits - before.commits <= 4, 'operations that arrive together share a commit')
    t.ok(after.syncs > before.syncs)
    t.equal(after.commitSeconds.length, after.commits - before.commits)
    t.match(after, { holdsOpen: 0, queue: 0, writable: true })
  })
}

export function keyOf(index: number) {
  return {
    id: `key_${index}`,
    account: accountId(1),
    name: `key ${index}`,
    prefix: 'svc_live_abcd',
    last4: 'wxyz',
    hash: new Uint8Array(32).fill(index + 1),
    createdAt: noon,
    expiresAt: null,
  }
}
