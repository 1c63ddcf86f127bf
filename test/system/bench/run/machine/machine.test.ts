/** Checks whether a machine is quiet enough to measure, and the CPU time of threads. */
import t from 'tap'
import { maxLoad, Machine, describeOverload } from '../../../../../bench/run/machine/machine.ts'
import {
  subtractThreadCpu,
  toThreadGroup,
  zeroThreadCpu,
  sumThreadCpu,
  readThreadCpu,
} from '../../../../../bench/run/machine/thread-cpu.ts'

const quiet = { others: 0, stolen: 0, waited: 1, speed: 700 }

t.test('reports a machine as busy because of other programs, its host, or waiting, and names the cause', async (t) => {
  t.equal(describeOverload({ ...quiet, ...maxLoad }), null)
  t.match(describeOverload({ ...quiet, others: 0.5 }), 'other programs take 50 %')
  t.match(describeOverload({ ...quiet, stolen: 0.2 }), 'its host takes 20 %')
  t.match(describeOverload({ ...quiet, waited: 2 }), '2.00 times its processor time')
  t.match(describeOverload({ others: 0.5, stolen: 0.2, waited: 2, speed: 1 })?.split(', '), { length: 3 })
})

t.test('distinguishes threads by the names that Node gives them', async (t) => {
  t.same(
    (['node-MainThread', 'node-V8Worker', 'libuv-worker', 'WorkerThread', 'SignalInspector'] as const).map((name, nth) =>
      toThreadGroup(name, nth === 0),
    ),
    ['main', 'V8', 'libuv', 'workers', 'other'],
  )
})

t.test(
  'measures the CPU time of a program by thread, without other programs',
  { skip: process.platform !== 'linux' },
  async (t) => {
    let ours = 0
    const machine = new Machine(() => ours)
    const [from, before] = [machine.snapshot(), readThreadCpu(process.pid)]
    const until = process.threadCpuUsage().user + 200_000
    while (process.threadCpuUsage().user < until) Math.hypot(1, 2)
    const used = subtractThreadCpu(before, readThreadCpu(process.pid))
    t.ok(used.main >= 190_000 && used.main < 2_000_000, `${used.main} µs on the main thread`)
    t.ok(sumThreadCpu(used) >= used.main)
    t.same(subtractThreadCpu(before, before), zeroThreadCpu)
    const { others } = machine.loadSince(from)
    ours = 3_600
    t.equal(machine.loadSince(from).others, 0, `what is of this run is none of the others’, who took ${others}`)
  },
)
