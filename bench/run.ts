/**
 * What a turn costs, beside what others take for it, in one interleaved run: `npm run bench -- --help`, and README.md beside this file.
 */
import { spawnSync } from 'node:child_process'
import { availableParallelism, cpus, release } from 'node:os'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Agent } from 'undici'
import { loadConfig } from '../src/config/config.ts'
import { root, startUpstream } from './processes.ts'
import { booksOf, perTurn } from './run/books.ts'
import type { Books, BooksOfATurn } from './run/books.ts'
import { castOf, nameOf, ours } from './run/cast.ts'
import type { Part } from './run/cast.ts'
import { checkOut, thisCommit } from './run/checkout.ts'
import { Machine, whyTooBusy } from './run/machine.ts'
import { Measuring } from './run/measure.ts'
import type { Sample } from './run/measure.ts'
import { optionsOf } from './run/options.ts'
import type { Options } from './run/options.ts'
import { pictureOf } from './run/picture.ts'
import { planOf } from './run/plan.ts'
import { Refused, TooBusy } from './run/refused.ts'
import type { Run } from './run/report.ts'
import { strayDifferences } from './run/shipped.ts'
import { spreadOf } from './run/statistics.ts'
import { whyNoAnswer } from './run/subject.ts'
import type { Subject } from './run/subject.ts'
import { markdownOf } from './run/table.ts'
import { sumOf, usedBy } from './run/threads.ts'

const options = understood(process.argv.slice(2))
/** Ended in the opposite order, however this ends. */
const closers: (() => Promise<void> | void)[] = []
process.once('SIGINT', () => void end(130))
process.once('SIGTERM', () => void end(143))

try {
  await main()
  await end(0)
} catch (error) {
  say(error instanceof Refused ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error))
  await end(error instanceof TooBusy ? 2 : 1)
}

async function main(): Promise<void> {
  if (spawnSync('wrk', ['-v']).error !== undefined)
    throw new Refused('The load is made by wrk, which is not on this machine: apt-get install wrk.')
  await checkConfiguration()
  const against = options.against === null ? null : checkOut(options.against)
  if (against !== null) closers.push(() => against.remove())
  const parts = castOf({ ...options, against }).filter(({ id }) => options.only.includes(id))
  const plan = planOf({ ...options, subjects: parts.length })
  say(`${parts.map(({ name }) => name).join(' · ')}`)
  say(`${plan.rounds} rounds, ${Math.ceil(plan.totalSeconds / 6) / 10} minutes in all`)

  const pids = new Set<number>()
  const machine = new Machine(() => [...pids].reduce((sum, pid) => sum + sumOf(usedBy(pid)) / 1e6, 0))
  await demandQuiet(machine)
  const dispatcher = new Agent({ connections: 64, pipelining: 1 })
  closers.push(() => dispatcher.destroy())
  const upstream = await startUpstream()
  closers.push(() => upstream.stop())
  pids.add(upstream.pid)

  const measuring = new Measuring(plan, machine, dispatcher)
  const subjects: Subject[] = []
  const before = new Map<Subject, { readonly books: Books; readonly asked: number }>()
  for (const part of parts) {
    const subject = await start(part, { url: new URL(upstream.url).origin, pid: upstream.pid })
    if (subject === null) continue
    pids.add(subject.pid)
    subjects.push(subject)
    const cold = await measuring.warm(subject)
    if (cold !== null) say(`${cold}: V8 may still be compiling. --warm-seconds gives it longer.`)
    const books = await booksOf(subject)
    if (books !== undefined) before.set(subject, { books, asked: measuring.askedOf(subject) })
  }

  const samples: Sample[] = []
  const all = plan.rounds * subjects.length * (plan.shapes.length * plan.clients.length + (plan.rate > 0 ? 1 : 0))
  for await (const sample of measuring.rounds(subjects, options.anyway)) {
    samples.push(sample)
    progress(`${samples.length} of ${all}: ${sample.subject}`)
  }
  const books: Record<string, BooksOfATurn> = {}
  for (const [subject, { books: first, asked }] of before) {
    const last = await booksOf(subject)
    if (last !== undefined) books[subject.name] = perTurn(first, last, measuring.askedOf(subject) - asked)
  }
  const names = subjects.map(({ name }) => name)
  tell({
    at: new Date().toISOString().slice(0, 10),
    commit: thisCommit(),
    asked: process.argv.slice(2),
    machine: `${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown'}, Linux ${release()}, Node ${process.version.slice(1)}`,
    rounds: plan.rounds,
    speed: spreadOf(samples.map(({ look }) => look.speed)),
    subjects: names,
    pairs: pairsIn(names, against?.commit),
    books,
    samples,
  })
}

function understood(words: readonly string[]): Options {
  try {
    return optionsOf(words)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(1)
  }
}

/** A benchmark of another configuration than the shipped one would measure nobody's gateway. */
async function checkConfiguration(): Promise<void> {
  const stray = strayDifferences(
    await loadConfig(join(root, 'gateway.config.ts')),
    await loadConfig(join(root, 'bench/gateway.config.ts')),
  )
  if (stray.length > 0) throw new Refused(`bench/gateway.config.ts changes more than quotas: ${stray.join(', ')}`)
}

async function demandQuiet(machine: Machine): Promise<void> {
  const why = whyTooBusy(await machine.look())
  if (why === null) return
  if (!options.anyway)
    throw new TooBusy(`This machine is too busy to measure on: ${why}. --anyway measures all the same, and marks the figures.`)
  say(`This machine is busy: ${why}. Figures that this touches are marked.`)
}

async function start(part: Part, upstream: { readonly url: string; readonly pid: number }): Promise<Subject | null> {
  progress(`starting ${part.name}`)
  const starting = part.start(upstream)
  // Whoever interrupts this while it starts leaves nothing running.
  closers.push(async () => (await starting.catch(() => null))?.stop())
  const subject = await starting
  if (subject === null) {
    say(`${part.name} is not on this machine and is left out (nginx: apt-get install nginx-light).`)
    return null
  }
  const why = await whyNoAnswer(subject)
  if (why !== null) throw new Refused(why)
  progress(`warming up ${part.name}`)
  return subject
}

/** This checkout's gateway with each of its variants and with the other commit's, for as many accounts. */
function pairsIn(names: readonly string[], commit: string | undefined): (readonly [string, string])[] {
  const others = [
    ...options.variants.map((variant) => `${ours} with ${variant}`),
    ...(commit === undefined ? [] : [`${ours} at ${commit}`]),
  ]
  return options.accounts
    .flatMap((count) => others.map((other) => [nameOf(ours, count), nameOf(other, count)] as const))
    .filter((pair) => pair.every((name) => names.includes(name)))
}

function tell(run: Run): void {
  const folder = join(root, 'bench/results')
  mkdirSync(folder, { recursive: true })
  const markdown = markdownOf(run)
  writeFileSync(join(folder, 'latest.json'), JSON.stringify(run))
  writeFileSync(join(folder, 'latest.md'), markdown)
  writeFileSync(join(folder, 'latest.svg'), pictureOf(run))
  progress('')
  process.stdout.write(`\n${markdown}\n`)
  say('This table, a picture and every measurement: bench/results/latest.{md,svg,json}')
}

async function end(code: number): Promise<never> {
  for (const close of closers.splice(0).toReversed()) await close()
  process.exit(code)
}

function say(line: string): void {
  progress('')
  process.stderr.write(`${line}\n`)
}

/** One line that is written over, on a terminal alone. */
function progress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${line}`)
}
