/**
 * Measures how many streams the shipped configuration holds: endless streams of as many members as their plans need, from as many addresses,
 * then one more ordinary turn. Only the upstream's address is configured.
 *
 *   node bench/idle-streams.ts [--streams 10000] [--every-ms 5000]
 *
 * A stream takes a descriptor here and two in the gateway (`ulimit -n`).
 */
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import type { ClientRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { deriveNames } from '../src/exchange/brand-names.ts'
import { loadConfig } from '../src/config/config.ts'
import { createApiKey } from '../src/domain/services/api-key-service.ts'
import { openSqliteStore } from '../src/store/sqlite/open.ts'
import { systemClock } from '../src/system/clock.ts'
import { createIds } from '../src/system/ids.ts'
import { readCpuSeconds, readResidentKib, startProgram } from './support/processes.ts'

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '10000' },
    'every-ms': { type: 'string', default: '5000' },
  },
})
const streams = Number(values.streams)
const concurrentOpens = 50
/** Below the concurrent and per-minute limits of a plan and of an address. */
const streamsPerAccount = 32
const streamsPerAddress = 100
const timeoutMs = 180_000

const folder = mkdtempSync(join(tmpdir(), 'svc-held-'))
const keys = await makeMembers(Math.ceil((streams + 1) / streamsPerAccount))
const upstream = await startProgram(['bench/support/idle-upstream.ts', values['every-ms']], {}, /(http:\/\/[\d.:]+)/)
const gateway = await startProgram(
  ['bin/svc-gateway.js', 'start'],
  {
    DATA_DIR: folder,
    PORT: '0',
    UPSTREAM_BASE_URL: `${upstream.url}/v1`,
    UPSTREAM_MODEL_FLAGSHIP: 'm',
    UPSTREAM_MODEL_LIGHT: 'm',
  },
  /listens on (http:\/\/[\d.:]+)/,
  openSync(join(folder, 'log'), 'w'),
)

/** The first status of a stream, and its open connection. */
interface OpenedStream {
  readonly firstEventMs: number
  /** `200`, a status with the code of its failure, or the connection's error. */
  readonly outcome: string
  readonly call: ClientRequest
  readonly closed: Promise<void>
}

function openStream(index: number, text: string): Promise<OpenedStream> {
  const from = performance.now()
  return new Promise((resolve) => {
    const key = keys[Math.floor(index / streamsPerAccount)] ?? ''
    const { port } = new URL(gateway.url)
    const call = request({
      host: '127.0.0.1',
      port,
      path: '/v1/chat/completions',
      method: 'POST',
      agent: false,
      localAddress: `127.0.${1 + Math.floor(index / streamsPerAddress / 250)}.${1 + (Math.floor(index / streamsPerAddress) % 250)}`,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    })
    const closed = new Promise<void>((end) => call.on('close', () => end()))
    const resolveOpened = (outcome: string): void => resolve({ firstEventMs: performance.now() - from, outcome, call, closed })
    call.setTimeout(timeoutMs, () => resolveOpened('silence'))
    call.on('error', (error: NodeJS.ErrnoException) => resolveOpened(error.code ?? error.message))
    call.on('response', (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('error', () => undefined)
      response.on('data', (part: string) => {
        if (body === '' && response.statusCode === 200) resolveOpened('200')
        body = (body + part).slice(0, 2_000)
      })
      response.on('end', () => {
        endedCount++
        resolveOpened(`${response.statusCode} ${/"code":"(\w+)"/.exec(body)?.[1] ?? body.slice(0, 100)}`)
      })
    })
    call.end(JSON.stringify({ model: 'svc-2.1', stream: true, messages: [{ role: 'user', content: text }] }))
  })
}

let endedCount = 0
try {
  const empty = readResidentKib(gateway.pid)
  const from = performance.now()
  const all: OpenedStream[] = []
  for (let next = 0; next < streams; next += concurrentOpens) {
    all.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(concurrentOpens, streams - next) }, (_, i) => openStream(next + i, 'on and on')),
      )),
    )
    if (all.length % 1_000 === 0)
      print(`${all.length} in ${((performance.now() - from) / 1_000).toFixed(0)} s, ${countOutcomes(all)}`)
  }
  const times = all.map(({ firstEventMs }) => firstEventMs).toSorted((a, b) => a - b)
  const percentile = (share: number): string => (times[Math.floor((times.length - 1) * share)] ?? 0).toFixed(0)
  print(
    `${streams} streams: ${countOutcomes(all)}; first event after p50 ${percentile(0.5)} p99 ${percentile(0.99)} max ${percentile(1)} ms`,
  )
  await pause(3_000)
  const cpu = readCpuSeconds(gateway.pid)
  await pause(10_000)
  const held = readResidentKib(gateway.pid)
  print(
    `memory ${(empty / 1024).toFixed(0)} → ${(held / 1024).toFixed(0)} MiB, ${((held - empty) / streams).toFixed(1)} KiB a stream`,
  )
  print(`${(((readCpuSeconds(gateway.pid) - cpu) / 10) * 100).toFixed(0)} % of a core while they go on; ${endedCount} have ended`)
  for (let i = 0; i < 3; i++) {
    const { outcome, firstEventMs, closed } = await openStream(streams, 'short')
    print(`one more turn: ${outcome} after ${firstEventMs.toFixed(0)} ms`)
    await closed
  }
  for (const { call } of all) call.destroy()
  await pause(5_000)
} finally {
  for (const program of [gateway, upstream]) await program.stop()
  const log = readFileSync(join(folder, 'log'), 'utf8').split('\n')
  for (const line of log.filter((text) => /"level":"(warn|error|fatal)"/.test(text)).slice(0, 5)) print(line)
  rmSync(folder, { recursive: true, force: true })
}
process.exit(0)

async function makeMembers(count: number): Promise<readonly string[]> {
  const config = await loadConfig()
  const clock = systemClock
  const ids = createIds()
  const store = await openSqliteStore({ file: join(folder, 'gateway.db'), process: { id: 'members', pid: process.pid }, clock })
  const member = async (_: unknown, index: number): Promise<string> => {
    const at = clock.now()
    const id = ids.next('acc_', at)
    await store.accounts.create({
      id,
      email: `m${index}@example.org`,
      plan: 'max-20x',
      passwordHash: null,
      emailVerified: true,
      at,
    })
    const keys = { prefix: deriveNames(config.brand.slug).keyPrefix, perAccount: config.limits.keysPerAccount }
    const made = await createApiKey({ store, ids, clock, keys }, id, 'held', null)
    if (made === undefined) throw new Error(`${id} may have no key`)
    return made.token
  }
  const tokens = await Promise.all(Array.from({ length: count }, member))
  await store.close()
  return tokens
}

function countOutcomes(all: readonly OpenedStream[]): string {
  const counts = new Map<string, number>()
  for (const { outcome } of all) counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  return [...counts].map(([how, count]) => `${count} × ${how}`).join(', ')
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
