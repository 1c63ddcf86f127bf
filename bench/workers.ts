/**
 * Measures the gain of a second serving thread on two cores, with the load elsewhere:
 * `node bench/workers.ts [--rounds 6] [--seconds 3] [--clients 64] [--shapes whole,streamed] [--warm-seconds 20]`.
 *
 * The shipped configuration with one and with two of them, measured in turns. By CPU time the gain is at most twice the CPU time of the
 * one thread divided by that of all threads, because the ledger's writer already runs on the other core.
 */
import { parseArgs } from 'node:util'
import { startUpstream } from './support/processes.ts'
import { startGatewaySubject } from './run/subjects/subjects.ts'
import { runClosedLoop } from './run/load/closed-loop.ts'
import { shapeNames, shapes as known } from './run/subjects/subject.ts'
import type { Shape, Subject } from './run/subjects/subject.ts'
import { median, computeSpread } from './run/report/statistics.ts'
import { subtractThreadCpu, sumThreadCpu, readThreadCpu } from './run/machine/thread-cpu.ts'
import { reserveTwoCores } from './run/machine/two-cores.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '6' },
    seconds: { type: 'string', default: '3' },
    clients: { type: 'string', default: '64' },
    // V8 compiles for about 24 000 turns of each thread.
    'warm-seconds': { type: 'string', default: '20' },
    shapes: { type: 'string', default: 'whole,streamed' },
  },
})
const [rounds, seconds, clients] = [Number(values.rounds), Number(values.seconds), Number(values.clients)]
const warmSeconds = Number(values['warm-seconds'])
const shapes = known.filter((shape) => values.shapes.split(',').includes(shape))

interface Measured {
  readonly perSecond: number
  /** Microseconds per turn. */
  readonly mainUs: number
  readonly allUs: number
}

function startWithWorkers(workers: number): Promise<Subject> {
  return startGatewaySubject(`WORKERS=${workers}`, upstream.url, 1, { env: { WORKERS: String(workers) } })
}

async function measure(subject: Subject, shape: Shape): Promise<Measured> {
  const before = readThreadCpu(subject.pid)
  const load = await runClosedLoop(subject, shape, clients, seconds, 0)
  if (load.failed > 0) throw new Error(`${subject.name}: ${load.failed} of ${load.turns} turns failed`)
  const used = subtractThreadCpu(before, readThreadCpu(subject.pid))
  return { perSecond: load.turns / load.seconds, mainUs: used.main / load.turns, allUs: sumThreadCpu(used) / load.turns }
}

const cores = reserveTwoCores()
const upstream = await startUpstream()
const subjects = [await startWithWorkers(1), await startWithWorkers(2)] as const
try {
  process.stderr.write(`${cores.description}; each is warmed for ${warmSeconds} s in each shape first\n`)
  for (const subject of subjects) for (const shape of shapes) await runClosedLoop(subject, shape, clients, warmSeconds, 0)
  for (const { pid } of subjects) cores.assign(pid)
  for (const shape of shapes) {
    const ratios: number[] = []
    const bounds: number[] = []
    for (let round = 0; round < rounds; round++) {
      const one = await measure(subjects[0], shape)
      const two = await measure(subjects[1], shape)
      ratios.push(two.perSecond / one.perSecond)
      bounds.push((2 * one.mainUs) / two.allUs)
      process.stdout.write(
        `${shape}: ${one.perSecond.toFixed(0)} → ${two.perSecond.toFixed(0)} turns/s, × ${ratios.at(-1)?.toFixed(2)}; ` +
          `${one.allUs.toFixed(0)} (main ${one.mainUs.toFixed(0)}) → ${two.allUs.toFixed(0)} µs a turn\n`,
      )
    }
    const { median: middle, min, max } = computeSpread(ratios)
    process.stdout.write(
      `${shapeNames[shape]}: two ÷ one ${middle.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)}), at most ${median(bounds).toFixed(2)} by processor time\n`,
    )
  }
} finally {
  for (const { stop } of [...subjects, upstream]) await stop()
  cores.close()
}
