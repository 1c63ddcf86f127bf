/**
 * What a second thread that serves brings on two cores, with the load elsewhere:
 * `node bench/workers.ts [--rounds 6] [--seconds 3] [--clients 64] [--shapes whole,streamed] [--warm-seconds 20]`.
 *
 * The shipped configuration with one and with two of them, measured in turns. By processor time no more can come of it than twice what the
 * one thread takes, divided by what all take: the ledger's writer is on the other core already.
 */
import { parseArgs } from 'node:util'
import { startUpstream } from './processes.ts'
import { startOurs } from './run/cast.ts'
import { closedLoop } from './run/closed-loop.ts'
import { shapeNames, shapes as known } from './run/subject.ts'
import type { Shape, Subject } from './run/subject.ts'
import { median, spreadOf } from './run/statistics.ts'
import { between, sumOf, usedBy } from './run/threads.ts'
import { twoCores } from './run/two-cores.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '6' },
    seconds: { type: 'string', default: '3' },
    clients: { type: 'string', default: '64' },
    // V8 compiles for some 24 000 turns of each thread.
    'warm-seconds': { type: 'string', default: '20' },
    shapes: { type: 'string', default: 'whole,streamed' },
  },
})
const [rounds, seconds, clients] = [Number(values.rounds), Number(values.seconds), Number(values.clients)]
const warmSeconds = Number(values['warm-seconds'])
const shapes = known.filter((shape) => values.shapes.split(',').includes(shape))

interface Measured {
  readonly perSecond: number
  /** Microseconds a turn. */
  readonly main: number
  readonly all: number
}

function start(workers: number): Promise<Subject> {
  return startOurs(`WORKERS=${workers}`, upstream.url, 1, { env: { WORKERS: String(workers) } })
}

async function measure(subject: Subject, shape: Shape): Promise<Measured> {
  const before = usedBy(subject.pid)
  const load = await closedLoop(subject, shape, clients, seconds, 0)
  if (load.failed > 0) throw new Error(`${subject.name}: ${load.failed} of ${load.turns} turns failed`)
  const used = between(before, usedBy(subject.pid))
  return { perSecond: load.turns / load.seconds, main: used.main / load.turns, all: sumOf(used) / load.turns }
}

const cores = twoCores()
const upstream = await startUpstream()
const subjects = [await start(1), await start(2)] as const
try {
  process.stderr.write(`${cores.how}; each is warmed for ${warmSeconds} s in each shape first\n`)
  for (const subject of subjects) for (const shape of shapes) await closedLoop(subject, shape, clients, warmSeconds, 0)
  for (const { pid } of subjects) cores.give(pid)
  for (const shape of shapes) {
    const ratios: number[] = []
    const bounds: number[] = []
    for (let round = 0; round < rounds; round++) {
      const one = await measure(subjects[0], shape)
      const two = await measure(subjects[1], shape)
      ratios.push(two.perSecond / one.perSecond)
      bounds.push((2 * one.main) / two.all)
      process.stdout.write(
        `${shape}: ${one.perSecond.toFixed(0)} → ${two.perSecond.toFixed(0)} turns/s, × ${ratios.at(-1)?.toFixed(2)}; ` +
          `${one.all.toFixed(0)} (main ${one.main.toFixed(0)}) → ${two.all.toFixed(0)} µs a turn\n`,
      )
    }
    const { middle, least, most } = spreadOf(ratios)
    process.stdout.write(
      `${shapeNames[shape]}: two ÷ one ${middle.toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)}), at most ${median(bounds).toFixed(2)} by processor time\n`,
    )
  }
} finally {
  for (const { stop } of [...subjects, upstream]) await stop()
  cores.close()
}
