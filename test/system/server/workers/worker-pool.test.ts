/** The worker pool: queries to all workers, and recovery when one dies. */
import { MessageChannel } from 'node:worker_threads'
import t from 'tap'
import type { Test } from 'tap'
import { createProcessBudgetMemory } from '../../../../src/access/limits/process-budgets.ts'
import { createLimitMemory } from '../../../../src/access/limits/shared-memory.ts'
import { WorkerPool } from '../../../../src/server/workers/worker-pool.ts'
import { createLog } from '../../../../src/observability/log.ts'
import { renderMergedMetrics } from '../../../../src/observability/merge-metrics.ts'
import { testConfig, waitUntil } from '../../../support/gateway/test-gateway.ts'
import { SimulatedClock } from '../../../support/simulated-clock.ts'

async function startPool(t: Test, count: number) {
  const { plugins: _plugins, ...values } = testConfig(t)
  const clock = new SimulatedClock({ isLive: true })
  const [log, logged, released]: [string[], string[], number[]] = [[], [], []]
  const changes: (readonly [number, number])[] = []
  const lineFor = async () => new MessageChannel().port1
  const memory = createLimitMemory([1, 1])
  const pool = new WorkerPool({
    count,
    threads: {
      open: async (worker) => ({ parts: { file: 'none', name: `test.${worker}`, unhealthyReason: null }, port: await lineFor() }),
      openPort: lineFor,
      async release(worker) {
        released.push(worker)
        return { expired: 1, recovered: 0 }
      },
      recordFault: () => undefined,
      waitForReply: async () => undefined,
    },
    limits: { byAddress: memory, byAccount: memory },
    budgets: createProcessBudgetMemory(count),
    start: { config: { values, plugins: '[]' }, secret: new Uint8Array(32), demoUrl: null, monotonicOriginMs: 0 },
    createHandlers: () => ({
      notReadyReasons: async () => [],
      mailNote: () => null,
      figures: () => Promise.reject(new Error('no console')),
      doctor: () => null,
      metrics: async () => '',
      invalidate: () => undefined,
      email: () => 'queued',
      log: (line) => void logged.push(line),
      databaseError: () => undefined,
    }),
    clock,
    log: createLog('info', { write: (line) => void log.push(line) }).log,
    onChange: (...change) => void changes.push(change),
    workerUrl: new URL('dying-thread.ts', import.meta.url),
    pingMs: 50,
  })
  t.teardown(() => pool.close(0, 0))
  const url = await pool.open(0)
  const dead = (msg: string) => log.filter((line) => line.includes(msg)).length
  return { pool, url, clock, log, logged, released, changes, memory, dead }
}

t.test('gives all workers the first one’s port, and queries them together', async (t) => {
  const { pool, url, logged, changes } = await startPool(t, 3)
  t.equal(url, 'http://127.0.0.1:4711')
  t.same(await pool.requestAll('notReadyReasons'), {
    responses: ['1', '2', '3'].map((worker) => [`${worker} is not ready`]),
    isComplete: true,
  })
  t.match(await renderMergedMetrics(await pool.collectMetrics()), /^turns 3$[^]*^running 3$/m)
  pool.notifyAll('invalidate', 'acc', 2)
  await waitUntil(() => logged.length === 2, 'two workers to invalidate')
  t.same(logged.toSorted(), ['1 forgets acc', '3 forgets acc'])
  t.same(changes.at(-1), [3, 0])
})

t.test('recovers what a dead worker leaves before its replacement starts, and keeps its counts', async (t) => {
  const { pool, released, changes, log, memory } = await startPool(t, 2)
  await pool.collectMetrics()
  new Int32Array(memory.locks)[7] = 1
  pool.notifyAll('unhealthyReason', '1')
  await waitUntil(() => changes.at(-1)?.[0] === 2 && changes.at(-1)?.[1] === 1, 'another one')
  t.same(released, [1])
  t.equal(new Int32Array(memory.locks)[7], 0, 'its lock is released')
  t.match(log.join(''), /"worker":1,"err":{[^]*a fault[^]*"a worker died and is replaced"/)
  t.match(log.join(''), /"worker":1,"expired":1,"recovered":0/)
  t.match(await renderMergedMetrics(await pool.collectMetrics()), /^turns 3$[^]*^running 2$/m)
})

t.test('replaces a worker that does not respond, and logs it', async (t) => {
  const { pool, released, changes, log } = await startPool(t, 2)
  pool.notifyAll('unhealthyReason', 'stall 2')
  await waitUntil(() => changes.at(-1)?.[0] === 2 && changes.at(-1)?.[1] === 1, 'a replacement')
  t.same(released, [2])
  t.match(log.join(''), /"worker":2,"msg":"a worker does not respond and is replaced"/)
  t.same((await pool.requestAll('notReadyReasons')).responses, [['1 is not ready'], ['3 is not ready']])
})

t.test('delays the replacement of workers that keep dying, and logs it', async (t) => {
  const { pool, changes, clock, dead } = await startPool(t, 1)
  for (let deaths = 1; deaths <= 4; deaths++) {
    pool.notifyAll('unhealthyReason', null)
    await waitUntil(() => changes.at(-1)?.[0] === 1 && changes.at(-1)?.[1] === deaths, 'another one')
  }
  t.equal(dead('workers keep dying'), 0)
  pool.notifyAll('unhealthyReason', null)
  await waitUntil(() => dead('workers keep dying') === 1, 'it to be logged')
  await waitUntil(() => changes.at(-1)?.[0] === 1, 'a delayed replacement')
  clock.skip(60_001)
  pool.notifyAll('unhealthyReason', null)
  await waitUntil(() => changes.at(-1)?.[0] === 1 && changes.at(-1)?.[1] === 6, 'another one')
  t.equal(dead('workers keep dying'), 1, 'the count restarts after a minute')
})
