/**
 * Does every turn cost what it may, whatever happens? The real server, again and again killed, under clients that come and go, with an
 * upstream that fails in every way, locks on its database, a full disk, clocks that step, and the operator's commands beside it.
 *
 *   node bench/money.ts [--turns 20000] [--seconds 600] [--seed 1] [--clients 96] [--every 15] [--workers 1] [--keep FOLDER]
 *
 * A fault begins within `--every` seconds after the last. It ends with whichever bound is met first, keeps its own accounts (`money/books.ts`), and exits with 1 where the server's differ. The
 * full disk needs root on Linux. What a turn is to be depends on the seed and its number alone; when the faults meet it does not.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Agent, request } from 'undici'
import { openForWriting } from '../src/store/sqlite/connection.ts'
import { verifyFile } from '../src/store/sqlite/verify-file.ts'
import { judge } from './money/books.ts'
import type { Life, Seen, Try } from './money/books.ts'
import { Chance, planOf } from './money/script.ts'
import type { Plan } from './money/script.ts'
import { command, endServer, fillDisk, mountDisk, startServer } from './money/server.ts'
import type { Server } from './money/server.ts'
import { startUpstream } from './money/upstream.ts'

const { values } = parseArgs({
  options: {
    turns: { type: 'string', default: '20000' },
    seconds: { type: 'string', default: '600' },
    seed: { type: 'string', default: '1' },
    clients: { type: 'string', default: '96' },
    every: { type: 'string', default: '15' },
    workers: { type: 'string', default: '1' },
    keep: { type: 'string' },
  },
})
const [most, seconds, seed, clients, every] = [values.turns, values.seconds, values.seed, values.clients, values.every].map(
  Number,
) as [number, number, number, number, number]

// A disk of its own ends with its mount namespace, however this ends: so it runs once more inside of one.
const inside = 'SVC_BENCH_INSIDE'
if (process.platform === 'linux' && process.getuid?.() === 0 && process.env[inside] === undefined) {
  const again = ['--mount', '--propagation', 'private', process.execPath, ...process.argv.slice(1)]
  const ran = spawnSync('unshare', again, { stdio: 'inherit', env: { ...process.env, [inside]: '1' } })
  if (ran.error === undefined) process.exit(ran.status ?? 1)
}

const scratch = mkdtempSync(join(tmpdir(), 'svc-money-'))
const folder = join(scratch, 'data')
mkdirSync(folder, { mode: 0o700 })
const hasDisk = process.env[inside] !== undefined && mountDisk(folder, 96 + Math.ceil(most / 1000))
if (!hasDisk) say('no full disk in this run: a small one needs root on Linux')

const plans = new Map<number, Plan>()
const upstream = await startUpstream((number) => plans.get(number)?.script)
const place = {
  folder,
  log: join(scratch, 'log'),
  environment: {
    GATEWAY_CONFIG: fileURLToPath(new URL('money/gateway.config.ts', import.meta.url)),
    UPSTREAM_BASE_URL: upstream.url,
    UPSTREAM_MODEL_FLAGSHIP: 'big',
    UPSTREAM_MODEL_LIGHT: 'small',
    WORKERS: values.workers,
  },
}

const tries: Try[] = []
const granted: number[] = []
const complaints: string[] = []
const did = { kills: 0, stops: 0, locks: 0, fills: 0, commands: 0, commandsInFaults: 0, starts: 0, owed: 0 }
/** The first start and the accounts are not counted. */
let began = performance.now()
let nextTurn = 0
let turns = 0
/** While a fault is under way, a command may be refused. */
let faults = 0

const isOver = (): boolean => turns >= most || performance.now() - began > seconds * 1000

/** One life of the server: clients come and go, one fault or none, an operator beside it, and an end. */
async function live(number: number, keys: string[]): Promise<void> {
  const chance = new Chance(Math.imul(seed, 0x27_d4_eb_2f) ^ number)
  const shifts = chance.next() < 0.5 ? [0] : [0, chance.whole(-60, 60), chance.whole(-60, 60)]
  const server = await start(shifts)
  if (keys.length === 0) {
    keys.push(...(await makeAccounts(server.key)))
    began = performance.now()
  }
  const life: Life = { killedAt: null }
  const dispatcher = new Agent({ connections: clients, pipelining: 1 })
  const over = new AbortController()
  const working = Array.from({ length: clients }, (_, i) =>
    beClient(server, keys[i % keys.length] ?? '', life, dispatcher, over.signal),
  )
  const fault = faulted(chance, over.signal)
  const operator = operate(chance, over.signal)
  const watching = watchOwed(server, over.signal)
  // Some forty lives, however many turns there are to be, or ten where turns are slow.
  const [until, enough] = [performance.now() + seconds * chance.whole(20, 100), turns + chance.whole(1, most / 20)]
  const isServed = (): boolean => performance.now() >= until || turns >= enough || isOver()
  while (!isServed()) await pause(50)
  const isKilled = chance.next() < 0.8
  over.abort()
  if (isKilled) {
    life.killedAt = performance.now()
    await endServer(server, 'SIGKILL')
    did.kills++
  } else {
    await fault
    await Promise.all(working)
    await endServer(server, 'SIGTERM')
    did.stops++
    if (server.child.exitCode !== 0) complaints.push(`a clean stop ended with ${server.child.exitCode}`)
  }
  await Promise.all([...working, fault, operator, watching])
  await dispatcher.destroy()
  if (isKilled) checkBooks()
}

async function start(shifts: readonly number[]): Promise<Server> {
  for (let attempt = 0; attempt < 20; attempt++) {
    did.starts++
    const server = await startServer(place, shifts)
    if (server !== null) return server
    await pause(500)
  }
  throw new Error(`the server does not start:\n${readFileSync(place.log, 'utf8').slice(-2000)}`)
}

async function makeAccounts(first: string): Promise<string[]> {
  const keys = [first]
  for (const [email, plan] of [
    ['b@example.com', 'max'],
    ['c@example.com', 'max'],
    ['d@example.com', 'free'],
  ] as const) {
    await expectOk(['account', 'create', '--email', email, '--plan', plan, '--json'])
    const made = await expectOk(['key', 'create', '--account', email, '--name', 'money', '--json'])
    keys.push((JSON.parse(made) as { token: string }).token)
  }
  return keys
}

async function expectOk(words: readonly string[]): Promise<string> {
  const { code, out, complaint } = await command(place, words)
  if (code !== 0) throw new Error(`${words.join(' ')}: ${complaint}`)
  return out
}

async function beClient(server: Server, key: string, life: Life, dispatcher: Agent, over: AbortSignal): Promise<void> {
  while (!over.aborted && !isOver()) {
    const plan = planOf(seed, nextTurn++)
    plans.set(plan.number, plan)
    for (let nth = 0; nth < (plan.keyed ? 3 : 1); nth++) {
      const ended = await ask(server, key, plan, nth, life, dispatcher)
      tries.push(ended)
      if (ended.seen !== 'refused') turns++
      // Who is refused waits, or refusals would be all there is.
      else await pause(100)
      if (ended.seen !== 'broken' && ended.seen !== 'refunded') break
      if (over.aborted) break
    }
  }
}

async function ask(server: Server, key: string, plan: Plan, nth: number, life: Life, dispatcher: Agent): Promise<Try> {
  const { number, model, stream, maxTokens, leavesAfterMs, keyed } = plan
  const requestId = `mbr_${seed}-${number}-${nth}`
  const body = JSON.stringify({
    model,
    stream,
    ...(maxTokens === null ? {} : { max_tokens: maxTokens }),
    messages: [{ role: 'user', content: `turn ${number} ${'of many words '.repeat(number % 9)}` }],
  })
  const leaving = new AbortController()
  const timer = leavesAfterMs === null ? undefined : setTimeout(() => leaving.abort(), leavesAfterMs)
  let status: number | null = null
  let text = ''
  let isWhole = false
  try {
    const answer = await request(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      dispatcher,
      signal: leaving.signal,
      headersTimeout: 60_000,
      bodyTimeout: 60_000,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'x-svc-request-id': requestId,
        ...(keyed ? { 'idempotency-key': `${seed}-${number}` } : {}),
      },
      body,
    })
    status = answer.statusCode
    for await (const chunk of answer.body) text += String(chunk)
    isWhole = true
  } catch {
    // What it has come to is judged below.
  }
  clearTimeout(timer)
  const at = performance.now()
  return { requestId, plan, bodyBytes: Buffer.byteLength(body), life, seen: seenIn(text), at, status }

  function seenIn(said: string): Seen {
    if (said.includes('"quotaRefunded":true')) return 'refunded'
    if (status === 200 && (stream ? said.endsWith('data: [DONE]\n\n') : isWhole && said.includes('"object":"chat.completion"')))
      return 'seen'
    if (leaving.signal.aborted) return 'left'
    return isWhole && (status !== 200 || said.includes('"error"')) ? 'refused' : 'broken'
  }
}

/** What happens to the disk in this life of the server, one thing after the other; the last may outlast it. */
async function faulted(chance: Chance, over: AbortSignal): Promise<void> {
  for (;;) {
    await pause(chance.whole(0, every * 1000), undefined, { signal: over }).catch(() => undefined)
    if (over.aborted) return
    await upset(chance)
  }
}

async function upset(chance: Chance): Promise<void> {
  const kind = chance.of({ lock: 60, full: 40 })
  const forMs = kind === 'lock' ? chance.whole(1_000, 8_000) : chance.whole(500, 3_000)
  if (kind === 'full' && !hasDisk) return
  faults++
  try {
    if (kind === 'lock') {
      const db = openForWriting(join(folder, 'gateway.db'), 2_000, false)
      try {
        db.exec('begin immediate')
        did.locks++
        await pause(forMs)
        db.exec('rollback')
      } finally {
        db.close()
      }
    } else {
      const free = fillDisk(folder)
      did.fills++
      await pause(forMs)
      free()
    }
  } catch (error) {
    complaints.push(`${kind}: ${String(error)}`)
  } finally {
    faults--
  }
}

/** The operator, with a clock that is a day off now and then. */
async function operate(chance: Chance, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await pause(chance.whole(1_000, 6_000), undefined, { signal: over }).catch(() => undefined)
    if (over.aborted) return
    const copy = join(scratch, 'copy.db')
    const kind = chance.of({ turns: 4, show: 3, verify: 2, backup: 1, grant: 1 })
    const credits = chance.whole(1, 500)
    const words = {
      turns: ['turns', '--limit', '50'],
      show: ['account', 'show', 'd@example.com'],
      verify: ['ledger', 'verify'],
      backup: ['backup', copy],
      grant: [
        'boost',
        'grant',
        '--account',
        'd@example.com',
        '--tier',
        'premium',
        '--credits',
        String(credits),
        '--expires',
        '30d',
      ],
    }[kind]
    const inFault = faults > 0
    const earlier = did.locks + did.fills
    if (kind === 'grant' && inFault) continue
    const minutes = kind === 'grant' ? 0 : chance.next() < 0.5 ? chance.whole(-1440, 1440) : 0
    const { code, out, complaint } = await command(place, [...words, '--json'], minutes)
    did.commands++
    // One may have come and gone while it ran.
    const isTroubled = inFault || faults > 0 || did.locks + did.fills > earlier
    if (isTroubled) did.commandsInFaults++
    if (kind === 'grant' && code === 0) granted.push(credits)
    if (code !== 0 && (!isTroubled || out.includes('"mismatches"')))
      complaints.push(`${words.join(' ')}: exit ${code} ${out}${complaint}`.slice(0, 800))
    rmSync(copy, { force: true })
    rmSync(`${copy}.files`, { recursive: true, force: true })
  }
}

/** The most settlements that were owed at any look. */
async function watchOwed(server: Server, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await pause(400)
    try {
      const ready = await fetch(`${server.url}/readyz`)
      const owed = /(\d+) settlements? (?:are|is) owed/.exec(await ready.text())
      if (owed !== null) did.owed = Math.max(did.owed, Number(owed[1]))
    } catch {
      return
    }
  }
}

/** After a kill, before the next start: nothing that lies on the disk contradicts itself. */
function checkBooks(): void {
  try {
    const { ok, mismatches } = verifyFile(join(folder, 'gateway.db'))
    if (!ok) complaints.push(`the books after a kill: ${JSON.stringify(mismatches)}`.slice(0, 800))
  } catch (error) {
    complaints.push(`the books after a kill: ${String(error)}`)
  }
}

function say(text: string): void {
  process.stderr.write(`${text}\n`)
}

const progress = setInterval(() => {
  const elapsed = (performance.now() - began) / 1000
  say(
    `${elapsed.toFixed(0)} s: ${turns} turns, ${JSON.stringify(did)}, ${complaints.length} complaints ${complaints.at(-1) ?? ''}`,
  )
}, 5_000)

const keys: string[] = []
for (let number = 0; !isOver(); number++) await live(number, keys)

// What was owed at the last death is written by one more start.
const last = await start([0])
await pause(2_000)
const ready = await fetch(`${last.url}/readyz`)
if (ready.status !== 200) complaints.push(`not ready at the end: ${await ready.text()}`)
await endServer(last, 'SIGTERM')
clearInterval(progress)
upstream.close()
const verified = await command(place, ['ledger', 'verify', '--json'])
const { ok, holds_open: holdsOpen, owed } = JSON.parse(verified.out) as { ok: boolean; holds_open: number; owed: number }
const files = readdirSync(folder)
const report = judge(folder, tries, upstream.calls, granted)
if (values.keep !== undefined) cpSync(scratch, values.keep, { recursive: true })

const { faults: found, samples, leaving, ...counts } = report
say('')
for (const sample of samples) say(sample)
for (const complaint of complaints) say(`complaint: ${complaint}`)
const elapsed = (performance.now() - began) / 1000
const rows = { ...counts, ...found, ...did, complaints: complaints.length, holdsOpen, owedAtEnd: owed }
process.stdout.write(
  `seed ${seed}, ${clients} clients, ${elapsed.toFixed(0)} s, ${(report.turns / elapsed).toFixed(0)} turns/s; ledger verify: ${ok ? 'adds up' : 'DOES NOT ADD UP'}\n` +
    Object.entries(rows)
      .map(([name, count]) => `${name.padEnd(18)}${String(count).padStart(9)}\n`)
      .join('') +
    `clients that left ${leaving.turns} turns were charged ${leaving.chargedCredits} credits; made for them by then: ${leaving.madeCredits}\n` +
    `files at the end: ${files.join(' ')}\n`,
)
if (hasDisk) spawnSync('umount', ['-l', folder])
rmSync(scratch, { recursive: true, force: true })
// A run in which nothing happened has shown nothing.
const isRight =
  report.completed > 0 &&
  ok &&
  holdsOpen === 0 &&
  owed === 0 &&
  complaints.length === 0 &&
  Object.values(found).every((count) => count === 0)
process.exit(isRight ? 0 : 1)
