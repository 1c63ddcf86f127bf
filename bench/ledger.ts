/**
 * What a turn costs in the ledger alone: clients that reserve and settle in a closed loop, on a real file.
 *
 *   node bench/ledger.ts [--clients 64] [--rate 0] [--hold 0] [--accounts 1000] [--turns 20000] [--warm 0] [--file path]
 *
 * `--rate` begins so many turns a second by the clock instead, `--hold` is how many milliseconds a turn is held, `--warm` writes so many
 * turns first, so that the log is long. Prints one JSON line.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { calendarOf } from '../src/membership/period.ts'
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
const reserving: number[] = []
const settling: number[] = []
const calendar = calendarOf('UTC')
const limits = { day: 1e12, week: 1e12, month: 1e12 }
const price = { input: 435, output: 870, discountPercent: 75 }
const accountId = (index: number): string => `acc_${String(index).padStart(26, '0')}`

if ((await store.accounts.find(accountId(accounts - 1))) === undefined) {
  await inParallel(256, accounts, async (index) => {
    const account = {
      id: accountId(index),
      email: `${index}@example.org`,
      plan: 'pro',
      passwordHash: null,
      emailVerified: true,
      at: Date.now(),
    }
    await store.accounts.create(account)
  })
}
if (warm > 0) await inParallel(512, warm, turn)

store.ledger.vitals()
const before = { ...store.ledger.vitals(), cpu: process.cpuUsage(), main: process.threadCpuUsage(), at: performance.now() }
if (rate > 0) await byTheClock(rate, turns, turn)
else await inParallel(clients, turns, turn)
const seconds = (performance.now() - before.at) / 1000
const cpu = process.cpuUsage(before.cpu)
const main = process.threadCpuUsage(before.main)
const after = store.ledger.vitals()
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
    reserveMs: shares(reserving),
    settleMs: shares(settling),
  }),
)
await store.close()
rmSync(folder, { recursive: true, force: true })

async function turn(index: number): Promise<void> {
  const at = Date.now()
  const began = performance.now()
  const reservation = await store.ledger.reserve({
    account: accountId((index * 7919) % accounts),
    requestId: `mbr_${String(index).padStart(26, '0')}`,
    model: 'svc-2.1',
    pool: 'premium',
    at,
    periods: calendar.at(at),
    limits,
    want: 1000,
    floor: 10,
    price,
    until: at + 600_000,
    idempotency: null,
    concurrency: Infinity,
  })
  if (reservation.kind !== 'held') throw new Error(`not held: ${reservation.kind}`)
  const held = performance.now()
  reserving.push(held - began)
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
  settling.push(performance.now() - ending)
}

/** Of the turns that were measured. */
function shares(milliseconds: readonly number[]): Record<'p50' | 'p99', number> {
  const sorted = milliseconds.slice(-turns).toSorted((a, b) => a - b)
  const at = (share: number): number => Number(sorted[Math.floor(turns * share)]?.toFixed(2))
  return { p50: at(0.5), p99: at(0.99) }
}

async function byTheClock(perSecond: number, count: number, work: (index: number) => Promise<void>): Promise<void> {
  const began = performance.now()
  const running: Promise<void>[] = []
  for (let index = 0; index < count; index++) {
    const wait = began + (index * 1000) / perSecond - performance.now()
    if (wait > 1) await setTimeout(wait)
    running.push(work(index))
  }
  await Promise.all(running)
}

async function inParallel(workers: number, count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({ length: workers }, async () => {
      while (next < count) await work(next++)
    }),
  )
}
