/**
 * Measures a turn in the ledger alone: clients that reserve and settle in a closed loop, on a real file.
 *
 *   node bench/ledger.ts [--clients 64] [--rate 0] [--hold 0] [--accounts 1000] [--turns 20000] [--warm 0] [--file path]
 *
 * `--rate` starts so many turns per second by the clock instead, `--hold` is the milliseconds of a turn's hold, `--warm` writes so many
 * turns first, so that the log is long. Prints one JSON line.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createCalendar } from '../src/domain/billing/period.ts'
import { openSqliteStore } from '../src/store/sqlite/open.ts'

const { values } = parseArgs({
  options: {
    clients: { type: 'string', default: '64' },
    rate: { type: 'string', default: '0' },
    hold: { type: 'string', default: '0' },
    accounts: { type: 'string', default: '1000' },
    turns: { type: 'string', default: '20000' },
    warm: { type: 'string', default: '0' },
    file: { type: 'string' },
  },
})
const [clients, rate, hold] = [Number(values.clients), Number(values.rate), Number(values.hold)]
const [accounts, turns, warm] = [Number(values.accounts), Number(values.turns), Number(values.warm)]

const folder = mkdtempSync(join(tmpdir(), 'ledger-bench-'))
const store = await openSqliteStore({
  file: values.file ?? join(folder, 'store.sqlite'),
  process: { id: `bench_${process.pid}_${Date.now()}`, pid: process.pid },
  clock: Date,
})
const reserveTimes: number[] = []
const settleTimes: number[] = []
const calendar = createCalendar('UTC')
const limits = { day: 1e12, week: 1e12, month: 1e12 }
const price = { input: 435, output: 870, discountPercent: 75 }
const toAccountId = (index: number): string => `acc_${String(index).padStart(26, '0')}`

if ((await store.accounts.find(toAccountId(accounts - 1))) === undefined) {
  await runConcurrently(256, accounts, async (index) => {
    const account = {
      id: toAccountId(index),
      email: `${index}@example.org`,
      plan: 'pro',
      passwordHash: null,
      emailVerified: true,
      at: Date.now(),
    }
    await store.accounts.create(account)
  })
}
if (warm > 0) await runConcurrently(512, warm, runTurn)

store.ledger.stats()
const before = { ...store.ledger.stats(), cpu: process.cpuUsage(), main: process.threadCpuUsage(), at: performance.now() }
if (rate > 0) await runAtRate(rate, turns, runTurn)
else await runConcurrently(clients, turns, runTurn)
const seconds = (performance.now() - before.at) / 1000
const cpu = process.cpuUsage(before.cpu)
const main = process.threadCpuUsage(before.main)
const after = store.ledger.stats()
const mainUs = (main.user + main.system) / turns
const allUs = (cpu.user + cpu.system) / turns
console.log(
  JSON.stringify({
    ...(rate > 0 ? { rate } : { clients }),
    hold,
    accounts,
    turns,
    warm,
    turnsPerSecond: Math.round(turns / seconds),
    operationsPerCommit: Number(((turns * 2) / (after.commits - before.commits)).toFixed(1)),
    syncsPerTurn: Number(((after.syncs - before.syncs) / turns).toFixed(3)),
    mainCpuUs: Number(mainUs.toFixed(1)),
    otherCpuUs: Number((allUs - mainUs).toFixed(1)),
    reserveMs: computePercentiles(reserveTimes),
    settleMs: computePercentiles(settleTimes),
  }),
)
await store.close()
rmSync(folder, { recursive: true, force: true })

async function runTurn(index: number): Promise<void> {
  const at = Date.now()
  const began = performance.now()
  const reservation = await store.ledger.reserve({
    account: toAccountId((index * 7919) % accounts),
    requestId: `mbr_${String(index).padStart(26, '0')}`,
    model: 'svc-2.1',
    pool: 'premium',
    at,
    periods: calendar.getPeriods(at),
    limits,
    amount: 1000,
    minAmount: 10,
    price,
    leaseUntil: at + 600_000,
    idempotency: null,
    maxConcurrentTurns: Infinity,
  })
  if (reservation.kind !== 'held') throw new Error(`not held: ${reservation.kind}`)
  const held = performance.now()
  reserveTimes.push(held - began)
  if (hold > 0) await setTimeout(hold)
  const ending = performance.now()
  await store.ledger.settle({
    hold: reservation.hold.id,
    at: Date.now(),
    credits: 345,
    tokens: { input: 1200, output: 300 },
    estimated: false,
    outcome: 'completed',
    target: 'main/some-model',
    upstreamStatus: 200,
  })
  settleTimes.push(performance.now() - ending)
}

/** Of the measured turns only. */
function computePercentiles(milliseconds: readonly number[]): Record<'p50' | 'p99', number> {
  const sorted = milliseconds.slice(-turns).toSorted((a, b) => a - b)
  const at = (share: number): number => Number(sorted[Math.floor(turns * share)]?.toFixed(2))
  return { p50: at(0.5), p99: at(0.99) }
}

async function runAtRate(perSecond: number, count: number, work: (index: number) => Promise<void>): Promise<void> {
  const began = performance.now()
  const running: Promise<void>[] = []
  for (let index = 0; index < count; index++) {
    const wait = began + (index * 1000) / perSecond - performance.now()
    if (wait > 1) await setTimeout(wait)
    running.push(work(index))
  }
  await Promise.all(running)
}

async function runConcurrently(workers: number, count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({ length: workers }, async () => {
      while (next < count) await work(next++)
    }),
  )
}
