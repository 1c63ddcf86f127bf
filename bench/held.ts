/**
 * What the shipped configuration holds: streams that go on and on, of as many members as their plans need, from as many addresses; then one
 * more ordinary turn. Nothing is configured but the upstream's address.
 *
 *   node bench/held.ts [--streams 10000] [--every-ms 5000]
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
import { namesOf } from '../src/config/brand.ts'
import { loadConfig } from '../src/config/config.ts'
import { mintKey } from '../src/membership/key-desk.ts'
import { openSqliteStore } from '../src/store/sqlite/open.ts'
import { systemClock } from '../src/system/clock.ts'
import { createIds } from '../src/system/ids.ts'
import { cpuSeconds, residentKib, start } from './processes.ts'

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '10000' },
    'every-ms': { type: 'string', default: '5000' },
  },
})
const streams = Number(values.streams)
const atOnce = 50
/** Below what a plan and an address may have at once, and in a minute. */
const perAccount = 32
const perAddress = 100
const patienceMs = 180_000

const folder = mkdtempSync(join(tmpdir(), 'svc-held-'))
const keys = await makeMembers(Math.ceil((streams + 1) / perAccount))
const upstream = await start(['bench/held-upstream.ts', values['every-ms']], {}, /(http:\/\/[\d.:]+)/)
const gateway = await start(
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

/** How it began, and what keeps it. */
interface Begun {
  readonly ms: number
  /** `200`, a status with the code of its failure, or the connection's error. */
  readonly how: string
  readonly call: ClientRequest
  readonly over: Promise<void>
}

function turn(index: number, text: string): Promise<Begun> {
  const from = performance.now()
  return new Promise((resolve) => {
    const key = keys[Math.floor(index / perAccount)] ?? ''
    const { port } = new URL(gateway.url)
    const call = request({
      host: '127.0.0.1',
      port,
      path: '/v1/chat/completions',
      method: 'POST',
      agent: false,
      localAddress: `127.0.${1 + Math.floor(index / perAddress / 250)}.${1 + (Math.floor(index / perAddress) % 250)}`,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    })
    const over = new Promise<void>((end) => call.on('close', () => end()))
    const begun = (how: string): void => resolve({ ms: performance.now() - from, how, call, over })
    call.setTimeout(patienceMs, () => begun('silence'))
    call.on('error', (error: NodeJS.ErrnoException) => begun(error.code ?? error.message))
    call.on('response', (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('error', () => undefined)
      response.on('data', (part: string) => {
        if (body === '' && response.statusCode === 200) begun('200')
        body = (body + part).slice(0, 2_000)
      })
      response.on('end', () => {
        ended++
        begun(`${response.statusCode} ${/"code":"(\w+)"/.exec(body)?.[1] ?? body.slice(0, 100)}`)
      })
    })
    call.end(JSON.stringify({ model: 'svc-2.1', stream: true, messages: [{ role: 'user', content: text }] }))
  })
}

let ended = 0
try {
  const empty = residentKib(gateway.pid)
  const from = performance.now()
  const all: Begun[] = []
  for (let next = 0; next < streams; next += atOnce) {
    all.push(
      ...(await Promise.all(Array.from({ length: Math.min(atOnce, streams - next) }, (_, i) => turn(next + i, 'on and on')))),
    )
    if (all.length % 1_000 === 0) say(`${all.length} in ${((performance.now() - from) / 1_000).toFixed(0)} s, ${tally(all)}`)
  }
  const times = all.map(({ ms }) => ms).toSorted((a, b) => a - b)
  const of = (share: number): string => (times[Math.floor((times.length - 1) * share)] ?? 0).toFixed(0)
  say(`${streams} streams: ${tally(all)}; first event after p50 ${of(0.5)} p99 ${of(0.99)} max ${of(1)} ms`)
  await pause(3_000)
  const cpu = cpuSeconds(gateway.pid)
  await pause(10_000)
  const held = residentKib(gateway.pid)
  say(
    `memory ${(empty / 1024).toFixed(0)} → ${(held / 1024).toFixed(0)} MiB, ${((held - empty) / streams).toFixed(1)} KiB a stream`,
  )
  say(`${(((cpuSeconds(gateway.pid) - cpu) / 10) * 100).toFixed(0)} % of a core while they go on; ${ended} have ended`)
  for (let i = 0; i < 3; i++) {
    const { how, ms, over } = await turn(streams, 'short')
    say(`one more turn: ${how} after ${ms.toFixed(0)} ms`)
    await over
  }
  for (const { call } of all) call.destroy()
  await pause(5_000)
} finally {
  for (const program of [gateway, upstream]) await program.stop()
  const log = readFileSync(join(folder, 'log'), 'utf8').split('\n')
  for (const line of log.filter((text) => /"level":"(warn|error|fatal)"/.test(text)).slice(0, 5)) say(line)
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
    const keys = { prefix: namesOf(config.brand.slug).keyPrefix, perAccount: config.limits.keysPerAccount }
    const made = await mintKey({ store, ids, clock, keys }, id, 'held', null)
    if (made === undefined) throw new Error(`${id} may have no key`)
    return made.token
  }
  const tokens = await Promise.all(Array.from({ length: count }, member))
  await store.close()
  return tokens
}

function tally(all: readonly Begun[]): string {
  const counts = new Map<string, number>()
  for (const { how } of all) counts.set(how, (counts.get(how) ?? 0) + 1)
  return [...counts].map(([how, count]) => `${count} × ${how}`).join(', ')
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
