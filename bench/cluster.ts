/**
 * Three nodes on PostgreSQL and Valkey, as processes of this machine behind HAProxy: what failures cost, whether limits and revocations hold on all
 * of them, and what a turn costs against SQLite. Prints one table in Markdown; exits with 1 unless nothing was lost, minted or charged twice.
 *
 *   node bench/cluster.ts [--only faults,limits,revocation,cost] [--fault part-of-a-name] [--rounds 3] [--seconds 3] [--warm 15] [--clients 64,8] [--times 50]
 *
 * It needs Debian's postgresql, redis-server (or valkey), haproxy and wrk.
 */
import { parseArgs } from 'node:util'
import type { CostSample } from './cluster/cost.ts'
import { measureCost, oneBehind, postgres, sqlite, threeBehind } from './cluster/cost.ts'
import { measureFaults } from './cluster/faults.ts'
import { measureLimits } from './cluster/limits.ts'
import { measureRevocation } from './cluster/revocation.ts'
import { ProgramScope } from './cluster/scope.ts'
import { quantile, ratiosOf, spreadOf } from './run/statistics.ts'

type Row = readonly [what: string, measured: string, isRight: boolean]

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'faults,limits,revocation,cost' },
    fault: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
    warm: { type: 'string', default: '15' },
    clients: { type: 'string', default: '64,8' },
    times: { type: 'string', default: '50' },
  },
})
const parts = values.only.split(',')
const say = (line: string): void => void process.stderr.write(`${line}\n`)
let scope = new ProgramScope()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void scope.end().then(() => process.exit(1)))

/** Each part has servers of its own, which have ended when the next begins. */
async function part(name: string, measure: (t: ProgramScope) => Promise<Row[]>): Promise<Row[]> {
  if (!parts.includes(name)) return []
  scope = new ProgramScope()
  try {
    return await measure(scope)
  } finally {
    await scope.end()
  }
}

async function faults(t: ProgramScope): Promise<Row[]> {
  return (await measureFaults(t, values.fault, say)).map((each) => {
    const { what, asked, failed, acknowledged, lost, minted, double, mismatches, failures } = each
    const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`
    const holds = each.holdsMs === null ? '' : `; its holds back after ${seconds(each.holdsMs)}`
    const why =
      failed === 0
        ? ''
        : ` (${Object.entries(failures)
            .map(([reason, count]) => `${count} × ${reason}`)
            .join(', ')})`
    return [
      what,
      `${asked} turns, ${failed} failed${why}; well after ${seconds(each.recoveryMs)}${holds}; of ${acknowledged} acknowledged by then lost ${lost}, minted ${minted}, double ${double}; verify: ${mismatches} mismatches`,
      lost + minted + double + mismatches + each.holdsOpen === 0 && each.recoveryMs <= 10_000,
    ]
  })
}

async function limits(t: ProgramScope): Promise<Row[]> {
  return (await measureLimits(t)).map(({ what, offered, admitted, allowed, failed }) => [
    `limits: ${what}`,
    `${offered} asked of three nodes: ${admitted} admitted of ${allowed.toFixed(1)} (${percent(admitted / allowed)}), ${failed} failed`,
    Math.abs(admitted / allowed - 1) <= 0.05 && failed === 0,
  ])
}

async function revocation(t: ProgramScope): Promise<Row[]> {
  const found = await measureRevocation(t, Number(values.times))
  return [...Map.groupBy(found, ({ kind }) => kind), ['all' as const, found] as const].map(([kind, those]) => {
    const times = those.map(({ ms }) => ms)
    return [
      `revocation: ${kind}`,
      `${times.length} times on all nodes: p50 ${quantile(times, 0.5).toFixed(0)} ms, at most ${Math.max(...times).toFixed(0)} ms`,
      Math.max(...times) <= 1_000,
    ]
  })
}

async function cost(t: ProgramScope): Promise<Row[]> {
  const [rounds, seconds, warmSeconds] = [Number(values.rounds), Number(values.seconds), Number(values.warm)]
  const clients = values.clients.split(',').map(Number)
  const samples = await measureCost(t, { rounds, seconds, warmSeconds, clients }, say)
  const of = (name: string, count: number, value: (sample: CostSample) => number): Map<number, number> =>
    new Map(
      samples.filter((sample) => sample.subject === name && sample.clients === count).map((each) => [each.round, value(each)]),
    )
  const compare = (one: string, other: string, count: number, most: number): Row => {
    const all = ({ gateway, engines }: CostSample): number => gateway + engines
    const ratio = spreadOf(ratiosOf(of(one, count, all), of(other, count, all)))
    const rate = spreadOf(
      ratiosOf(
        of(one, count, ({ turnsPerSecond }) => turnsPerSecond),
        of(other, count, ({ turnsPerSecond }) => turnsPerSecond),
      ),
    )
    const middle = (name: string, value: (sample: CostSample) => number): string =>
      spreadOf([...of(name, count, value).values()]).middle.toFixed(0)
    const told = (name: string): string =>
      `${name} ${middle(name, ({ gateway }) => gateway)} + ${middle(name, ({ engines }) => engines)} µs, ${middle(name, ({ turnsPerSecond }) => turnsPerSecond)} turns/s`
    return [
      `cost: ${one} ÷ ${other}, ${count} clients`,
      `CPU × ${shown(ratio)}, turns/s × ${shown(rate)}; ${told(one)}; ${told(other)}`,
      ratio.middle <= most && samples.every(({ failed }) => failed === 0),
    ]
  }
  const most = Math.max(...clients)
  return [
    ...clients.map((count) => compare(postgres, sqlite, count, count >= 64 ? 1.5 : 2)),
    compare(threeBehind, oneBehind, most, Number.POSITIVE_INFINITY),
  ]
}

function shown({ middle, least, most }: { readonly middle: number; readonly least: number; readonly most: number }): string {
  return `${middle.toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)})`
}

function percent(ratio: number): string {
  return `${ratio >= 1 ? '+' : '−'}${Math.abs((ratio - 1) * 100).toFixed(1)} %`
}

const rows = [
  ...(await part('faults', faults)),
  ...(await part('limits', limits)),
  ...(await part('revocation', revocation)),
  ...(await part('cost', cost)),
]
process.stdout.write(`| | measured | as it should be |\n|---|---|---|\n`)
for (const [what, measured, isRight] of rows) process.stdout.write(`| ${what} | ${measured} | ${isRight ? 'yes' : '**no**'} |\n`)
process.exit(rows.every(([, , isRight]) => isRight) ? 0 : 1)
