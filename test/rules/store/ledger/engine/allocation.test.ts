/** How credits are distributed over windows, packs and debt: each case once, independent of any store. */
import t from 'tap'
import { Bucket } from '../../../../../src/store/ledger/bucket.ts'
import type { OpenPack } from '../../../../../src/store/ledger/engine/allocation.ts'
import { allocateSettlement, allocateHold } from '../../../../../src/store/ledger/engine/allocation.ts'

interface Window {
  readonly granted?: number
  readonly reserved?: number
  readonly settled?: number
  readonly debt?: number
  readonly endsAt?: number
}

function bucketOf({ granted = 1000, reserved = 0, settled = 0, debt = 0, endsAt = 10 }: Window = {}): Bucket {
  return new Bucket([1, 0, endsAt, granted, reserved, settled, debt], 0)
}

function packs(...left: number[]): readonly OpenPack[] {
  return left.map((credits, index) => ({ id: `pack${index + 1}`, left: credits, reserved: 0 }))
}

const unasked = (): never => {
  throw new Error('packs were read although the plan has enough')
}

t.test('a hold takes from the plan as far as all windows have room, then from packs in their order', (t) => {
  const cases = [
    { name: 'the plan has it', day: {}, month: {}, packs: unasked, held: 100, fromPlan: 100, fromPacks: [] },
    { name: 'the narrowest window decides', day: { granted: 30 }, month: {}, packs: [], held: 30, fromPlan: 30, fromPacks: [] },
    { name: 'what is held is no room', day: {}, month: { reserved: 940 }, packs: [], held: 60, fromPlan: 60, fromPacks: [] },
    { name: 'nor what is used', day: {}, month: { settled: 970 }, packs: [], held: 30, fromPlan: 30, fromPacks: [] },
    { name: 'debt used no room', day: {}, month: { settled: 970, debt: 50 }, packs: [], held: 80, fromPlan: 80, fromPacks: [] },
    {
      name: 'packs give the rest',
      day: { granted: 30 },
      month: {},
      packs: [0, 50, 50],
      held: 100,
      fromPlan: 30,
      fromPacks: [
        ['pack2', 50],
        ['pack3', 20],
      ],
    },
    { name: 'a pack alone', day: { granted: 0 }, month: {}, packs: [500], held: 100, fromPlan: 0, fromPacks: [['pack1', 100]] },
    { name: 'exactly the floor', day: { granted: 10 }, month: {}, packs: [], held: 10, fromPlan: 10, fromPacks: [] },
  ] as const
  for (const { name, day, month, packs: open, ...expected } of cases) {
    const openPacks = typeof open === 'function' ? open : () => packs(...open)
    t.same(allocateHold(100, 10, [bucketOf(day), bucketOf(), bucketOf(month)], openPacks), expected, name)
  }
  t.end()
})

t.test('a hold below its minimum names the last window that must end, or none if only running turns are in the way', (t) => {
  const day = { granted: 5, endsAt: 10 }
  const week = { granted: 5, endsAt: 20 }
  const full = { settled: 995, endsAt: 30 }
  const cases = [
    { name: 'the day', windows: [day, {}, {}], packs: [], lacking: 0 },
    { name: 'the later of two', windows: [day, week, {}], packs: [], lacking: 1 },
    { name: 'of all', windows: [day, week, full], packs: [], lacking: 2 },
    { name: 'the first where they end together', windows: [day, { ...week, endsAt: 10 }, {}], packs: [], lacking: 0 },
    { name: 'none: others hold the plan', windows: [{ granted: 50, reserved: 45 }, {}, {}], packs: [], lacking: undefined },
    {
      name: 'none: others hold the pack',
      windows: [day, {}, {}],
      packs: [{ id: 'pack1', left: 2, reserved: 40 }],
      lacking: undefined,
    },
  ] as const
  for (const { name, windows, packs: open, lacking } of cases) {
    const buckets = windows.map(bucketOf)
    const split = allocateHold(100, 10, buckets, () => open)
    t.equal(split.held, undefined, name)
    if (split.held === undefined) t.equal(split.exhaustedBucket, lacking === undefined ? undefined : buckets[lacking], name)
  }
  t.end()
})

t.test('a settlement charges the held credits, then available ones, then debt of each window separately', (t) => {
  const held = { fromPlan: 60, fromPacks: [['mine1', 30] as const, ['mine2', 10] as const] }
  const none: readonly number[] = []
  const cases = [
    { name: 'a refund uses nothing', credits: 0, fromPlan: 0, fromPacks: [], debt: 0, windowDebts: [] },
    { name: 'less than the plan held', credits: 50, fromPlan: 50, fromPacks: [], debt: 0, windowDebts: [] },
    { name: 'then the packs held, in order', credits: 75, fromPlan: 60, fromPacks: [['mine1', 15]], debt: 0, windowDebts: [] },
    {
      name: 'all that was held',
      credits: 100,
      fromPlan: 60,
      fromPacks: [
        ['mine1', 30],
        ['mine2', 10],
      ],
      debt: 0,
      windowDebts: [],
    },
    {
      name: 'more, while the plan has room',
      credits: 120,
      day: { granted: 100, reserved: 60 },
      fromPlan: 80,
      fromPacks: [
        ['mine1', 30],
        ['mine2', 10],
      ],
      debt: 0,
      windowDebts: [],
    },
    {
      name: 'then packs that are open now',
      credits: 160,
      day: { granted: 80, reserved: 60 },
      open: [25, 90],
      fromPlan: 80,
      fromPacks: [
        ['mine1', 30],
        ['mine2', 10],
        ['pack1', 25],
        ['pack2', 15],
      ],
      debt: 0,
      windowDebts: [],
    },
    {
      name: 'then debt: a window with room is filled up first',
      credits: 200,
      day: { granted: 80, reserved: 60 },
      month: { granted: 130, reserved: 60 },
      open: [25],
      fromPlan: 80,
      fromPacks: [
        ['mine1', 30],
        ['mine2', 10],
        ['pack1', 25],
      ],
      debt: 55,
      windowDebts: [55, 0, 5],
    },
    {
      name: 'a period that is over and full',
      credits: 110,
      day: { granted: 60, reserved: 60 },
      month: { granted: 60, reserved: 60 },
      fromPlan: 60,
      fromPacks: [
        ['mine1', 30],
        ['mine2', 10],
      ],
      debt: 10,
      windowDebts: [10, 0, 10],
    },
  ] as const
  for (const { name, credits, ...expected } of cases) {
    const { day = {}, month = {}, open = none, ...rest } = { day: {}, month: {}, open: none, ...expected }
    const buckets = [bucketOf(day), bucketOf({ reserved: 60 }), bucketOf(month)]
    t.same(
      allocateSettlement(credits, held, buckets, () => packs(...open)),
      rest,
      name,
    )
  }
  t.same(allocateSettlement(100, held, [bucketOf()], unasked).debt, 0, 'packs are read only if something is missing')
  t.end()
})

t.test('a pack that was held and has credits left is charged once, with both parts', (t) => {
  const held = { fromPlan: 0, fromPacks: [['pack1', 30] as const] }
  const full = bucketOf({ granted: 0 })
  t.same(
    allocateSettlement(50, held, [full], () => packs(40)),
    { fromPlan: 0, fromPacks: [['pack1', 50]], debt: 0, windowDebts: [] },
  )
  t.end()
})
