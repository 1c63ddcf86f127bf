/**
 * Measures a turn's cost beside that of other programs in one interleaved run: `npm run bench -- --help`, and README.md beside this file.
 */
import { spawnSync } from 'node:child_process'
import { availableParallelism, cpus, release } from 'node:os'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Agent } from 'undici'
import { loadConfig } from '../src/config/config.ts'
import { root, startUpstream } from './support/processes.ts'
import { readStorageCounters, toCostPerTurn } from './run/storage-cost.ts'
import type { StorageCounters, StorageCostPerTurn } from './run/storage-cost.ts'
import { createSubjectSpecs, toSubjectName, gatewayName, translatedFormats } from './run/subjects/subjects.ts'
import type { SubjectSpec } from './run/subjects/subjects.ts'
import { checkOutCommit, describeCommit } from './run/subjects/checkout.ts'
import { Machine, describeOverload } from './run/machine/machine.ts'
import { BenchRunner } from './run/bench-runner.ts'
import type { Sample } from './run/bench-runner.ts'
import { parseOptions } from './run/options.ts'
import type { Options } from './run/options.ts'
import { renderChart } from './run/report/chart.ts'
import { planRun } from './run/plan.ts'
import { BenchError, MachineBusyError } from './run/errors.ts'
import type { Run } from './run/report/report.ts'
import { findStrayDifferences } from './run/config-diff.ts'
import { computeSpread } from './run/report/statistics.ts'
import { describeWrongAnswer } from './run/subjects/subject.ts'
import type { Subject } from './run/subjects/subject.ts'
import { renderMarkdown } from './run/report/table.ts'
import { sumThreadCpu, readThreadCpu } from './run/machine/thread-cpu.ts'

const options = parseArguments(process.argv.slice(2))
/** Ended in reverse order, however the run ends. */
const cleanups: (() => Promise<void> | void)[] = []
process.once('SIGINT', () => void exit(130))
process.once('SIGTERM', () => void exit(143))

try {
  await main()
  await exit(0)
} catch (error) {
  print(error instanceof BenchError ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error))
  await exit(error instanceof MachineBusyError ? 2 : 1)
}

async function main(): Promise<void> {
  if (spawnSync('wrk', ['-v']).error !== undefined)
    throw new BenchError('The load is made by wrk, which is not on this machine: apt-get install wrk.')
  await checkConfiguration()
  const against = options.against === null ? null : checkOutCommit(options.against)
  if (against !== null) cleanups.push(() => against.remove())
  const selected = createSubjectSpecs({ ...options, against }).filter(({ id }) => options.only.includes(id))
  const plan = planRun({ ...options, subjects: selected.length })
  // Two starts of one program differ by some percent for as long as they run, and the first program to start is at a disadvantage.
  const parts = plan.together ? [...selected, ...selected.toReversed()] : selected
  print(`${parts.map(({ name }) => name).join(' · ')}`)
  print(`${plan.rounds} rounds, ${Math.ceil(plan.totalSeconds / 6) / 10} minutes in all`)

  const pids = new Set<number>()
  const machine = new Machine(() => [...pids].reduce((sum, pid) => sum + sumThreadCpu(readThreadCpu(pid)) / 1e6, 0))
  await requireIdleMachine(machine)
  const dispatcher = new Agent({ connections: 64, pipelining: 1 })
  cleanups.push(() => dispatcher.destroy())
  const upstream = await startUpstream()
  cleanups.push(() => upstream.stop())
  pids.add(upstream.pid)

  const measuring = new BenchRunner(plan, machine, dispatcher)
  const subjects: Subject[] = []
  const before = new Map<Subject, { readonly books: StorageCounters; readonly asked: number }>()
  const warmUp = async (subject: Subject): Promise<void> => {
    showProgress(`warming up ${subject.name}`)
    const cold = await measuring.warmUp(subject)
    // Programs that are not equally warm differ by half, round after round.
    if (cold !== null && plan.together)
      throw new MachineBusyError(`${cold}: too few to compare it. --warm-seconds gives it longer.`)
    if (cold !== null) print(`${cold}: V8 may still be compiling. --warm-seconds gives it longer.`)
    const books = await readStorageCounters(subject)
    if (books !== undefined) before.set(subject, { books, asked: measuring.getTurnsSent(subject) })
  }
  for (const part of parts) {
    const subject = await startSubject(part, { url: new URL(upstream.url).origin, pid: upstream.pid })
    if (subject === null) continue
    pids.add(subject.pid)
    subjects.push(subject)
    if (!plan.together) await warmUp(subject)
  }
  if (plan.together) await Promise.all(subjects.map(warmUp))

  const samples: Sample[] = []
  const all = plan.rounds * subjects.length * (plan.shapes.length * plan.clients.length + (plan.rate > 0 ? 1 : 0))
  for await (const sample of measuring.runRounds(subjects, options.anyway)) {
    samples.push(sample)
    showProgress(`${samples.length} of ${all}: ${sample.subject}`)
  }
  const storage: Record<string, StorageCostPerTurn> = {}
  for (const [subject, { books: first, asked }] of before) {
    const last = await readStorageCounters(subject)
    if (last !== undefined) storage[subject.name] = toCostPerTurn(first, last, measuring.getTurnsSent(subject) - asked)
  }
  const names = [...new Set(subjects.map(({ name }) => name))]
  writeReport({
    at: new Date().toISOString().slice(0, 10),
    commit: describeCommit(),
    args: process.argv.slice(2),
    machine: `${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown'}, Linux ${release()}, Node ${process.version.slice(1)}`,
    rounds: plan.rounds,
    speed: computeSpread(samples.map(({ machineLoad }) => machineLoad.speed)),
    subjects: names,
    pairs: getComparedPairs(names, against?.commit),
    storage,
    samples,
  })
}

function parseArguments(words: readonly string[]): Options {
  try {
    return parseOptions(words)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(1)
  }
}

/** A benchmark of any other than the shipped configuration would measure a gateway that is not in use. */
async function checkConfiguration(): Promise<void> {
  const stray = findStrayDifferences(
    await loadConfig(join(root, 'gateway.config.ts')),
    await loadConfig(join(root, 'bench/gateway.config.ts')),
  )
  if (stray.length > 0) throw new BenchError(`bench/gateway.config.ts changes more than quotas: ${stray.join(', ')}`)
}

async function requireIdleMachine(machine: Machine): Promise<void> {
  const why = describeOverload(await machine.measure())
  if (why === null) return
  if (!options.anyway)
    throw new MachineBusyError(
      `This machine is too busy to measure on: ${why}. --anyway measures all the same, and marks the figures.`,
    )
  print(`This machine is busy: ${why}. Figures that this touches are marked.`)
}

async function startSubject(
  part: SubjectSpec,
  upstream: { readonly url: string; readonly pid: number },
): Promise<Subject | null> {
  showProgress(`starting ${part.name}`)
  const starting = part.start(upstream)
  // An interrupt during the start leaves nothing running.
  cleanups.push(async () => (await starting.catch(() => null))?.stop())
  const subject = await starting
  if (subject === null) {
    print(`${part.name} is not on this machine and is left out (nginx: apt-get install nginx-light).`)
    return null
  }
  const why = await describeWrongAnswer(subject)
  if (why !== null) throw new BenchError(why)
  return subject
}

/** This checkout's gateway with each of its variants and with the other commit's, for the same number of accounts. */
function getComparedPairs(names: readonly string[], commit: string | undefined): (readonly [string, string])[] {
  const others = [
    ...options.variants.map((variant) => `${gatewayName} with ${variant}`),
    ...(commit === undefined ? [] : [`${gatewayName} at ${commit}`]),
  ]
  const formats = translatedFormats.map(({ name }) => [name, gatewayName] as const)
  return options.accounts
    .flatMap((count) => others.map((other) => [toSubjectName(gatewayName, count), toSubjectName(other, count)] as const))
    .concat(formats)
    .filter((pair) => pair.every((name) => names.includes(name)))
}

function writeReport(run: Run): void {
  const folder = join(root, 'bench/results')
  mkdirSync(folder, { recursive: true })
  const markdown = renderMarkdown(run)
  writeFileSync(join(folder, 'latest.json'), JSON.stringify(run))
  writeFileSync(join(folder, 'latest.md'), markdown)
  writeFileSync(join(folder, 'latest.svg'), renderChart(run))
  showProgress('')
  process.stdout.write(`\n${markdown}\n`)
  print('This table, a picture and every measurement: bench/results/latest.{md,svg,json}')
}

async function exit(code: number): Promise<never> {
  for (const close of cleanups.splice(0).toReversed()) await close()
  process.exit(code)
}

function print(line: string): void {
  showProgress('')
  process.stderr.write(`${line}\n`)
}

/** One line that is overwritten, on a terminal only. */
function showProgress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${line}`)
}
