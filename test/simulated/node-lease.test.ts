/** Leases of nodes that share a database: what a pause, a silent database and a wrong clock do to them. */
import t from 'tap'
import type { Test } from 'tap'
import { isClockTrusted, leaseMs, renewIntervalMs, RenewedNodeLease } from '../../src/store/postgres/cluster/node-lease.ts'
import type { Connections } from '../../src/store/postgres/connection/connections.ts'
import { noon } from '../support/gateway/test-exchange.ts'
import { SimulatedClock } from '../support/simulated-clock.ts'

interface ProcessRow {
  readonly id: number
  readonly name: string
  aliveUntil: number
}

/** The table of processes, as the statements of a lease see it, and a clock that no node has. */
class ProcessTable {
  nowMs = noon
  isSilent = false
  readonly #rows: ProcessRow[] = []

  readonly connections = {
    write: async (_: unknown, statement: string, values: readonly unknown[]) => {
      if (this.isSilent) throw new Error('the database does not answer')
      return { rows: this.#write(statement, values) }
    },
    read: async () => ({ rows: this.#rows.filter(({ aliveUntil }) => aliveUntil < this.nowMs) }),
  } as unknown as Connections

  get living(): readonly string[] {
    return this.#rows.filter(({ aliveUntil }) => aliveUntil >= this.nowMs).map(({ name }) => name)
  }

  #write(statement: string, values: readonly unknown[]): readonly object[] {
    if (statement.startsWith('insert into process')) {
      const row = { id: this.#rows.length + 1, name: String(values[0]), aliveUntil: this.nowMs + leaseMs }
      this.#rows.push(row)
      return [this.#describe(row)]
    }
    const row = this.#rows.find(({ id }) => id === values[0])
    if (row === undefined || !statement.startsWith('update process')) throw new Error(`unknown: ${statement}`)
    const isRelease = !statement.includes('returning')
    if (!isRelease && row.aliveUntil < this.nowMs) return []
    row.aliveUntil = isRelease ? this.nowMs : this.nowMs + leaseMs
    return [this.#describe(row)]
  }

  #describe({ id }: ProcessRow): object {
    const others = this.#rows.filter((row) => row.id !== id && row.aliveUntil >= this.nowMs).length
    return { id, now: this.nowMs, others, other_configs: null }
  }
}

/** Two nodes, each with a clock of its own, and a database. */
async function openNodes(t: Test, { aheadMs = 0 } = {}) {
  const table = new ProcessTable()
  const clocks = [new SimulatedClock({ now: noon, monotonicMs: 0 }), new SimulatedClock({ now: noon + aheadMs, monotonicMs: 0 })]
  const newIds: number[] = []
  const [first, second] = await Promise.all(
    clocks.map(async (clock, index) => {
      const lease = await RenewedNodeLease.register({
        connections: table.connections,
        name: `node-${index + 1}`,
        version: '1.0.0',
        clock,
        onNewId: (id) => void newIds.push(id),
      })
      t.teardown(() => lease.release().catch(() => undefined))
      return lease
    }),
  )
  if (first === undefined || second === undefined) throw new Error('two nodes')
  /** Time passes for all, in steps; `isPaused`: the second node stands still. */
  const run = async (ms: number, isPaused = false): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 500) {
      table.nowMs += 500
      for (const [index, clock] of clocks.entries())
        if (index === 1 && isPaused) clock.skip(500)
        else await clock.run(500)
    }
  }
  return { table, first, second, newIds, run }
}

t.test('a node keeps its lease for as long as it renews it', async (t) => {
  const { table, first, second, run } = await openNodes(t)
  await run(10 * leaseMs)
  t.same(table.living, ['node-1', 'node-2'])
  t.ok(first.isAlive && second.isAlive)
  t.equal(first.nodeCount, 2)
  t.same(await first.findDeadNodes(), [])
})

t.test('a node that stands still for less than its lease keeps its id', async (t) => {
  const { second, newIds, run } = await openNodes(t)
  await run(2 * leaseMs)
  await run(leaseMs - renewIntervalMs - 1_000, true)
  t.ok(second.isAlive)
  await run(2 * renewIntervalMs)
  t.same(newIds, [])
})

t.test(
  'a node that stands still for longer makes no hold before it has another id, and the other one releases its holds',
  async (t) => {
    const { table, first, second, newIds, run } = await openNodes(t)
    await run(2 * leaseMs)
    const { id } = second
    await run(leaseMs, true)
    t.notOk(second.isAlive, 'before the database declares it dead')
    await run(1_000, true)
    t.same(table.living, ['node-1'])
    t.match(await first.findDeadNodes(), [{ id }])
    await run(2 * renewIntervalMs)
    t.ok(second.isAlive)
    t.same(newIds, [second.id])
    t.not(second.id, id)
  },
)

t.test('after a silence of the database all nodes have the same time to return', async (t) => {
  const { table, first, second, run } = await openNodes(t)
  await run(2 * leaseMs)
  table.isSilent = true
  await run(leaseMs)
  t.notOk(first.isAlive || second.isAlive)
  table.isSilent = false
  await run(2 * renewIntervalMs, true)
  t.ok(first.isAlive)
  t.same(await first.findDeadNodes(), [], 'the second node has not had its time')
  await run(leaseMs, true)
  t.ok((await first.findDeadNodes()).some(({ name }) => name === 'node-2'))
})

t.test('a node whose clock is wrong is told apart from the others, and lives', async (t) => {
  for (const aheadMs of [40 * 86_400_000, -40 * 86_400_000]) {
    const { table, first, second, run } = await openNodes(t, { aheadMs })
    await run(leaseMs)
    t.ok(isClockTrusted(first))
    t.notOk(isClockTrusted(second))
    t.equal(second.clockAheadMs, aheadMs)
    t.same(table.living, ['node-1', 'node-2'])
  }
})
