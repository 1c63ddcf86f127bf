/**
 * Measures what the requests of accounts that are made to stop the server do to other members:
 * `node bench/neighbors/hostile-members.ts [--load mixed] [--minutes 2] [--per-second 10] [--limits shipped] [--workers 2] [--http2] [--postgres]`.
 *
 * Quiet and attacked phases alternate, and each pair of them gives a ratio. `--load short` (default) sends short turns alone, `mixed` a day's
 * requests of all shapes. `--limits none` (default) leaves the attackers without limits of their plan; with `shipped` one is on Free and one
 * on Pro. With `--postgres` two nodes share a database. The attackers' client and the upstream share the machine's cores with the server:
 * the CPU that they take is printed, and makes members wait too. Exits with 1 if a request of another member failed.
 */
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { ProgramScope } from '../cluster/program-scope.ts'
import type { Attack } from './hostile-members/attacker.ts'
import { readThreadCpuSeconds } from './hostile-members/cpu-time.ts'
import { MemberLoad } from './hostile-members/member-load.ts'
import type { PhaseFigures } from './hostile-members/member-load.ts'
import { startNodes } from './hostile-members/nodes.ts'
import type { MeasuredNode } from './hostile-members/nodes.ts'
import { quantile } from '../run/report/statistics.ts'
import { readCpuSeconds, readPeakResidentKib, resetPeakResident } from '../support/processes.ts'

const { values } = parseArgs({
  options: {
    load: { type: 'string', default: 'short' },
    limits: { type: 'string', default: 'none' },
    minutes: { type: 'string', default: '1.5' },
    'phase-seconds': { type: 'string', default: '15' },
    'per-second': { type: 'string', default: '20' },
    members: { type: 'string', default: '100' },
    workers: { type: 'string', default: '1' },
    http2: { type: 'boolean', default: false },
    postgres: { type: 'boolean', default: false },
  },
})
const phaseSeconds = Number(values['phase-seconds'])
const perSecond = Number(values['per-second'])
const pairCount = Math.max(1, Math.round((Number(values.minutes) * 60) / (2 * phaseSeconds)))
/** After the attackers have ended, until a quiet phase begins: what they have sent is still being parsed. */
const settleMs = 3_000

interface Phase extends PhaseFigures {
  readonly stretchMs: number
  readonly peakMiB: number
  readonly serverCpuSeconds: number
  readonly attackerCpuSeconds: number
  readonly upstreamCpuSeconds: number
}

const scope = new ProgramScope()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void scope.close().then(() => process.exit(1)))
const threads = { upstream: startThread('upstream'), attacker: startThread('attacker') }

function startThread(name: string): Worker {
  return new Worker(new URL(`./hostile-members/${name}.ts`, import.meta.url))
}

async function measurePhase(load: MemberLoad, nodes: readonly MeasuredNode[]): Promise<Phase> {
  const readServerCpu = (): number => sum(nodes.map(({ pid }) => readCpuSeconds(pid)))
  for (const { pid } of nodes) resetPeakResident(pid)
  await Promise.all(nodes.map((node) => node.toggleProbe()))
  const [attacker, upstream] = await readThreads()
  const server = readServerCpu()
  const figures = await load.run(phaseSeconds, perSecond)
  const [attackerAfter, upstreamAfter] = await readThreads()
  return {
    ...figures,
    stretchMs: Math.max(...(await Promise.all(nodes.map((node) => node.toggleProbe())))),
    peakMiB: Math.max(...nodes.map(({ pid }) => readPeakResidentKib(pid) / 1024)),
    serverCpuSeconds: readServerCpu() - server,
    attackerCpuSeconds: attackerAfter - attacker,
    upstreamCpuSeconds: upstreamAfter - upstream,
  }
}

function readThreads(): Promise<[number, number]> {
  return Promise.all([readThreadCpuSeconds(threads.attacker), readThreadCpuSeconds(threads.upstream)])
}

function sum(list: readonly number[]): number {
  return list.reduce((total, each) => total + each, 0)
}

function listTimes(phases: readonly PhaseFigures[], shape?: string): readonly number[] {
  return phases.flatMap(({ timesMs }) => (shape === undefined ? [...timesMs.values()].flat() : (timesMs.get(shape) ?? [])))
}

function formatTimes(times: readonly number[]): string {
  return `${times.length} requests, p50 ${quantile(times, 0.5).toFixed(1)} ms, p99 ${quantile(times, 0.99).toFixed(1)} ms`
}

function printPhase(name: string, phase: Phase): void {
  const { failures, stretchMs, peakMiB, serverCpuSeconds, attackerCpuSeconds, upstreamCpuSeconds } = phase
  const cpu = `CPU of server ${serverCpuSeconds.toFixed(1)} s, attackers' client ${attackerCpuSeconds.toFixed(1)} s, upstream ${upstreamCpuSeconds.toFixed(1)} s`
  process.stdout.write(
    `${name}: ${formatTimes(listTimes([phase]))}, ${failures.length} failed, longest stretch ${stretchMs.toFixed(1)} ms, peak ${peakMiB.toFixed(0)} MiB; ${cpu}\n`,
  )
  for (const failure of failures.slice(0, 5)) process.stdout.write(`  ${failure}\n`)
}

function printSummary(quiet: readonly Phase[], attacked: readonly Phase[]): void {
  const shapes = [...new Set(quiet.flatMap(({ timesMs }) => [...timesMs.keys()]))]
  process.stdout.write('\n| Request | alone | beside all attacks | p50 × | p99 × |\n|---|---|---|---|---|\n')
  for (const shape of [...shapes, undefined]) {
    const ratio = (share: number): string => {
      const ratios = quiet.map(
        (phase, nth) =>
          quantile(listTimes(attacked.slice(nth, nth + 1), shape), share) / quantile(listTimes([phase], shape), share),
      )
      return quantile(ratios, 0.5).toFixed(2)
    }
    const cells = [
      shape ?? 'all',
      formatTimes(listTimes(quiet, shape)),
      formatTimes(listTimes(attacked, shape)),
      ratio(0.5),
      ratio(0.99),
    ]
    process.stdout.write(`| ${cells.join(' | ')} |\n`)
  }
  process.stdout.write(`\nRatios are medians over ${quiet.length} pairs of phases.\n`)
}

async function endAttacks(): Promise<unknown> {
  const counts = once(threads.attacker, 'message')
  threads.attacker.postMessage('end')
  return (await counts)[0]
}

try {
  const [upstream] = (await once(threads.upstream, 'message')) as [string]
  const hasShippedLimits = values.limits === 'shipped'
  const { nodes, createMembers } = await startNodes(scope, {
    upstream,
    workers: values.workers,
    isHttp2: values.http2,
    isPostgres: values.postgres,
    hasShippedLimits,
  })
  const urls = nodes.map(({ url }) => url)
  const load = new MemberLoad(
    urls,
    await createMembers('max-20x', Number(values.members)),
    values.load === 'mixed' ? 'mixed' : 'short',
  )
  scope.teardown(() => load.close())
  const keys = [...(await createMembers('free', 1)), ...(await createMembers('pro', 1))].map(({ key }) => key)
  const attack: Attack = { urls, keys, idleKey: keys[0] ?? '' }
  printPhase('warm-up', await measurePhase(load, nodes))
  const [quiet, attacked]: [Phase[], Phase[]] = [[], []]
  let counts: unknown
  for (let pair = 1; pair <= pairCount; pair++) {
    quiet.push(await measurePhase(load, nodes))
    printPhase(`${pair}, alone`, quiet.at(-1) as Phase)
    threads.attacker.postMessage(attack)
    await pause(1_000)
    attacked.push(await measurePhase(load, nodes))
    counts = await endAttacks()
    printPhase(`${pair}, beside all attacks`, attacked.at(-1) as Phase)
    await pause(settleMs)
  }
  printSummary(quiet, attacked)
  process.stdout.write(`${JSON.stringify(counts)}\n`)
  process.exitCode = [...quiet, ...attacked].some(({ failures }) => failures.length > 0) ? 1 : 0
} finally {
  await Promise.all([threads.attacker.terminate(), threads.upstream.terminate()])
  await scope.close()
}
