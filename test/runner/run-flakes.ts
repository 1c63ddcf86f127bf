/**
 * `npm run test:flakes -- [--rounds=10] [--seed=N] [FILES]`: how often tests fail for no fault of the product. Runs the system part, or the
 * named files, in random order with half the processor, while everything that it starts stands still now and then. Each result is a line in
 * `.tap/flakes.jsonl`: commit, test file, seed, result, time, longest pause.
 */
import { execFileSync, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { appendFileSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createRandom } from '../simulated/random.ts'
import { writeProcessFiles } from './process-files.ts'

const root = join(import.meta.dirname, '../..')
const resultFile = join(root, '.tap/flakes.jsonl')
const [minPauseMs, maxPauseMs] = [500, 4_000]
const [minIntervalMs, maxIntervalMs] = [3_000, 20_000]
/** Of files that run. */
const maxFailureRate = 1 / 1_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '10' }, seed: { type: 'string', default: String(randomInt(2 ** 31)) } },
})
const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
const files = positionals.length > 0 ? positionals : globSync('test/system/**/*.test.ts', { cwd: root }).toSorted()
const failures: string[] = []
let count = 0
for (let round = 0; round < Number(values.rounds); round++) await runRound(Number(values.seed) + round)
console.log(`${failures.length} of ${count} files failed, from seed ${values.seed}; ${resultFile} has each result`)
for (const failure of failures) console.log(failure)
process.exitCode = failures.length > count * maxFailureRate ? 1 : 0

async function runRound(seed: number): Promise<void> {
  const random = createRandom(seed)
  const shuffle = <T>(items: readonly T[]): readonly T[] =>
    items
      .map((item) => ({ item, key: random.number() }))
      .toSorted((one, other) => one.key - other.key)
      .map(({ item }) => item)
  const half = Math.max(1, Math.floor(availableParallelism() / 2))
  const tap = spawn('taskset', ['--cpu-list', `0-${half - 1}`, 'tap', '--reporter=tap', ...writeProcessFiles(files, shuffle)], {
    cwd: root,
    env: { ...process.env, CI: 'true', NODE_OPTIONS: JSON.stringify(`--import=${join(import.meta.dirname, 'preload.js')}`) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = new Promise((resolve) => tap.on('exit', resolve))
  const isOver = exited.then(() => true)
  let longestPauseMs = 0
  const pausing = (async () => {
    const between = () => minIntervalMs + random.below(maxIntervalMs - minIntervalMs)
    while (!(await Promise.race([isOver, wait(between()).then(() => false)]))) {
      const ms = minPauseMs + random.below(maxPauseMs - minPauseMs)
      await pauseDescendants(tap.pid ?? 0, ms)
      longestPauseMs = Math.max(longestPauseMs, ms)
    }
  })()
  let failedTests: string[] = []
  let failedFiles = 0
  for await (const line of createInterface({ input: tap.stdout })) {
    const failed = /^\s{8,}not ok \d+ - (.*)/.exec(line)?.[1]
    if (failed !== undefined) failedTests.push(failed)
    const [, hasFailed, processFile] = /^(not )?ok \d+ - (\.tap\/processes\/\S+)/.exec(line) ?? []
    if (processFile !== undefined) {
      // A process that ended early has files without a result.
      if (hasFailed !== undefined && failedFiles === 0) failures.push(`seed ${seed}: ${processFile} ended before its files`)
      failedFiles = 0
    }
    const [, not, file, ms] = /^ {4}(not )?ok \d+ - (test\/\S+\.test\.ts) # time=([\d.]+)ms/.exec(line) ?? []
    if (file === undefined) continue
    count++
    const result = not === undefined ? 'passed' : 'failed'
    const record = { commit, test: file, seed, result, ms: Math.round(Number(ms)), longestPauseMs, failedTests }
    appendFileSync(resultFile, `${JSON.stringify(record)}\n`)
    if (result === 'failed') {
      failedFiles++
      failures.push(`seed ${seed}: ${file}: ${failedTests.join('; ')}`)
    }
    failedTests = []
  }
  await exited
  await pausing
}

/** Stops all that tap has started. What a test has stopped itself stays as it is. */
async function pauseDescendants(pid: number, ms: number): Promise<void> {
  const paused = listDescendants(pid).filter(({ isStopped }) => !isStopped)
  for (const { pid } of paused) signal(pid, 'SIGSTOP')
  await wait(ms)
  for (const { pid } of paused) signal(pid, 'SIGCONT')
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended.
  }
}

interface Descendant {
  readonly pid: number
  readonly isStopped: boolean
}

function listDescendants(ancestor: number): readonly Descendant[] {
  const processes = readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const [, state, parent] = /^\d+ \(.*\) (\S) (\d+)/s.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? []
      return [{ pid: Number(name), parent: Number(parent), isStopped: state === 'T' }]
    } catch {
      return []
    }
  })
  const descendants: Descendant[] = []
  const pending = [ancestor]
  for (let parent = pending.pop(); parent !== undefined; parent = pending.pop())
    for (const child of processes)
      if (child.parent === parent) {
        descendants.push(child)
        pending.push(child.pid)
      }
  return descendants
}
