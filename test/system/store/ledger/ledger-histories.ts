/**
 * Random histories of one member, on a real store and on the model. Each store's test passes its way to open and crash a store.
 */
import * as fc from 'fast-check'
import type { Test } from 'tap'
import type { Calendar } from '../../../../src/domain/billing/period.ts'
import { createCalendar } from '../../../../src/domain/billing/period.ts'
import type { PoolLimits } from '../../../../src/domain/billing/catalog/plan.ts'
import { windows } from '../../../../src/domain/billing/catalog/plan.ts'
import type { Pool } from '../../../../src/domain/billing/catalog/product.ts'
import type { Store } from '../../../../src/domain/store.ts'
import {
  toAccountId,
  addAccount,
  createSettleOrder,
  createGrantOrder,
  noon,
  createReserveOrder,
  createRefundOrder,
} from '../../../support/store/contract/store-contract.ts'
import type { ModelHold } from './ledger-model.ts'
import { ModelAccount } from './ledger-model.ts'

const calendars = ['UTC', 'Asia/Shanghai', 'America/Los_Angeles', 'Asia/Kathmandu'].map(createCalendar)
const [calendar] = calendars as [Calendar]
const pools = ['fast', 'premium'] as const satisfies readonly Pool[]

/** The store, shared by all runs; each run has its own account. */
export interface LedgerWorld {
  readonly store: Store
  /** Whether a crash ends open holds. */
  crash(): Promise<boolean>
}

export interface HistoryOptions {
  readonly numRuns: number
  readonly seed: number
  /** The number of other commands per crash. */
  readonly commandsPerCrash: number
}

class Member {
  readonly world: LedgerWorld
  readonly account: string
  readonly model = new ModelAccount()
  readonly holds = new Map<number, ModelHold>()
  now = noon
  calendar = calendar
  limits: PoolLimits = { day: 500, week: 1500, month: 4000 }
  packs = 0

  constructor(world: LedgerWorld, account: string) {
    this.world = world
    this.account = account
  }

  nth(index: number): [number, ModelHold] | undefined {
    const all = [...this.holds]
    return all[index % Math.max(1, all.length)]
  }

  /**
   * Submits at once and compares when the result comes: the model applies operations in the order of submission, as the ledger
   * does.
   */
  async reserve(pool: Pool, amount: number, minAmount: number, holdForMs: number): Promise<void> {
    const at = this.now
    const order = {
      pool,
      at,
      periods: this.calendar.getPeriods(at),
      limits: this.limits,
      amount,
      minAmount,
      leaseUntil: at + holdForMs,
    }
    const expected = this.model.reserve(order)
    const answer = await this.world.store.ledger.reserve(createReserveOrder({ ...order, account: this.account }))
    if (expected === undefined) {
      if (answer.kind !== 'insufficient' && answer.kind !== 'reserved_elsewhere')
        throw new Error(`expected a refusal, got ${JSON.stringify(answer)}`)
      if (answer.kind === 'insufficient' && answer.resetsAt <= at) throw new Error('a reset in the past')
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
    const expected = { applied: true, state: 'settled', credits, debt: this.model.settle(hold, this.now, credits) }
    assertSame(await this.world.store.ledger.settle(createSettleOrder(id, credits, this.now)), expected)
    assertSame(await this.world.store.ledger.refund(createRefundOrder(id, this.now)), { ...expected, applied: false })
  }

  async refund(index: number): Promise<void> {
    const [id, hold] = this.nth(index) ?? []
    if (id === undefined || hold === undefined) return
    this.holds.delete(id)
    this.model.release(hold)
    assertSame(await this.world.store.ledger.refund(createRefundOrder(id, this.now)), {
      applied: true,
      state: 'refunded',
      credits: 0,
      debt: 0,
    })
  }

  async expire(): Promise<void> {
    const overdue = [...this.holds].filter(([, hold]) => hold.leaseUntil <= this.now)
    for (const [id, hold] of overdue) {
      this.holds.delete(id)
      this.model.release(hold)
    }
    assertSame(await this.world.store.ledger.expire(this.now, this.now), overdue.length)
  }

  async grant(pool: Pool, credits: number, lastsMs: number): Promise<void> {
    const id = `${this.account}-pack-${this.packs++}`
    this.model.packs.push({ id, pool, expiresAt: this.now + lastsMs, granted: credits, reserved: 0, settled: 0 })
    await this.world.store.ledger.grant({
      ...createGrantOrder(id, credits, { account: this.account, pool }),
      at: this.now,
      expiresAt: this.now + lastsMs,
    })
  }

  /** A charge without a hold, or a pack. */
  async adjust(pool: Pool, credits: number, lastsMs: number): Promise<void> {
    const id = `${this.account}-pack-${this.packs++}`
    const [at, periods] = [this.now, this.calendar.getPeriods(this.now)]
    const granted = Math.max(0, credits)
    this.model.packs.push({ id, pool, expiresAt: at + lastsMs, granted, reserved: 0, settled: 0 })
    if (credits < 0) {
      const nothing = { amount: 0, minAmount: 0, leaseUntil: at }
      const hold = this.model.reserve({ pool, at, periods, limits: this.limits, ...nothing })
      if (hold !== undefined) this.model.settle(hold, at, -credits)
    }
    const order = { id, account: this.account, pool, credits, reason: 'a fault', at, expiresAt: at + lastsMs }
    await this.world.store.ledger.adjust({ ...order, periods, limits: this.limits })
  }

  async crash(): Promise<void> {
    if (!(await this.world.crash())) return
    for (const hold of this.holds.values()) this.model.release(hold)
    this.holds.clear()
  }

  /** Compares what the member would see, now and in past periods, with the model. */
  async check(): Promise<void> {
    const periods = this.calendar.getPeriods(this.now)
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
    assertSame(balance.pools, expected)
    const packs = this.model.packs.filter((pack) => pack.expiresAt > this.now && pack.settled < pack.granted)
    const figures = (pack: { id: string; reserved: number; settled: number }): string =>
      `${pack.id} ${pack.reserved} ${pack.settled}`
    assertSame(balance.packs.map(figures).sort(), packs.map(figures).sort())
  }
}

function assertSame(actual: unknown, expected: unknown): void {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) {
    throw new Error(`is ${JSON.stringify(actual)}, should be ${JSON.stringify(expected)}`)
  }
}

/** A fast-check command; the state is compared after each one. */
function createCommand(name: string, run: (member: Member) => Promise<void>): fc.AsyncCommand<object, Member> {
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
  .map(([pool, amount, part, holdForMs]) => ({ pool, amount, minAmount: Math.floor((amount * part) / 100), holdForMs }))

const anyCommand = fc.oneof(
  {
    weight: 8,
    arbitrary: reserve.map(({ pool, amount, minAmount, holdForMs }) =>
      createCommand(`reserve ${pool} ${amount} minAmount ${minAmount} for ${holdForMs}`, (member) =>
        member.reserve(pool, amount, minAmount, holdForMs),
      ),
    ),
  },
  {
    weight: 5,
    arbitrary: fc
      .tuple(index, percent)
      .map(([index, percent]) => createCommand(`settle #${index} at ${percent} %`, (member) => member.settle(index, percent))),
  },
  { weight: 3, arbitrary: index.map((index) => createCommand(`refund #${index}`, (member) => member.refund(index))) },
  { weight: 2, arbitrary: fc.constant(createCommand('expire', (member) => member.expire())) },
  {
    weight: 3,
    arbitrary: fc.oneof(fc.integer({ min: -hour, max: 20 * hour }), fc.integer({ min: 0, max: 40 * 24 * hour })).map((by) =>
      createCommand(`time moves by ${by}`, async (member) => {
        member.now += by
      }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.nat(calendars.length - 1).map((index) =>
      createCommand(`time zone #${index}`, async (member) => {
        member.calendar = calendars[index] ?? calendar
      }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.record({ day: limit, week: limit, month: limit }).map((limits) =>
      createCommand(`plan ${JSON.stringify(limits)}`, async (member) => {
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
        createCommand(`grant ${pool} ${credits} for ${lastsMs}`, (member) => member.grant(pool, credits, lastsMs)),
      ),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(pool, credits, fc.boolean(), fc.integer({ min: 1, max: 100 * hour }))
      .filter(([, credits]) => credits > 0)
      .map(([pool, credits, takes, lastsMs]) => {
        const signed = takes ? -credits : credits
        return createCommand(`adjust ${pool} ${signed} for ${lastsMs}`, (member) => member.adjust(pool, signed, lastsMs))
      }),
  },
  {
    weight: 3,
    arbitrary: fc.array(fc.tuple(reserve, fc.boolean(), index, percent), { minLength: 2, maxLength: 12 }).map((together) =>
      createCommand(`at once ${JSON.stringify(together)}`, async (member) => {
        await Promise.all(
          together.map(([order, ends, index, percent]) =>
            ends ? member.settle(index, percent) : member.reserve(order.pool, order.amount, order.minAmount, order.holdForMs),
          ),
        )
      }),
    ),
  },
)
/** A hundred times as slow as the others, so it is rare. */
const crash = fc.constant(createCommand('crash', (member) => member.crash()))

export function testHistoriesAgree(
  t: Test,
  open: (t: Test) => Promise<LedgerWorld>,
  { numRuns, seed, commandsPerCrash }: HistoryOptions,
): void {
  let accounts = 0
  const newAccount = async ({ store }: LedgerWorld): Promise<string> => {
    accounts += 1
    await addAccount(store, accounts)
    return toAccountId(accounts)
  }

  t.test('any history of a member agrees with the model, and its ledger verifies', async (t) => {
    t.comment(`LEDGER_SEED=${seed} LEDGER_RUNS=${numRuns}`)
    const world = await open(t)
    const histories = fc.commands(
      [fc.oneof({ weight: commandsPerCrash, arbitrary: anyCommand }, { weight: 1, arbitrary: crash })],
      {
        maxCommands: 60,
        size: '+1',
      },
    )
    let runs = 0
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const member = new Member(world, await newAccount(world))
        await fc.asyncModelRun(() => ({ model: {}, real: member }), history)
        // Ends all open holds, so that the next run's sweeps find only their own.
        for (const id of member.holds.keys()) await world.store.ledger.refund(createRefundOrder(id, member.now))
        if (++runs % 25 !== 0) return
        assertSame((await world.store.ledger.verify()).mismatches, [])
      }),
      { numRuns, seed, interruptAfterTimeLimit: 60_000 },
    )
    assertSame((await world.store.ledger.verify()).mismatches, [])
    t.ok(runs > 10, `${runs} histories`)
  })

  t.test('concurrent turns are never charged twice and never overdraw the pool, in any order', async (t) => {
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
        const turn = async ([amount, percent, fails]: readonly [number, number, boolean], index: number): Promise<void> => {
          await scheduler.schedule(Promise.resolve(), `reserve ${index}`)
          const answer = await ledger.reserve(createReserveOrder({ account, amount, minAmount: Math.ceil(amount / 2) }))
          if (answer.kind !== 'held') return
          await scheduler.schedule(Promise.resolve(), `end ${index}`)
          const { id, credits } = answer.hold
          const used = Math.floor((credits * percent) / 100)
          const endings = await Promise.all([
            fails ? ledger.refund(createRefundOrder(id)) : ledger.settle(createSettleOrder(id, used)),
            ledger.settle(createSettleOrder(id, credits)),
          ])
          assertSame(
            endings.map((ending) => ending.applied),
            [true, false],
          )
          charged += endings[0].credits
        }
        const all = Promise.all(turns.map(turn))
        await scheduler.waitFor(all)
        const balance = await ledger.balance({
          account,
          at: noon,
          periods: calendar.getPeriods(noon),
          limits: { fast: createReserveOrder().limits, premium: createReserveOrder().limits },
        })
        const day = balance.pools.find((balance) => balance.pool === 'premium' && balance.window === 'day')
        assertSame([day?.used, day?.reserved, day?.debt], [charged, 0, 0])
        if (charged > createReserveOrder().limits.day) throw new Error(`charged ${charged}`)
      }),
      { numRuns: Math.ceil(numRuns / 3), seed, interruptAfterTimeLimit: 30_000 },
    )
    assertSame((await world.store.ledger.verify()).mismatches, [])
    t.pass('whatever the order')
  })
}
