/** The public status: figures of few turns or accounts are left out, the others are rounded, and strangers cannot load the store. */
import t from 'tap'
import type { Product } from '../../../../src/domain/billing/catalog/product.ts'
import type { UsageChart, UsageTotals } from '../../../../src/domain/turn-history/turn-history.ts'
import { minStatusAccounts, minStatusTurns, ServiceStatusReader } from '../../../../src/services/health/service-status.ts'

const product = { id: 'svc', name: 'Svc' } as Product
const retired = { id: 'old', name: 'Old' } as Product

interface World {
  endings: Record<string, number>
  firstToken: UsageTotals['firstToken']
  accounts: number
  fails: boolean
  reads: number
  nowMs: number
  behindMs: number | null
}

function createReader(change: Partial<World> = {}) {
  const world: World = {
    endings: {},
    firstToken: null,
    accounts: minStatusAccounts,
    fails: false,
    reads: 0,
    nowMs: 0,
    behindMs: 0,
    ...change,
  }
  const reader = new ServiceStatusReader({
    turnHistory: {
      readProgress: async () => ({ behindMs: world.behindMs }),
      async readUsage({ from, to }) {
        world.reads += 1
        if (world.fails) throw new Error('the store is lost')
        const total = { endings: world.endings, firstToken: world.firstToken } as unknown as UsageTotals
        return { bounds: [from, to], total, series: [{ key: 'svc', total, points: [] }] } satisfies UsageChart
      },
      hasAccounts: async ({ minAccounts }) => world.accounts >= minAccounts,
    },
    products: { all: [product, retired], isRetired: ({ id }) => id === 'old' },
    clock: { now: () => 1_000_000_000_000 + world.nowMs, monotonicMs: () => world.nowMs },
  })
  return { world, reader }
}

async function readDay(change: Partial<World>) {
  const { products } = await createReader(change).reader.read()
  return products[0]?.spans.day ?? null
}

t.test('a figure of too few turns or accounts is left out', async (t) => {
  const latency = { count: minStatusTurns, p50: 1_234, p95: 5_000, p99: 9_000 }
  t.same(await readDay({ endings: { completed: minStatusTurns - 1 } }), null)
  t.same(
    await readDay({ endings: { completed: minStatusTurns - 1, invalid_request: 500, aborted: 500 } }),
    null,
    'of turns that do not count',
  )
  t.same(await readDay({ endings: { completed: minStatusTurns }, accounts: minStatusAccounts - 1 }), null)
  t.same(await readDay({ endings: { completed: minStatusTurns } }), { share: 1, firstTokenMs: null })
  t.same(await readDay({ endings: { completed: 150 }, firstToken: { ...latency, count: minStatusTurns - 1 } }), {
    share: 1,
    firstTokenMs: null,
  })
  t.same(await readDay({ endings: { completed: 150 }, firstToken: latency }), { share: 1, firstTokenMs: 1_200 })
  t.same(await readDay({ endings: { completed: 150 }, firstToken: { ...latency, p50: 4 } }), { share: 1, firstTokenMs: 100 })
  const { products } = await createReader().reader.read()
  t.same(
    products.map(({ id }) => id),
    ['svc'],
    'without what is retired',
  )
})

t.test('a share is rounded down, to a tenth of a per cent where there are many turns', async (t) => {
  t.equal((await readDay({ endings: { completed: 500, upstream_error: 1 } }))?.share, 0.99)
  t.equal((await readDay({ endings: { completed: 5_000, upstream_error: 1 } }))?.share, 0.999)
  t.equal((await readDay({ endings: { upstream_error: 200 } }))?.share, 0)
})

t.test('the store is read once a minute for all visitors, and soon again after a failure', async (t) => {
  const { world, reader } = createReader()
  await Promise.all(Array.from({ length: 50 }, () => reader.read()))
  world.nowMs = 59_999
  await reader.read()
  t.equal(world.reads, 2, 'a day and a month')
  world.nowMs = 60_000
  world.fails = true
  for (let visitor = 0; visitor < 5; visitor++) await t.rejects(reader.read(), /the store is lost/)
  t.equal(world.reads, 3)
  world.fails = false
  world.nowMs = 65_000
  await reader.read()
  t.equal(world.reads, 5)
})

t.test('until older turns are counted it has no time', async (t) => {
  t.equal((await createReader({ behindMs: null }).reader.read()).completeAt, null)
  t.equal((await createReader({ behindMs: 4_000 }).reader.read()).completeAt, 999_999_996_000)
})
