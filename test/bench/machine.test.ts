/** Whether a machine can be measured on, and what threads take. */
import t from 'tap'
import { limits, Machine, whyTooBusy } from '../../bench/run/machine.ts'
import { between, groupOf, nothingUsed, sumOf, usedBy } from '../../bench/run/threads.ts'

const quiet = { others: 0, stolen: 0, waited: 1, speed: 700 }

t.test('a machine is too busy by what others take, by what its host takes, or by waiting, and says by which', async (t) => {
  t.equal(whyTooBusy({ ...quiet, ...limits }), null)
  t.match(whyTooBusy({ ...quiet, others: 0.5 }), 'other programs take 50 %')
  t.match(whyTooBusy({ ...quiet, stolen: 0.2 }), 'its host takes 20 %')
  t.match(whyTooBusy({ ...quiet, waited: 2 }), '2.00 times its processor time')
  t.match(whyTooBusy({ others: 0.5, stolen: 0.2, waited: 2, speed: 1 })?.split(', '), { length: 3 })
})

t.test('threads are told by the names that Node gives them', async (t) => {
  t.same(
    (['node-MainThread', 'node-V8Worker', 'libuv-worker', 'WorkerThread', 'SignalInspector'] as const).map((name, nth) =>
      groupOf(name, nth === 0),
    ),
    ['main', 'V8', 'libuv', 'workers', 'other'],
  )
})

t.test('what a program takes is told by thread, and is not told of others', { skip: process.platform !== 'linux' }, async (t) => {
  let ours = 0
  const machine = new Machine(() => ours)
  const [from, before] = [machine.now(), usedBy(process.pid)]
  const until = process.threadCpuUsage().user + 200_000
  while (process.threadCpuUsage().user < until) Math.hypot(1, 2)
  const used = between(before, usedBy(process.pid))
  t.ok(used.main >= 190_000 && used.main < 2_000_000, `${used.main} µs on the main thread`)
  t.ok(sumOf(used) >= used.main)
  t.same(between(before, before), nothingUsed)
  const { others } = machine.since(from)
  ours = 3_600
  t.equal(machine.since(from).others, 0, `what is of this run is none of the others’, who took ${others}`)
})
