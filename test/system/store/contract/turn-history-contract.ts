/** The contract of every store's lists and sums of turns: each ended turn once, whatever interrupts their collector. */
import type { Test } from 'tap'
import { createCalendar } from '../../../../src/domain/billing/period.ts'
import { mergeDays } from '../../../../src/domain/billing/report.ts'
import type { ReportSlot } from '../../../../src/domain/billing/report.ts'
import type { Turn } from '../../../../src/domain/billing/ledger.ts'
import type { Store } from '../../../../src/domain/store.ts'
import { createHistorySlots } from '../../../../src/domain/turn-history/history-slots.ts'
import type { TurnHistoryStore } from '../../../../src/domain/turn-history/turn-history-store.ts'
import type { TurnFilter, TurnSummary, UsageQuery } from '../../../../src/domain/turn-history/turn-history.ts'
import type { Database } from '../../../../src/store/database.ts'
import { createTurnHistoryStore } from '../../../../src/store/turn-history/turn-history-store.ts'
import {
  addAccount,
  createGrantOrder,
  createRefundOrder,
  createSettleOrder,
  noon,
  readBalance,
  reserveHold,
  toAccountId,
} from '../../../support/store/contract/store-contract.ts'
import { createRandom } from '../../../support/formats/random-chunks.ts'

type StoreWithDatabase = Store & { readonly database: Database }

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const calendar = createCalendar('UTC')
const slots = createHistorySlots(calendar)
const plenty = { day: 1_000_000, week: 1_000_000, month: 1_000_000 }
const products = ['svc-2.1', 'svc-mini']
const codes = ['upstream_error', 'upstream_timeout']
const keys = ['key_1', 'web']
/** Every account is `free` at the end. */
const plans = ['free', 'pro', null]
const everything = { from: noon - dayMs, to: noon + 3 * dayMs } as const

export function testTurnHistory(t: Test, open: (t: Test) => Promise<StoreWithDatabase>): void {
  const promise = (title: string, check: (t: Test, store: StoreWithDatabase) => Promise<void>): void =>
    void t.test(title, async (t) => check(t, await open(t)))

  promise('after kills and with a second collector, lists and sums have each ended turn once', async (t, store) => {
    const random = createRandom(7)
    const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
    for (const index of [1, 2, 3]) await addAccount(store, index)
    const collectors = [
      createTurnHistoryStore(failing(store.database, () => pick(['no', 'before', 'after'] as const))),
      createTurnHistoryStore(store.database),
    ]
    const open: number[] = []
    let at = noon
    for (let step = 0; step < 160; step += 1) {
      at += Math.floor(random() * hourMs * 0.4)
      const account = toAccountId(1 + Math.floor(random() * 3))
      const change = { account, at, requestId: `mbr_${step}`, model: pick(products), credential: pick(keys), limits: plenty }
      open.push((await reserveHold(store, { ...change, periods: calendar.getPeriods(at) })).id)
      // A long turn ends after many that began later.
      while (open.length > 3) {
        const [hold = 0] = open.splice(Math.floor(random() * open.length), 1)
        await endTurn(store, hold, at + 500, pick)
      }
      if (random() < 0.3)
        await Promise.allSettled(
          collectors.slice(0, 1 + Math.floor(random() * 2)).map((each) => collect(each, at, 1 + (step % 5))),
        )
    }
    for (const hold of open) await endTurn(store, hold, at + 500, pick)
    await collectAll(store.turnHistory, at + 1000)
    const turns = await readEndedTurns(store)
    t.equal(turns.length, 160)
    await assertSame(t, store, turns)
    t.same(await store.turnHistory.readProgress(), { completeAt: at + 1000, isPending: false })
  })

  promise('finds turns by each filter, in pages, newest first', async (t, store) => {
    const random = createRandom(11)
    const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
    for (const index of [1, 2]) await addAccount(store, index)
    for (let step = 0; step < 60; step += 1) {
      const at = noon + Math.floor(step / 3) * hourMs * 0.7
      const account = toAccountId(1 + (step % 2))
      const change = { account, at, requestId: `mbr_${step}`, model: pick(products), credential: pick(keys), limits: plenty }
      await endTurn(store, (await reserveHold(store, { ...change, periods: calendar.getPeriods(at) })).id, at + 900, pick)
    }
    await collectAll(store.turnHistory, noon + dayMs)
    const turns = await readEndedTurns(store)
    const filters: readonly TurnFilter[] = [
      {},
      { account: toAccountId(1) },
      { account: toAccountId(2), product: 'svc-mini' },
      { account: toAccountId(1), credential: 'web', failedOnly: true },
      { product: 'svc-mini' },
      { target: 'main/model' },
      { target: '' },
      { ending: 'upstream_error' },
      { ending: 'completed', product: 'svc-2.1', from: noon + 2 * hourMs, to: noon + 9 * hourMs },
      { failedOnly: true },
      { plan: 'pro' },
      { plan: 'free', product: 'svc-mini', failedOnly: true },
      { account: toAccountId(1), plan: 'pro', ending: 'aborted' },
      { requestId: 'mbr_7' },
      { requestId: 'mbr_7', failedOnly: true },
      { ending: 'no such' },
      { account: toAccountId(1), from: noon + hourMs, to: noon + 5 * hourMs, ending: 'completed' },
      { account: `' or 1=1 --` },
    ]
    const history = createTurnHistoryStore(store.database)
    for (const filter of filters) {
      const expected = turns.filter((turn) => matches(turn, filter)).map(({ id }) => id)
      for (const limit of [7, 100])
        t.same(await readPages(history, filter, limit), expected, `${JSON.stringify(filter)} by ${limit}`)
    }
    const filter = { account: toAccountId(2), product: 'svc-mini' }
    t.same(await readPages(store.turnHistory, filter, 100), await readPages(history, filter, 100), 'in a thread of its own')
  })

  promise('no page of rare turns ends early, also where a change of the clocks cuts an hour short', async (t, store) => {
    await addAccount(store, 1)
    // On this day the clocks go back by half an hour, so its last hour has thirty minutes.
    const lordHowe = createCalendar('Australia/Lord_Howe')
    const { start, end } = lordHowe.getPeriods(Date.parse('2026-04-05T00:00:00Z')).day
    t.equal(end - start, 24.5 * hourMs)
    for (let step = 0; step < 30; step += 1) {
      const at = end - 10 * hourMs + step * hourMs * 0.75
      const { id } = await reserveHold(store, { at, periods: calendar.getPeriods(at), limits: plenty, requestId: `mbr_${step}` })
      await store.ledger.refund(createRefundOrder(id, at + 900))
    }
    const ownSlots = createHistorySlots(lordHowe)
    while ((await store.turnHistory.collect({ at: end + dayMs, keptFrom: 0, slots: ownSlots, limit: 50 })).isMore);
    const turns = await readEndedTurns(store)
    const history = createTurnHistoryStore(store.database)
    for (const limit of [1, 2, 3, 7])
      t.same(
        await readPages(history, { account: toAccountId(1), failedOnly: true }, limit),
        turns.map(({ id }) => id),
        `by ${limit}`,
      )
  })

  promise('a statement has the balance after each line', async (t, store) => {
    await addAccount(store, 1)
    const balances = new Map<number, readonly [plan: number, packs: number]>()
    let seq = 0
    const record = async (links: number): Promise<void> => {
      seq += links
      const { remaining, packs } = await readBalance(store)
      balances.set(seq, [Math.min(...remaining), Object.values(packs).reduce((sum, left) => sum + left, 0)])
    }
    const charge = async (credits: number): Promise<number> => {
      const { id } = await reserveHold(store, { amount: credits + 10 })
      await store.ledger.settle(createSettleOrder(id, credits))
      return id
    }
    await charge(100)
    // Three periods begin with the first turn.
    await record(4)
    await store.ledger.grant(createGrantOrder('pack_1', 500))
    await record(1)
    const late = await reserveHold(store, { amount: 300 })
    await charge(250)
    await record(0)
    const withLate = seq + 1
    await store.ledger.settle(createSettleOrder(late.id, 200))
    seq += 1
    await record(1)
    balances.delete(withLate - 1)
    await charge(700)
    await record(1)
    const { id: refunded } = await reserveHold(store)
    await store.ledger.refund(createRefundOrder(refunded))
    await record(1)
    const periods = calendar.getPeriods(noon)
    const adjust = {
      account: toAccountId(1),
      pool: 'premium',
      at: noon,
      expiresAt: noon + dayMs,
      periods,
      limits: { day: 1000, week: 3000, month: 8000 },
    } as const
    await store.ledger.adjust({ ...adjust, id: 'adj_1', credits: 70, reason: 'an apology' })
    await record(1)
    await store.ledger.adjust({ ...adjust, id: 'adj_2', credits: -30, reason: 'a mistake' })
    await record(1)
    await collectAll(store.turnHistory, noon)
    const lines = []
    for (let before: number | null | undefined; before !== null;) {
      const page = await store.turnHistory.readStatement(toAccountId(1), {
        limit: 3,
        ...(before === undefined ? {} : { before }),
      })
      if (page === null) throw new Error('links are missing')
      lines.push(...page.lines)
      before = page.next
    }
    t.same(
      lines.map((line) => line.seq),
      Array.from({ length: seq }, (_, index) => seq - index),
      'each link is a line',
    )
    for (const [link, left] of balances) {
      const line = lines.find((each) => each.seq === link)
      t.same([line?.planLeft, line?.packsLeft], left, `after link ${link}`)
    }
    t.match(lines[0], { kind: 'adjust', credits: -30, reason: 'a mistake' })
    t.match(lines[1], { kind: 'adjust', credits: 70, reason: 'an apology', pack: 'adj_1' })
    t.match(lines[2], { kind: 'turn', credits: 0, turn: refunded, ending: 'upstream_error' })
  })

  promise('a statement has turns that are not in the lists', async (t, store) => {
    await addAccount(store, 1)
    const { id } = await reserveHold(store)
    await store.ledger.settle(createSettleOrder(id, 10))
    await reserveHold(store)
    t.match(await store.turnHistory.readStatement(toAccountId(1), { limit: 10 }), { lines: [{ turn: id, credits: -10 }, {}] })
    t.match(await store.turnHistory.readProgress(), { completeAt: null, isPending: true })
    // The ledger keeps turns of a part of a day, and the lists begin with a whole one.
    const keptFrom = slots.toNextDay(noon)
    await store.turnHistory.collect({ at: noon + dayMs, keptFrom, slots, limit: 10 })
    t.same(await store.turnHistory.listTurns({ account: toAccountId(1) }, { limit: 10 }), [])
    t.match(await store.turnHistory.readStatement(toAccountId(1), { limit: 10 }), { lines: [{ turn: id, credits: -10 }, {}] })
  })

  promise('one account that has the newest turns hides the others, whatever their endings', async (t, store) => {
    for (const index of [1, 2, 3]) await addAccount(store, index)
    const end = async (index: number, at: number, isFailed: boolean) => {
      const { id } = await reserveHold(store, {
        account: toAccountId(index),
        at,
        periods: calendar.getPeriods(at),
        limits: plenty,
      })
      if (isFailed) await store.ledger.refund(createRefundOrder(id, at + 500))
      else await store.ledger.settle(createSettleOrder(id, 1, at + 500))
    }
    for (const index of [2, 3]) await end(index, noon + index, true)
    for (let step = 10; step < 20; step += 1) await end(1, noon + step, false)
    await collectAll(store.turnHistory, noon + 1000)
    const [{ model: product = '' } = {}] = await readEndedTurns(store)
    const query = { product, from: noon, minAccounts: 3 }
    t.equal(await store.turnHistory.hasAccounts({ ...query, maxTurns: 12 }), true)
    t.equal(await store.turnHistory.hasAccounts({ ...query, maxTurns: 11 }), false)
    t.equal(await store.turnHistory.hasAccounts({ ...query, maxTurns: 11, minAccounts: 2 }), true)
    t.equal(await store.turnHistory.hasAccounts({ ...query, maxTurns: 12, from: noon + 3 }), false)
    t.equal(await store.turnHistory.hasAccounts({ ...query, maxTurns: 12, product: 'none' }), false)
  })

  promise('deletes what the ledger does not keep, and sums equal the rest', async (t, store) => {
    await addAccount(store, 1)
    for (const day of [0, 1, 2]) {
      const at = noon + day * dayMs
      const { id } = await reserveHold(store, { at, periods: calendar.getPeriods(at), limits: plenty })
      await store.ledger.settle(createSettleOrder(id, 10 + day, at + 1000))
    }
    await collectAll(store.turnHistory, noon + 2 * dayMs)
    const keptFrom = slots.toNextDay(noon)
    await store.turnHistory.collect({ at: noon + 3 * dayMs, keptFrom, slots, limit: 10 })
    t.equal(await store.turnHistory.prune(10), 1)
    t.equal(await store.turnHistory.prune(10), 0)
    await assertSame(
      t,
      store,
      (await readEndedTurns(store)).filter(({ startedAt }) => startedAt >= keptFrom),
    )
    await store.turnHistory.collect({ at: noon + 3 * dayMs, keptFrom: 0, slots, limit: 10 })
    await assertSame(
      t,
      store,
      (await readEndedTurns(store)).filter(({ startedAt }) => startedAt >= keptFrom),
    )
  })

  promise('a turn tells how it went', async (t, store) => {
    await addAccount(store, 1)
    const { id } = await reserveHold(store, { amount: 100 })
    const attempts = [
      { target: 'main/first', startedMs: 2, endedMs: 120, status: 503, failure: 'status' },
      { target: 'main/model', startedMs: 121, endedMs: 900, status: 200, failure: null },
    ]
    await store.ledger.settle({ ...createSettleOrder(id, 40, noon + 900), trace: { firstTokenMs: 300, attempts } })
    const story = await store.turnHistory.findTurn(id)
    t.match(story, {
      turn: { firstTokenMs: 300, attempts },
      held: [{ from: 'plan', credits: 100 }],
      settled: [{ from: 'plan', credits: 40 }],
    })
    t.equal(await store.turnHistory.findTurn(id + 1), undefined)
    t.equal((await store.ledger.verify()).ok, true)
  })
}

/** A database whose transactions are lost before or after their commit, as the collector's process would see at a kill. */
function failing(database: Database, choose: () => 'no' | 'before' | 'after'): Database {
  return {
    ...database,
    async transact(work) {
      const killed = choose()
      const result = await database.transact(async (transaction) => {
        const done = await work(transaction)
        if (killed === 'before') throw new Error('killed before the commit')
        return done
      })
      if (killed === 'after') throw new Error('killed after the commit')
      return result
    },
  }
}

async function endTurn(store: Store, hold: number, at: number, pick: <Item>(items: readonly Item[]) => Item): Promise<void> {
  const kind = pick(['settle', 'settle', 'refund', 'abort'])
  // Turns of older versions recorded no plan.
  const details = { plan: pick(plans), upstreamModel: null, upstreamResponseId: null, upstreamCostNanodollars: null }
  if (kind === 'refund') await store.ledger.refund({ ...createRefundOrder(hold, at), code: pick(codes), details })
  else {
    const order = createSettleOrder(hold, pick([1, 20, 77]), at)
    const trace = { firstTokenMs: pick([40, 300, 7_000]), attempts: [] }
    await store.ledger.settle({ ...order, details, trace, outcome: kind === 'abort' ? 'aborted' : 'completed' })
  }
}

async function collect(history: TurnHistoryStore, at: number, limit: number): Promise<boolean> {
  return (await history.collect({ at, keptFrom: 0, slots, limit })).isMore
}

async function collectAll(history: TurnHistoryStore, at: number): Promise<void> {
  while (await collect(history, at, 50));
}

/** Newest first. */
async function readEndedTurns(store: Store): Promise<readonly Turn[]> {
  const turns = await store.ledger.turns({ limit: 1_000 })
  return turns
    .filter(({ state }) => state !== 'held')
    .toSorted((one, other) => other.startedAt - one.startedAt || other.id - one.id)
}

function toEnding({ code, state }: Turn): string {
  return code ?? (state === 'settled' ? 'completed' : state)
}

function matches(turn: Turn, filter: TurnFilter): boolean {
  const { account, credential, product, target, ending, plan, failedOnly, requestId, from = 0, to = Infinity } = filter
  return (
    (account ?? turn.account) === turn.account &&
    (credential ?? turn.credential) === turn.credential &&
    (product ?? turn.model) === turn.model &&
    (target ?? turn.target ?? '') === (turn.target ?? '') &&
    (ending ?? toEnding(turn)) === toEnding(turn) &&
    (plan ?? turn.plan ?? 'free') === (turn.plan ?? 'free') &&
    (failedOnly !== true || turn.state !== 'settled') &&
    (requestId ?? turn.requestId) === turn.requestId &&
    turn.startedAt >= from &&
    turn.startedAt < to
  )
}

async function readPages(history: TurnHistoryStore, filter: TurnFilter, limit: number): Promise<readonly number[]> {
  const turns: TurnSummary[] = []
  for (;;) {
    const last = turns.at(-1)
    const page = await history.listTurns(filter, { limit, ...(last && { after: { startedAt: last.startedAt, id: last.id } }) })
    turns.push(...page)
    if (page.length < limit) return turns.map(({ id }) => id)
  }
}

/** In any order. */
async function readRows(slots: AsyncIterable<ReportSlot> | Iterable<ReportSlot>): Promise<readonly string[]> {
  const rows: string[] = []
  for await (const { group, day, sums } of mergeDays(slots, calendar))
    rows.push(JSON.stringify([group, day?.start, Object.entries(sums).map(([name, value]) => `${name} ${value}`)]))
  return rows.toSorted()
}

/** Lists and every sum are those of these turns, to the credit, of which the ledger may have older ones. */
async function assertSame(t: Test, store: StoreWithDatabase, turns: readonly Turn[]): Promise<void> {
  // Without a thread for each of its many reads.
  const history = createTurnHistoryStore(store.database)
  t.same(
    await readPages(history, {}, 100),
    turns.map(({ id }) => id),
  )
  const accounts = [undefined, ...new Set(turns.map(({ account }) => account))]
  for (const account of accounts)
    for (const step of ['hour', 'day'] as const)
      for (const by of ['product', 'target', 'ending', ...(account === undefined ? [] : (['credential'] as const))] as const) {
        const query: UsageQuery = { ...everything, step, by, ...(account === undefined ? {} : { account }) }
        const bounds = listBounds(query)
        const { series, total } = await history.readUsage(query, { bounds })
        const mine = turns.filter((turn) => (account ?? turn.account) === turn.account)
        t.same(pickSums(total), sum(mine), `${account} by ${step}`)
        const pickBy = (turn: Turn): string =>
          ({ product: turn.model, target: turn.target ?? '', ending: toEnding(turn), credential: turn.credential })[by]
        for (const { key, points } of series)
          t.same(
            points.map(pickSums),
            bounds.slice(1).map((end, index) => {
              const from = bounds[index] ?? 0
              return sum(mine.filter((turn) => pickBy(turn) === key && turn.startedAt >= from && turn.startedAt < end))
            }),
            `${account}, ${by} ${key} by ${step}`,
          )
      }
  const kept = { ...everything, from: Math.min(everything.to, ...turns.map(({ startedAt }) => startedAt)) }
  for (const by of [['day', 'plan', 'product'], ['day'], ['plan'], ['product'], []] as const)
    t.same(
      await readRows(await history.readMoney({ ...everything, by })),
      await readRows(store.ledger.report({ ...kept, by })),
      `sums by ${by.join(', ')} are those of the report`,
    )
  const failures = await history.listFailures(everything, 100)
  const failed = Map.groupBy(
    turns.filter(({ state }) => state !== 'settled'),
    (turn) => `${toEnding(turn)} ${turn.model} ${turn.target}`,
  )
  t.same(
    new Map(
      failures.map((group) => [
        `${group.ending} ${group.product} ${group.target}`,
        [group.count, group.accounts, group.firstAt, group.lastAt, group.example.id],
      ]),
    ),
    new Map(
      [...failed].map(([key, group]) => {
        const [newest] = group
        return [
          key,
          [
            group.length,
            new Set(group.map(({ account }) => account)).size,
            group.at(-1)?.startedAt,
            newest?.startedAt,
            newest?.id,
          ],
        ]
      }),
    ),
  )
}

function listBounds({ from, to, step }: UsageQuery): readonly number[] {
  const bounds = []
  for (let at = step === 'hour' ? slots.toHour(from) : slots.toDay(from); at < to; at += step === 'hour' ? hourMs : dayMs)
    bounds.push(at)
  return [...bounds, (bounds.at(-1) ?? 0) + (step === 'hour' ? hourMs : dayMs)]
}

const sumNames = [
  'turns',
  'charged',
  'credits',
  'inputTokens',
  'cachedInputTokens',
  'outputTokens',
  'completed',
  'firstTokens',
] as const

function pickSums(
  totals: Awaited<ReturnType<TurnHistoryStore['readUsage']>>['total'],
): Record<(typeof sumNames)[number], number> {
  const { turns, charged, credits, inputTokens, cachedInputTokens, outputTokens, duration, firstToken } = totals
  const counts = { completed: duration?.count ?? 0, firstTokens: firstToken?.count ?? 0 }
  return { turns, charged, credits, inputTokens, cachedInputTokens, outputTokens, ...counts }
}

function sum(turns: readonly Turn[]): Record<(typeof sumNames)[number], number> {
  const add = (pick: (turn: Turn) => number): number => turns.reduce((total, turn) => total + pick(turn), 0)
  const completed = turns.filter((turn) => toEnding(turn) === 'completed')
  return {
    turns: turns.length,
    charged: turns.filter(({ state }) => state === 'settled').length,
    credits: add(({ credits }) => credits),
    inputTokens: add(({ inputTokens }) => inputTokens),
    cachedInputTokens: add(({ cachedInputTokens }) => cachedInputTokens),
    outputTokens: add(({ outputTokens }) => outputTokens),
    completed: completed.length,
    firstTokens: completed.filter(({ firstTokenMs }) => firstTokenMs !== null).length,
  }
}
