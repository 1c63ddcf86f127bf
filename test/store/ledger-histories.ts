/** Any history of one member, on a real store and on a model. Each store's own test runs this with its way of opening one, and of crashing. */
import * as fc from 'fast-check'
import type { Test } from 'tap'
import type { Calendar } from '../../src/membership/period.ts'
import { calendarOf } from '../../src/membership/period.ts'
import type { PoolLimits } from '../../src/membership/plan.ts'
import { windows } from '../../src/membership/plan.ts'
import type { Pool } from '../../src/membership/product.ts'
import type { Store } from '../../src/membership/store.ts'
import { accountId, addAccount, endOf, grantOf, noon, orderOf, refundOf } from './contract.ts'
import type { ModelHold } from './ledger-model.ts'
import { ModelAccount } from './ledger-model.ts'

const calendars = ['UTC', 'Asia/Shanghai', 'America/Los_Angeles', 'Asia/Kathmandu'].map(calendarOf)
const [calendar] = calendars as [Calendar]
const pools = ['fast', 'premium'] as const satisfies readonly Pool[]

/** The store, shared by all runs; each run has an account of its own. */
export interface World {
  readonly store: Store
  /** Whether open holds have ended by it. */
  crash(): Promise<boolean>
}

export interface Bounds {
  readonly numRuns: number
  readonly seed: number
  /** How many other commands there are for each crash. */
  readonly crashesOneIn: number
}

class Member {
  readonly world: World
  readonly account: string
  readonly model = new ModelAccount()
  readonly holds = new Map<number, ModelHold>()
  now = noon
  calendar = calendar
  limits: PoolLimits = { day: 500, week: 1500, month: 4000 }
  packs = 0

  constructor(world: World, account: string) {
    this.world = world
    this.account = account
  }

  nth(index: number): [number, ModelHold] | undefined {
    const all = [...this.holds]
    return all[index % Math.max(1, all.length)]
  }

  /** Submits at once, compares when the answer comes: the model moves in the order of submission, as the ledger promises to. */
  async reserve(pool: Pool, want: number, floor: number, holdForMs: number): Promise<void> {
    const at = this.now
    const order = { pool, at, periods: this.calendar.at(at), limits: this.limits, want, floor, until: at + holdForMs }
    const expected = this.model.reserve(order)
    const answer = await this.world.store.ledger.reserve(orderOf({ ...order, account: this.account }))
    if (expected === undefined) {
      if (answer.kind !== 'empty' && answer.kind !== 'busy') throw new Error(`expected a refusal, got ${JSON.stringify(answer)}`)
      if (answer.kind === 'empty' && answer.resetsAt <= at) throw new Error('a reset in the past')
      return
    }
    if (answer.kind !== 'held' || answer.hold.credits !== expected.credits) {
      throw new Error(`expected a hold of ${expected.credits}, got ${JSON.stringify(answer)}`)
    }
    this.holds.set(answer.hold.id, expected)
  }

  async settle(index: number, percent: number): Promise<void> {
    const [id, hold] = this.nth(index) ?? []
    if (id === undefined || hold === undefined) return
    this.holds.delete(id)
    const credits = Math.round((hold.credits * percent) / 100)
    const expected = { done: true, state: 'settled', credits, debt: this.model.settle(hold, this.now, credits) }
    same(await this.world.store.ledger.settle(endOf(id, credits, this.now)), expected)
    same(await this.world.store.ledger.refund(refundOf(id, this.now)), { ...expected, done: false })
  }

  async refund(index: number): Promise<void> {
    const [id, hold] = this.nth(index) ?? []
    if (id === undefined || hold === undefined) return
    this.holds.delete(id)
    this.model.giveBack(hold)
    same(await this.world.store.ledger.refund(refundOf(id, this.now)), { done: true, state: 'refunded', credits: 0, debt: 0 })
  }

  async expire(): Promise<void> {
    const overdue = [...this.holds].filter(([, hold]) => hold.until <= this.now)
    for (const [id, hold] of overdue) {
      this.holds.delete(id)
      this.model.giveBack(hold)
    }
    same(await this.world.store.ledger.expire(this.now, this.now), overdue.length)
  }

  async grant(pool: Pool, credits: number, lastsMs: number): Promise<void> {
    const id = `${this.account}-pack-${this.packs++}`
    this.model.packs.push({ id, pool, expiresAt: this.now + lastsMs, granted: credits, reserved: 0, settled: 0 })
    await this.world.store.ledger.grant({
      ...grantOf(id, credits, { account: this.account, pool }),
      at: this.now,
      expiresAt: this.now + lastsMs,
    })
  }

  async crash(): Promise<void> {
    if (!(await this.world.crash())) return
    for (const hold of this.holds.values()) this.model.giveBack(hold)
    this.holds.clear()
  }

  /** What the member would see, now and in the periods passed through, is what the model says. */
  async check(): Promise<void> {
    const periods = this.calendar.at(this.now)
    const { limits } = this
    const balance = await this.world.store.ledger.balance({
      account: this.account,
      at: this.now,
      periods,
      limits: { fast: limits, premium: limits },
    })
    const expected = pools.flatMap((pool) =>
      windows.map((window) => {
        const { reserved, covered, debt, end } = this.model.bucket(pool, window, this.now, periods)
        const remaining = Math.max(0, limits[window] - reserved - covered)
        return {
          pool,
          window,
          limit: limits[window],
          used: covered + debt,
          reserved,
          remaining,
          debt,
          resetsAt: end,
        }
      }),
    )
    same(balance.pools, expected)
    const packs = this.model.packs.filter((pack) => pack.expiresAt > this.now && pack.settled < pack.granted)
    const figures = (pack: { id: string; reserved: number; settled: number }): string =>
      `${pack.id} ${pack.reserved} ${pack.settled}`
    same(balance.packs.map(figures).sort(), packs.map(figures).sort())
  }
}

function same(actual: unknown, expected: unknown): void {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) {
    throw new Error(`is ${JSON.stringify(actual)}, should be ${JSON.stringify(expected)}`)
  }
}

/** A command of fast-check from what it does; every one is checked afterwards. */
function command(name: string, run: (member: Member) => Promise<void>): fc.AsyncCommand<object, Member> {
  return {
    check: () => true,
    async run(_, member) {
      await run(member)
      await member.check()
    },
    toString: () => name,
  }
}

const hour = 3_600_000
const credits = fc.oneof(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 900 }))
const pool = fc.constantFrom(...pools)
const index = fc.nat(20)
const percent = fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 0, max: 100 }) }, fc.integer({ min: 100, max: 500 }))
const limit = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 1500 }))

const reserve = fc
  .tuple(pool, credits, fc.integer({ min: 0, max: 100 }), fc.integer({ min: 1, max: 30 * hour }))
  .map(([pool, want, part, holdForMs]) => ({ pool, want, floor: Math.floor((want * part) / 100), holdForMs }))

const anyCommand = fc.oneof(
  {
    weight: 8,
    arbitrary: reserve.map(({ pool, want, floor, holdForMs }) =>
      command(`reserve ${pool} ${want} floor ${floor} for ${holdForMs}`, (member) =>
        member.reserve(pool, want, floor, holdForMs),
      ),
    ),
  },
  {
    weight: 5,
    arbitrary: fc
      .tuple(index, percent)
      .map(([index, percent]) => command(`settle #${index} at ${percent} %`, (member) => member.settle(index, percent))),
  },
  { weight: 3, arbitrary: index.map((index) => command(`refund #${index}`, (member) => member.refund(index))) },
  { weight: 2, arbitrary: fc.constant(command('expire', (member) => member.expire())) },
  {
    weight: 3,
    arbitrary: fc.oneof(fc.integer({ min: -hour, max: 20 * hour }), fc.integer({ min: 0, max: 40 * 24 * hour })).map((by) =>
      command(`time moves by ${by}`, async (member) => {
        member.now += by
      }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.nat(calendars.length - 1).map((index) =>
      command(`time zone #${index}`, async (member) => {
        member.calendar = calendars[index] ?? calendar
      }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.record({ day: limit, week: limit, month: limit }).map((limits) =>
      command(`plan ${JSON.stringify(limits)}`, async (member) => {
        member.limits = limits
        await member.world.store.accounts.setPlan(member.account, `plan${limits.day}`)
      }),
    ),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(pool, credits, fc.integer({ min: 1, max: 100 * hour }))
      .map(([pool, credits, lastsMs]) =>
        command(`grant ${pool} ${credits} for ${lastsMs}`, (member) => member.grant(pool, credits, lastsMs)),
      ),
  },
  {
    weight: 3,
    arbitrary: fc.array(fc.tuple(reserve, fc.boolean(), index, percent), { minLength: 2, maxLength: 12 }).map((together) =>
      command(`at once ${JSON.stringify(together)}`, async (member) => {
        await Promise.all(
          together.map(([order, ends, index, percent]) =>
            ends ? member.settle(index, percent) : member.reserve(order.pool, order.want, order.floor, order.holdForMs),
          ),
        )
      }),
    ),
  },
)
/** Costs a hundred times as much as the others, so it is rare. */
const crash = fc.constant(command('crash', (member) => member.crash()))

export function historiesAgree(t: Test, open: (t: Test) => Promise<World>, { numRuns, seed, crashesOneIn }: Bounds): void {
  let accounts = 0
  const newAccount = async ({ store }: World): Promise<string> => {
    accounts += 1
    await addAccount(store, accounts)
    return accountId(accounts)
  }

  t.test('any history of a member agrees with the model, and its books are in order', async (t) => {
    t.comment(`LEDGER_SEED=${seed} LEDGER_RUNS=${numRuns}`)
    const world = await open(t)
    const histories = fc.commands([fc.oneof({ weight: crashesOneIn, arbitrary: anyCommand }, { weight: 1, arbitrary: crash })], {
      maxCommands: 60,
      size: '+1',
    })
    let runs = 0
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const member = new Member(world, await newAccount(world))
        await fc.asyncModelRun(() => ({ model: {}, real: member }), history)
        // Whatever is still open ends, so that the next run's sweeps find only their own.
        for (const id of member.holds.keys()) await world.store.ledger.refund(refundOf(id, member.now))
        if (++runs % 25 !== 0) return
        same((await world.store.ledger.verify()).mismatches, [])
      }),
      { numRuns, seed, interruptAfterTimeLimit: 60_000 },
    )
    same((await world.store.ledger.verify()).mismatches, [])
    t.ok(runs > 10, `${runs} histories`)
  })

  t.test(
    'in whatever order turns that run at once reserve and end, none is charged twice and the pool is never overdrawn',
    async (t) => {
      const world = await open(t)
      const turns = fc.array(fc.tuple(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 0, max: 100 }), fc.boolean()), {
        minLength: 2,
        maxLength: 20,
      })
      await fc.assert(
        fc.asyncProperty(turns, fc.scheduler(), async (turns, scheduler) => {
          const account = await newAccount(world)
          const { ledger } = world.store
          let charged = 0
          const turn = async ([want, percent, fails]: readonly [number, number, boolean], index: number): Promise<void> => {
            await scheduler.schedule(Promise.resolve(), `reserve ${index}`)
            const answer = await ledger.reserve(orderOf({ account, want, floor: Math.ceil(want / 2) }))
            if (answer.kind !== 'held') return
            await scheduler.schedule(Promise.resolve(), `end ${index}`)
            const { id, credits } = answer.hold
            const used = Math.floor((credits * percent) / 100)
            const endings = await Promise.all([
              fails ? ledger.refund(refundOf(id)) : ledger.settle(endOf(id, used)),
              ledger.settle(endOf(id, credits)),
            ])
            same(
              endings.map((ending) => ending.done),
              [true, false],
            )
            charged += endings[0].credits
          }
          const all = Promise.all(turns.map(turn))
          await scheduler.waitFor(all)
          const balance = await ledger.balance({
            account,
            at: noon,
            periods: calendar.at(noon),
            limits: { fast: orderOf().limits, premium: orderOf().limits },
          })
          const day = balance.pools.find((balance) => balance.pool === 'premium' && balance.window === 'day')
          same([day?.used, day?.reserved, day?.debt], [charged, 0, 0])
          if (charged > orderOf().limits.day) throw new Error(`charged ${charged}`)
        }),
        { numRuns: Math.ceil(numRuns / 3), seed, interruptAfterTimeLimit: 30_000 },
      )
      same((await world.store.ledger.verify()).mismatches, [])
      t.pass('whatever the order')
    },
  )
}
