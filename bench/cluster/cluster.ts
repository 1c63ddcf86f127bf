/**
 * Three nodes on PostgreSQL and Valkey, as processes of this machine behind HAProxy: the cost of failures, limits and revocations across
 * nodes, and the cost of a turn against SQLite. Prints one table in Markdown; exits with 1 if a turn was lost, invented or charged twice.
 *
 *   node bench/cluster/cluster.ts [--only faults,limits,revocation,cost] [--fault part-of-a-name] [--rounds 3] [--seconds 3] [--warm 15] [--clients 64,8] [--times 50]
 *
 * It needs Debian's postgresql, redis-server (or valkey), haproxy and wrk.
 */
import { parseArgs } from 'node:util'
import type { CostSample } from './cost.ts'
import { measureCost, oneNode, postgres, sqlite, threeNodes } from './cost.ts'
import { measureFaults } from './faults.ts'
import { measureLimits } from './limits.ts'
import { measureRevocation } from './revocation.ts'
import { ProgramScope } from './program-scope.ts'
import { quantile, computeRatios, computeSpread } from '../run/report/statistics.ts'
import type { Spread } from '../run/report/statistics.ts'

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
const print = (line: string): void => void process.stderr.write(`${line}\n`)
let scope = new ProgramScope()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void scope.close().then(() => process.exit(1)))

/** Each part has its own servers, which end before the next part begins. */
async function runPart(name: string, measure: (t: ProgramScope) => Promise<Row[]>): Promise<Row[]> {
  if (!parts.includes(name)) return []
  scope = new ProgramScope()
  try {
    return await measure(scope)
  } finally {
    await scope.close()
  }
}

async function reportFaults(t: ProgramScope): Promise<Row[]> {
  return (await measureFaults(t, values.fault, print)).map((each) => {
    const { name, requests, failed, acknowledged, lost, minted, doubleCharged, mismatches, failures } = each
    const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`
    const holds = each.holdsMs === null ? '' : `; its holds back after ${seconds(each.holdsMs)}`
    const why =
      failed === 0
        ? ''
        : ` (${Object.entries(failures)
            .map(([reason, count]) => `${count} × ${reason}`)
            .join(', ')})`
    return [
      name,
      `${requests} turns, ${failed} failed${why}; well after ${seconds(each.recoveryMs)}${holds}; of ${acknowledged} acknowledged by then lost ${lost}, minted ${minted}, double ${doubleCharged}; verify: ${mismatches} mismatches`,
      lost + minted + doubleCharged + mismatches + each.holdsOpen === 0 && each.recoveryMs <= 10_000,
    ]
  })
}

async function reportLimits(t: ProgramScope): Promise<Row[]> {
  return (await measureLimits(t)).map(({ name, offered, admitted, allowed, failed }) => [
    `limits: ${name}`,
    `${offered} asked of three nodes: ${admitted} admitted of ${allowed.toFixed(1)} (${formatPercent(admitted / allowed)}), ${failed} failed`,
    Math.abs(admitted / allowed - 1) <= 0.05 && failed === 0,
  ])
}

async function reportRevocation(t: ProgramScope): Promise<Row[]> {
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

async function reportCost(t: ProgramScope): Promise<Row[]> {
  const [rounds, seconds, warmSeconds] = [Number(values.rounds), Number(values.seconds), Number(values.warm)]
  const clients = values.clients.split(',').map(Number)
  const samples = await measureCost(t, { rounds, seconds, warmSeconds, clients }, print)
  const valuesByRound = (name: string, count: number, value: (sample: CostSample) => number): Map<number, number> =>
    new Map(
      samples.filter((sample) => sample.subject === name && sample.clients === count).map((each) => [each.round, value(each)]),
    )
  const compare = (one: string, other: string, count: number, maxRatio: number): Row => {
    const all = ({ gatewayUs, enginesUs }: CostSample): number => gatewayUs + enginesUs
    const ratio = computeSpread(computeRatios(valuesByRound(one, count, all), valuesByRound(other, count, all)))
    const rate = computeSpread(
      computeRatios(
        valuesByRound(one, count, ({ turnsPerSecond }) => turnsPerSecond),
        valuesByRound(other, count, ({ turnsPerSecond }) => turnsPerSecond),
      ),
    )
    const middle = (name: string, value: (sample: CostSample) => number): string =>
      computeSpread([...valuesByRound(name, count, value).values()]).median.toFixed(0)
    const describe = (name: string): string =>
      `${name} ${middle(name, ({ gatewayUs }) => gatewayUs)} + ${middle(name, ({ enginesUs }) => enginesUs)} µs, ${middle(name, ({ turnsPerSecond }) => turnsPerSecond)} turns/s`
    return [
      `cost: ${one} ÷ ${other}, ${count} clients`,
      `CPU × ${formatSpread(ratio)}, turns/s × ${formatSpread(rate)}; ${describe(one)}; ${describe(other)}`,
      ratio.median <= maxRatio && samples.every(({ failed }) => failed === 0),
    ]
  }
  const maxClients = Math.max(...clients)
  return [
    ...clients.map((count) => compare(postgres, sqlite, count, count >= 64 ? 1.5 : 2)),
    compare(threeNodes, oneNode, maxClients, Number.POSITIVE_INFINITY),
  ]
}

function formatSpread({ median, min, max }: Spread): string {
  return `${median.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)})`
}

function formatPercent(ratio: number): string {
  return `${ratio >= 1 ? '+' : '−'}${Math.abs((ratio - 1) * 100).toFixed(1)} %`
}

const rows = [
  ...(await runPart('faults', reportFaults)),
  ...(await runPart('limits', reportLimits)),
  ...(await runPart('revocation', reportRevocation)),
  ...(await runPart('cost', reportCost)),
]
process.stdout.write(`| | measured | as it should be |\n|---|---|---|\n`)
for (const [what, measured, isRight] of rows) process.stdout.write(`| ${what} | ${measured} | ${isRight ? 'yes' : '**no**'} |\n`)
process.exit(rows.every(([, , isRight]) => isRight) ? 0 : 1)
