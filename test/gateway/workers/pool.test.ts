/** Workers seen from the first thread: asked together, and looked after when they die. */
import { MessageChannel } from 'node:worker_threads'
import t from 'tap'
import type { Test } from 'tap'
import { limitMemory } from '../../../src/access/limits/shared.ts'
import { Pool } from '../../../src/gateway/workers/pool.ts'
import { createLog } from '../../../src/system/observe/log.ts'
import { textOf } from '../../../src/system/observe/joined.ts'
import { until } from '../../support/gateway.ts'

async function openPool(t: Test, count: number) {
  const clock = { at: 0, now: () => 0, ticks: () => clock.at }
  const [log, said, released]: [string[], string[], number[]] = [[], [], []]
  const changes: (readonly [number, number])[] = []
  const lineFor = async () => new MessageChannel().port1
  const memory = limitMemory([1, 1])
  const pool = new Pool({
    count,
    threads: {
      open: async (worker) => ({ parts: { file: 'none', name: `test.${worker}`, trouble: null }, line: await lineFor() }),
      line: lineFor,
      async release(worker) {
        released.push(worker)
        return { expired: 1, owed: 0 }
      },
      met: () => undefined,
      heard: async () => undefined,
    },
    limits: { byAddress: memory, byAccount: memory },
    start: { config: '{}', secret: new Uint8Array(32), demoUrl: null, ticksOrigin: 0 },
    answers: () => ({
      reasons: async () => [],
      metrics: async () => '',
      forget: () => undefined,
      letter: () => undefined,
      log: (line) => void said.push(line),
      fault: () => undefined,
    }),
    clock,
    log: createLog('info', { write: (line) => void log.push(line) }).log,
    onChange: (...change) => void changes.push(change),
    program: new URL('dying-thread.ts', import.meta.url),
  })
  t.teardown(() => pool.close(0, 0))
  const url = await pool.open(0)
  const dead = (msg: string) => log.filter((line) => line.includes(msg)).length
  return { pool, url, clock, log, said, released, changes, memory, dead }
}

t.test('all are told the port that the first was given, and asked together', async (t) => {
  const { pool, url, said, changes } = await openPool(t, 3)
  t.equal(url, 'http://127.0.0.1:4711')
  t.same(await pool.ask('reasons'), { answers: ['1', '2', '3'].map((worker) => [`${worker} is asked`]), isWhole: true })
  t.match(await textOf(await pool.metrics()), /^turns 3$[^]*^running 3$/m)
  pool.tell('forget', 'acc', 2)
  await until(() => said.length === 2, 'two to forget')
  t.same(said.toSorted(), ['1 forgets acc', '3 forgets acc'])
  t.same(changes.at(-1), [3, 0])
})

t.test('what one leaves behind is seen to before another one takes its place, and what it had counted stays', async (t) => {
  const { pool, released, changes, log, memory } = await openPool(t, 2)
  await pool.metrics()
  new Int32Array(memory.locks)[7] = 1
  pool.tell('trouble', '1')
  await until(() => changes.at(-1)?.[0] === 2 && changes.at(-1)?.[1] === 1, 'another one')
  t.same(released, [1])
  t.equal(new Int32Array(memory.locks)[7], 0, 'its lock is open')
  t.match(log.join(''), /"worker":1,"err":{[^]*a fault[^]*"a worker died; another one takes its place"/)
  t.match(log.join(''), /"worker":1,"expired":1,"owed":0/)
  t.match(await textOf(await pool.metrics()), /^turns 3$[^]*^running 2$/m)
})

t.test('those that die again and again come back later, and that is said', async (t) => {
  const { pool, changes, clock, dead } = await openPool(t, 1)
  for (let deaths = 1; deaths <= 4; deaths++) {
    pool.tell('trouble', null)
    await until(() => changes.at(-1)?.[0] === 1 && changes.at(-1)?.[1] === deaths, 'another one')
  }
  t.equal(dead('workers die again and again'), 0)
  pool.tell('trouble', null)
  await until(() => dead('workers die again and again') === 1, 'it to be said')
  await until(() => changes.at(-1)?.[0] === 1, 'another one all the same')
  clock.at += 60_001
  pool.tell('trouble', null)
  await until(() => changes.at(-1)?.[0] === 1 && changes.at(-1)?.[1] === 6, 'another one')
  t.equal(dead('workers die again and again'), 1, 'a minute later it is forgotten')
})
