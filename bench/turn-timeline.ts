/**
 * Where the time of a turn goes when few are sent, by tracepoints on the serving and the writer thread (Linux):
 * `node bench/turn-timeline.ts [--rate 200] [--seconds 30] [--warm 25000] [--clients 64] [--flags "--max-semi-space-size=8"]`.
 *
 * One member sends turns by the clock, whole, one serving thread, to an upstream that costs little. It prints each part of a turn at p50 and
 * p99, and what the slowest hundredth of the turns spent above the median of each part.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Agent, request } from 'undici'
import { runClosedLoop } from './run/load/closed-loop.ts'
import { createBody } from './run/subjects/subject.ts'
import { startGatewaySubject } from './run/subjects/subjects.ts'
import { startStaticUpstream } from './support/processes.ts'
import { turnHeader } from './support/turn-trace.ts'
import type { ThreadTrace, TurnTrace } from './support/turn-trace.ts'

/** The first turns by the clock are not counted: the program still collects what the closed loop has left. */
const skippedSeconds = 3

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '30' },
    warm: { type: 'string', default: '25000' },
    clients: { type: 'string', default: '64' },
    flags: { type: 'string', default: '' },
  },
})
const [rate, seconds, warm, clients] = [values.rate, values.seconds, values.warm, values.clients].map(Number) as [
  number,
  number,
  number,
  number,
]

/** In the order of a turn. The parts of a settlement begin with the same names as those of a hold. */
const points = [
  'due',
  'sent',
  'in',
  ...partsOf('hold'),
  'upstreamAsked',
  'upstreamSent',
  'upstreamHeaders',
  'upstreamEnd',
  ...partsOf('settle'),
  'out',
  'answered',
] as const

function partsOf(name: 'hold' | 'settle'): readonly string[] {
  const ofWriter = ['received', 'begun', 'executed', 'committed', ...(name === 'settle' ? ['flushed'] : []), 'replied']
  return [`${name}Asked`, `${name}Posted`, ...ofWriter.map((point) => `${name}:${point}`), `${name}Done`]
}

const folder = mkdtempSync(join(tmpdir(), 'svc-timeline-'))
const upstream = await startStaticUpstream(1)
const clientTimes = new Map<string, TurnTrace>()
const trace = join(folder, 'trace')
try {
  const subject = await startGatewaySubject('svc-gateway', upstream.url, 1, {
    flags: ['--import', new URL('./support/turn-trace.ts', import.meta.url).href, ...values.flags.split(' ').filter(Boolean)],
    env: { TURN_TRACE: trace },
  })
  for (let sent = 0; sent < warm;) sent += (await runClosedLoop(subject, 'whole', clients, 5, sent)).turns
  const dispatcher = new Agent({ connections: 64 })
  const body = createBody(subject, 'whole')
  const began = now() + 100_000
  const running: Promise<void>[] = []
  for (let turn = 0; turn < rate * (seconds + skippedSeconds); turn += 1) {
    const due = began + (turn * 1e6) / rate
    await waitUntil(due)
    running.push(send(String(turn), due))
  }
  await Promise.all(running)
  await subject.stop()

  async function send(id: string, due: number): Promise<void> {
    const times: TurnTrace = { due, sent: now() }
    clientTimes.set(id, times)
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${subject.keys[0]}`, [turnHeader]: id }
    const answer = await request(subject.url, { method: 'POST', headers, body, dispatcher })
    await answer.body.text()
    times['answered'] = now()
  }
} finally {
  await upstream.stop()
}
const threads = readdirSync(folder).map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as ThreadTrace)
rmSync(folder, { recursive: true })
const serving = threads.find(({ turns }) => Object.keys(turns).length > 0)
const writer = threads.find(({ batches }) => batches.length > 0)
if (serving === undefined || writer === undefined) throw new Error('no turn was traced')

const turns = [...clientTimes].flatMap(([id, times]) => {
  const turn = serving.turns[id]
  if (turn === undefined || times['answered'] === undefined || Number(id) < rate * skippedSeconds) return []
  return [{ ...turn, ...times, ...readBatch('hold', turn), ...readBatch('settle', turn) } as TurnTrace]
})
const order = turns.toSorted((one, other) => getTotal(one) - getTotal(other))
const slow = order.slice(Math.floor(order.length * 0.99))
process.stdout.write(
  `${turns.length} turns, ${rate}/s; p50 ${toMs(quantile(turns.map(getTotal), 0.5))}, p99 ${toMs(quantile(turns.map(getTotal), 0.99))} ms\n\n` +
    '| from | to | p50 µs | p99 µs | slowest hundredth, mean above p50 |\n|---|---|---:|---:|---:|\n',
)
let from: string = points[0]
for (const to of points.slice(1)) {
  const parts = turns.flatMap((turn) => getPart(turn, from, to))
  // The writer replies before or after a flush, and a point may be missing.
  if (parts.length < turns.length * 0.9) continue
  const p50 = quantile(parts, 0.5)
  const above = mean(slow.map((turn) => (getPart(turn, from, to)[0] ?? p50) - p50))
  process.stdout.write(`| ${from} | ${to} | ${p50.toFixed(0)} | ${quantile(parts, 0.99).toFixed(0)} | ${above.toFixed(0)} |\n`)
  from = to
}
process.stdout.write('\n')
for (const [name, { pauses }] of [
  ['serving', serving],
  ['writer', writer],
] as const)
  for (const kind of new Set(pauses.map(([each]) => each))) {
    const ofKind = pauses.filter(([each]) => each === kind)
    const overlaps = (turn: TurnTrace): number =>
      ofKind.reduce(
        (sum, [, at, us]) => sum + Math.max(0, Math.min(at + us, turn['out'] ?? 0) - Math.max(at, turn['in'] ?? 0)),
        0,
      )
    const longest = Math.max(...ofKind.map(([, , us]) => us))
    process.stdout.write(
      `${name} thread, ${kind}: ${ofKind.length} times, ${longest.toFixed(0)} µs at most; of a turn ${mean(turns.map(overlaps)).toFixed(0)} µs, of the slowest hundredth ${mean(slow.map(overlaps)).toFixed(0)}\n`,
    )
  }

function readBatch(name: 'hold' | 'settle', turn: TurnTrace): TurnTrace {
  const batch = writer?.batches[turn[`${name}Batch`] ?? -1] ?? {}
  return Object.fromEntries(Object.entries(batch).map(([point, at]) => [`${name}:${point}`, at]))
}

function getPart(turn: TurnTrace, from: string, to: string): readonly number[] {
  const [began, ended] = [turn[from], turn[to]]
  return began === undefined || ended === undefined ? [] : [ended - began]
}

function getTotal(turn: TurnTrace): number {
  return (turn['answered'] ?? 0) - (turn['due'] ?? 0)
}

function quantile(list: readonly number[], share: number): number {
  return list.toSorted((a, b) => a - b)[Math.floor(list.length * share)] ?? Number.NaN
}

function mean(list: readonly number[]): number {
  return list.reduce((sum, each) => sum + each, 0) / Math.max(1, list.length)
}

function toMs(us: number): string {
  return (us / 1_000).toFixed(2)
}

function now(): number {
  return Number(process.hrtime.bigint() / 1_000n)
}

async function waitUntil(at: number): Promise<void> {
  const wait = (at - now()) / 1_000 - 1.5
  if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait))
  while (now() < at) await new Promise((resolve) => setImmediate(resolve))
}
