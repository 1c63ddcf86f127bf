/**
 * Checks that every turn is charged correctly under faults: the real server, killed again and again, under clients that come and go, with an
 * upstream that fails in every way in each of four APIs, requests in all API formats, hosted searches, locks on its database, a full disk, clock changes, and concurrent operator commands.
 *
 *   node bench/ledger-soak.ts [--turns 20000] [--seconds 600] [--seed 1] [--clients 96] [--every 15] [--workers 1] [--thread-seconds 0] [--keep FOLDER]
 *
 * With `--thread-seconds` and several workers a serving thread ends by itself after that time on average, while its operations share commits
 * with others'. A fault begins within `--every` seconds after the last one. The run ends at the first bound, keeps its own accounts (`bench/ledger-soak/accounting-check.ts`), and exits with 1 if the server's differ. The
 * full disk needs root on Linux. The seed and a turn's number alone determine the turn, but not when the faults hit it.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Agent, request } from 'undici'
import { measurePrompt } from '../src/exchange/request/prompt-size.ts'
import { openForWriting } from '../src/store/sqlite/connection/connection.ts'
import { verifyDatabaseFile } from '../src/store/sqlite/maintenance/ledger-snapshot.ts'
import { checkAccounting } from './ledger-soak/accounting-check.ts'
import { countOutputEvents, readDishonestly } from './ledger-soak/dishonest-reading.ts'
import { clientFormats, toGatewayRequest } from './ledger-soak/client-format.ts'
import type { ServerLife, ClientOutcome, Attempt } from './ledger-soak/accounting-check.ts'
import { SeededRandom, createTurnPlan } from './ledger-soak/turn-plan.ts'
import type { TurnPlan } from './ledger-soak/turn-plan.ts'
import { defaultMediaFigures } from '../test/support/media-figures.ts'
import { runCommand, endServer, fillDisk, mountDisk, readThreadDeaths, shrinkBuffers, startServer } from './ledger-soak/server.ts'
import type { Installation, Server } from './ledger-soak/server.ts'
import { ServerStalls } from './ledger-soak/server-stalls.ts'
import { startUpstream } from './ledger-soak/upstream.ts'

const { values } = parseArgs({
  options: {
    turns: { type: 'string', default: '20000' },
    seconds: { type: 'string', default: '600' },
    seed: { type: 'string', default: '1' },
    clients: { type: 'string', default: '96' },
    every: { type: 'string', default: '15' },
    workers: { type: 'string', default: '1' },
    'thread-seconds': { type: 'string', default: '0' },
    keep: { type: 'string' },
  },
})
const [maxTurns, seconds, seed, clients, faultEverySeconds] = [
  values.turns,
  values.seconds,
  values.seed,
  values.clients,
  values.every,
].map(Number) as [number, number, number, number, number]

// The full disk is a mount, and small buffers are a network's, that end with their namespaces in every case, so the program runs itself again inside one.
const insideFlag = 'SVC_BENCH_INSIDE'
if (process.platform === 'linux' && process.getuid?.() === 0 && process.env[insideFlag] === undefined) {
  const again = ['--mount', '--net', '--propagation', 'private', process.execPath, ...process.argv.slice(1)]
  const ran = spawnSync('unshare', again, { stdio: 'inherit', env: { ...process.env, [insideFlag]: '1' } })
  if (ran.error === undefined) process.exit(ran.status ?? 1)
}

if (process.env[insideFlag] === undefined)
  print('buffers of connections are large: members who read slowly rarely delay an upstream')
else shrinkBuffers()

const scratch = mkdtempSync(join(tmpdir(), 'svc-money-'))
const folder = join(scratch, 'data')
mkdirSync(folder, { mode: 0o700 })
const hasDisk = process.env[insideFlag] !== undefined && mountDisk(folder, 96 + Math.ceil(maxTurns / 1000))
if (!hasDisk) print('no full disk in this run: a small one needs root on Linux')

const plans = new Map<number, TurnPlan>()
const upstream = await startUpstream((number) => plans.get(number))
const installation: Installation = {
  folder,
  threadDeaths:
    Number(values['thread-seconds']) > 0
      ? { meanSeconds: Number(values['thread-seconds']), file: join(scratch, 'deaths') }
      : null,
  log: join(scratch, 'log'),
  environment: {
    GATEWAY_CONFIG: fileURLToPath(new URL('./ledger-soak/gateway.config.ts', import.meta.url)),
    UPSTREAM_BASE_URL: upstream.url,
    UPSTREAM_MODEL_FLAGSHIP: 'big',
    UPSTREAM_MODEL_LIGHT: 'small',
    UPSTREAM_MODEL_SEARCH: 'search',
    WORKERS: values.workers,
  },
}

const attempts: Attempt[] = []
const granted: number[] = []
const problems: string[] = []
const stalls = new ServerStalls()
const counters = {
  kills: 0,
  threadDeaths: 0,
  stops: 0,
  locks: 0,
  fills: 0,
  commands: 0,
  commandsInFaults: 0,
  starts: 0,
  pendingSettlements: 0,
  crashes: 0,
  lostDatabases: 0,
}
/** The first start and the creation of the accounts are not counted. */
let began = performance.now()
let nextTurn = 0
let turns = 0
/** Within this time a client notices that its thread has ended; a member who does not read, later. */
const [maxDeathNoticeMs, maxLateNoticeMs] = [2_000, 10_000]
/** During a fault a command may be refused. */
let faults = 0

const isFinished = (): boolean => turns >= maxTurns || performance.now() - began > seconds * 1000

/** One life of the server: clients come and go, at most one fault, an operator beside it, and an end. */
async function runServerLife(number: number, keys: string[]): Promise<void> {
  const chance = new SeededRandom(Math.imul(seed, 0x27_d4_eb_2f) ^ number)
  const shifts = chance.next() < 0.5 ? [0] : [0, chance.integer(-60, 60), chance.integer(-60, 60)]
  const server = await startOrThrow(shifts)
  if (keys.length === 0) {
    keys.push(...(await makeAccounts(server.key)))
    began = performance.now()
  }
  const life: ServerLife = { killedAt: null }
  const firstAttempt = attempts.length
  const dispatcher = new Agent({ connections: clients, pipelining: 1 })
  const lifeEnd = new AbortController()
  const runningClients = Array.from({ length: clients }, (_, i) =>
    runClient(server, keys[i % keys.length] ?? '', life, dispatcher, lifeEnd.signal),
  )
  const fault = injectFaults(chance, lifeEnd.signal)
  const operator = runOperator(chance, lifeEnd.signal)
  const watching = [watchPendingSettlements(server, lifeEnd.signal), stalls.watch(server.url, lifeEnd.signal)]
  // About forty lives for any number of turns, or ten if turns are slow.
  const [deadline, maxTurnsOfLife] = [
    performance.now() + seconds * chance.integer(20, 100),
    turns + chance.integer(1, maxTurns / 20),
  ]
  const isLifeOver = (): boolean => performance.now() >= deadline || turns >= maxTurnsOfLife || isFinished()
  while (!isLifeOver()) await pause(50)
  const isKilled = chance.next() < 0.8
  lifeEnd.abort()
  // Whatever ended it was not this program.
  const { exitCode, signalCode } = server.child
  if (exitCode !== null || signalCode !== null) {
    counters.crashes++
    problems.push(`the server ended by itself: ${exitCode ?? signalCode}`)
  }
  if (isKilled) {
    life.killedAt = performance.now()
    await endServer(server, 'SIGKILL')
    counters.kills++
  } else {
    await fault
    await Promise.all(runningClients)
    await endServer(server, 'SIGTERM')
    counters.stops++
    if (server.child.exitCode !== 0) problems.push(`a clean stop ended with ${server.child.exitCode}`)
  }
  await Promise.all([...runningClients, fault, operator, ...watching])
  await dispatcher.destroy()
  const deaths = readThreadDeaths(installation)
  counters.threadDeaths += deaths.length
  attributeDeaths(firstAttempt, deaths)
  if (isKilled) verifyAfterKill()
}

/** Which thread served an attempt is unknown, so the first death since its end counts as that of its server. */
function attributeDeaths(firstAttempt: number, deaths: readonly number[]): void {
  attempts.forEach((attempt, index) => {
    const noticeMs = attempt.plan.dishonest === null ? maxDeathNoticeMs : maxLateNoticeMs
    const death = index < firstAttempt ? undefined : deaths.find((at) => at >= attempt.at - noticeMs)
    if (death !== undefined) attempts[index] = { ...attempt, life: { killedAt: death } }
  })
}

async function startOrThrow(shifts: readonly number[]): Promise<Server> {
  for (let attempt = 0; attempt < 20; attempt++) {
    counters.starts++
    const server = await startServer(installation, shifts)
    if (server !== null) return server
    await pause(500)
  }
  throw new Error(`the server does not start:\n${readFileSync(installation.log, 'utf8').slice(-2000)}`)
}

async function makeAccounts(first: string): Promise<string[]> {
  const keys = [first]
  for (const [email, plan] of [
    ['b@example.com', 'max'],
    ['c@example.com', 'max'],
    ['d@example.com', 'free'],
  ] as const) {
    await runCommandOrThrow(['account', 'create', '--email', email, '--plan', plan, '--json'])
    const made = await runCommandOrThrow(['key', 'create', '--account', email, '--name', 'money', '--json'])
    keys.push((JSON.parse(made) as { token: string }).token)
  }
  return keys
}

async function runCommandOrThrow(words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(installation, words)
  if (code !== 0) throw new Error(`${words.join(' ')}: ${stderr}`)
  return stdout
}

async function runClient(server: Server, key: string, life: ServerLife, dispatcher: Agent, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !isFinished()) {
    const plan = createTurnPlan(seed, nextTurn++)
    plans.set(plan.number, plan)
    for (let nth = 0; nth < (plan.hasIdempotencyKey ? 3 : 1); nth++) {
      const ended = await sendTurn(server, key, plan, nth, life, dispatcher)
      attempts.push(ended)
      if (ended.outcome !== 'refused') turns++
      // A refused client waits, because otherwise most requests would be refusals.
      else await pause(100)
      if (ended.outcome !== 'broken' && ended.outcome !== 'refunded') break
      if (signal.aborted) break
    }
  }
}

async function sendTurn(
  server: Server,
  key: string,
  plan: TurnPlan,
  nth: number,
  life: ServerLife,
  dispatcher: Agent,
): Promise<Attempt> {
  const { number, stream, disconnectAfterMs, hasIdempotencyKey } = plan
  const format = clientFormats[plan.apiFormat]
  const requestId = `mbr_${seed}-${number}-${nth}`
  const body = JSON.stringify(format.createBody(plan, `turn ${number} ${'of many words '.repeat(number % 9)}`))
  const disconnect = new AbortController()
  const timer = disconnectAfterMs === null ? undefined : setTimeout(() => disconnect.abort(), disconnectAfterMs)
  let status: number | null = null
  let text = ''
  let isWhole = false
  try {
    const answer = await request(server.url + format.getPath(plan), {
      method: 'POST',
      dispatcher,
      signal: disconnect.signal,
      headersTimeout: 60_000,
      bodyTimeout: 60_000,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'x-svc-request-id': requestId,
        ...(hasIdempotencyKey ? { 'idempotency-key': `${seed}-${number}` } : {}),
      },
      body,
    })
    status = answer.statusCode
    const chunks = plan.dishonest === null ? answer.body : readDishonestly(answer.body, plan.dishonest, () => disconnect.abort())
    for await (const chunk of chunks) text += String(chunk)
    isWhole = true
  } catch {
    // The result is checked below.
  }
  clearTimeout(timer)
  const at = performance.now()
  return {
    requestId,
    plan,
    promptTokens: measurePrompt(toGatewayRequest(body, plan), defaultMediaFigures).tokens,
    life,
    outcome: classifyOutcome(text),
    receivedEvents: plan.dishonest === null ? 0 : countOutputEvents(text),
    namesUpstream: text.includes('"code":"upstream_'),
    at,
    status,
  }

  function classifyOutcome(said: string): ClientOutcome {
    if (said.includes('"quotaRefunded":true')) return 'refunded'
    if (status === 200 && (stream || isWhole) && format.isComplete(said, stream)) return 'seen'
    if (disconnect.signal.aborted) return 'left'
    return isWhole && (status !== 200 || format.isFailure(said)) ? 'refused' : 'broken'
  }
}

/** The disk faults of this life of the server, in sequence; the last may outlast it. */
async function injectFaults(chance: SeededRandom, signal: AbortSignal): Promise<void> {
  for (;;) {
    await pause(chance.integer(0, faultEverySeconds * 1000), undefined, { signal: signal }).catch(() => undefined)
    if (signal.aborted) return
    await injectFault(chance)
  }
}

async function injectFault(chance: SeededRandom): Promise<void> {
  const kind = chance.pick({ lock: 60, full: 40 })
  const forMs = kind === 'lock' ? chance.integer(1_000, 8_000) : chance.integer(500, 3_000)
  if (kind === 'full' && !hasDisk) return
  faults++
  try {
    if (kind === 'lock') {
      const db = openForWriting(join(folder, 'gateway.db'), 2_000, false)
      try {
        db.exec('begin immediate')
        counters.locks++
        await pause(forMs)
        db.exec('rollback')
      } finally {
        db.close()
      }
    } else {
      const free = fillDisk(folder)
      counters.fills++
      await pause(forMs)
      free()
    }
  } catch (error) {
    problems.push(`${kind}: ${String(error)}`)
  } finally {
    faults--
  }
}

/** The operator, whose clock is sometimes a day off. */
async function runOperator(chance: SeededRandom, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(chance.integer(1_000, 6_000), undefined, { signal: signal }).catch(() => undefined)
    if (signal.aborted) return
    const copy = join(scratch, 'copy.db')
    const kind = chance.pick({ turns: 4, show: 3, verify: 2, backup: 1, grant: 1 })
    const credits = chance.integer(1, 500)
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
        '--pool',
        'premium',
        '--credits',
        String(credits),
        '--expires',
        '30d',
      ],
    }[kind]
    const inFault = faults > 0
    const earlier = counters.locks + counters.fills
    if (kind === 'grant' && inFault) continue
    const minutes = kind === 'grant' ? 0 : chance.next() < 0.5 ? chance.integer(-1440, 1440) : 0
    const { code, stdout, stderr } = await runCommand(installation, [...words, '--json'], minutes)
    counters.commands++
    // A fault may have begun and ended while it ran.
    const isTroubled = inFault || faults > 0 || counters.locks + counters.fills > earlier
    if (isTroubled) counters.commandsInFaults++
    if (kind === 'grant' && code === 0) granted.push(credits)
    if (code !== 0 && (!isTroubled || stdout.includes('"mismatches"')))
      problems.push(`${words.join(' ')}: exit ${code} ${stdout}${stderr}`.slice(0, 800))
    rmSync(copy, { force: true })
    rmSync(`${copy}.files`, { recursive: true, force: true })
  }
}

/** The highest number of pending settlements that a probe saw. */
async function watchPendingSettlements(server: Server, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(400)
    try {
      const ready = await fetch(`${server.url}/readyz`)
      const pending = /(\d+) settlements? have been pending/.exec(await ready.text())
      if (pending !== null) counters.pendingSettlements = Math.max(counters.pendingSettlements, Number(pending[1]))
    } catch {
      return
    }
  }
}

/** After a kill and before the next start: checks that the data on the disk is consistent. */
function verifyAfterKill(): void {
  try {
    const { ok, mismatches } = verifyDatabaseFile(join(folder, 'gateway.db'))
    if (!ok) problems.push(`the books after a kill: ${JSON.stringify(mismatches)}`.slice(0, 800))
  } catch (error) {
    counters.lostDatabases++
    problems.push(`the books after a kill: ${String(error)}`)
  }
}

function print(text: string): void {
  process.stderr.write(`${text}\n`)
}

const progress = setInterval(() => {
  const elapsed = (performance.now() - began) / 1000
  print(
    `${elapsed.toFixed(0)} s: ${turns} turns, ${JSON.stringify(counters)}, ${problems.length} complaints ${problems.at(-1) ?? ''}`,
  )
}, 5_000)

const keys: string[] = []
for (let number = 0; !isFinished(); number++) await runServerLife(number, keys)

// One more start writes the settlements that were pending at the last kill.
const last = await startOrThrow([0])
await pause(2_000)
const ready = await fetch(`${last.url}/readyz`)
if (ready.status !== 200) problems.push(`not ready at the end: ${await ready.text()}`)
await endServer(last, 'SIGTERM')
clearInterval(progress)
upstream.close()
const verified = await runCommand(installation, ['ledger', 'verify', '--json'])
const {
  ok,
  holds_open: holdsOpen,
  pending_settlements: pendingAtEnd,
} = JSON.parse(verified.stdout) as { ok: boolean; holds_open: number; pending_settlements: number }
const files = readdirSync(folder)
const report = checkAccounting(folder, attempts, upstream.calls, granted, stalls)
if (values.keep !== undefined) cpSync(scratch, values.keep, { recursive: true })

const { faults: found, samples, disconnects, dishonest, ...counts } = report
print('')
for (const sample of samples) print(sample)
for (const complaint of problems) print(`complaint: ${complaint}`)
const elapsed = (performance.now() - began) / 1000
const rows = { ...counts, ...found, ...upstream.played, ...counters, complaints: problems.length, holdsOpen, pendingAtEnd }
process.stdout.write(
  `seed ${seed}, ${clients} clients, ${elapsed.toFixed(0)} s, ${(report.turns / elapsed).toFixed(0)} turns/s; ledger verify: ${ok ? 'adds up' : 'DOES NOT ADD UP'}\n` +
    Object.entries(rows)
      .map(([name, count]) => `${name.padEnd(20)}${String(count).padStart(9)}\n`)
      .join('') +
    `clients that left ${disconnects.turns} turns were charged ${disconnects.chargedCredits} credits; made for them by then: ${disconnects.producedCredits}\n` +
    `dishonest members: ${dishonest.turns} turns, of which the upstream gave up ${dishonest.upstreamGaveUp} (${dishonest.serverStalled} while the server did not run) and ${dishonest.refunded} were refunded; ${dishonest.receivedEvents} events received\n` +
    `files at the end: ${files.join(' ')}\n`,
)
if (hasDisk) spawnSync('umount', ['-l', folder])
rmSync(scratch, { recursive: true, force: true })
// A run without faults proves nothing.
const isRight =
  report.completed > 0 &&
  ok &&
  holdsOpen === 0 &&
  pendingAtEnd === 0 &&
  problems.length === 0 &&
  Object.values(found).every((count) => count === 0)
process.exit(isRight ? 0 : 1)
