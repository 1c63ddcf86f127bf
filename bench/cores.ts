/**
 * Measures serving threads: turns a second, CPU time, memory, and how many ledger operations share a commit (Linux, needs wrk):
 * `node bench/cores.ts [--threads 1,2,4,6] [--seconds 10] [--clients 256] [--accounts 2000] [--warm-turns 25000] [--shapes whole,streamed]`.
 *
 * The shipped configuration with so many serving threads, beside bare http-proxy-3 from as many processes. Each thread is warmed for as many
 * turns as V8 compiles for. On four cores and more the load and the upstream have cores of their own; on fewer they take turns a second
 * from the program, and only the other figures say something about it.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { readPeakResidentKib, resetPeakResident, startBareProxy, startStaticUpstream } from './support/processes.ts'
import { runClosedLoop } from './run/load/closed-loop.ts'
import { listProcessTree, readThreadCpu, subtractThreadCpu, sumThreadCpu } from './run/machine/thread-cpu.ts'
import type { ThreadCpu } from './run/machine/thread-cpu.ts'
import { createProxySubject, gatewayName, referenceName, startGatewaySubject } from './run/subjects/subjects.ts'
import { shapeNames, shapes as allShapes } from './run/subjects/subject.ts'
import type { Shape, Subject } from './run/subjects/subject.ts'

const { values } = parseArgs({
  options: {
    threads: { type: 'string', default: '1,2,4,6' },
    seconds: { type: 'string', default: '10' },
    clients: { type: 'string', default: '256' },
    accounts: { type: 'string', default: '2000' },
    'warm-turns': { type: 'string', default: '25000' },
    shapes: { type: 'string', default: 'whole,streamed' },
  },
})
if (spawnSync('wrk', ['-v']).error !== undefined) throw new Error('The load is made by wrk: apt-get install wrk.')
const threadCounts = values.threads.split(',').map(Number)
const [seconds, clients, accounts] = [Number(values.seconds), Number(values.clients), Number(values.accounts)]
const warmTurns = Number(values['warm-turns'])
const shapes = allShapes.filter((shape) => values.shapes.split(',').includes(shape))
/** Turns that are sent for so long are counted, until they are enough. */
const warmSliceSeconds = 5

/** Five of eight cores are the program's, the others the load's and the upstream's; null where there are too few. */
const cores = availableParallelism()
const programCores = cores < 4 ? null : Math.floor(cores * 0.625)
const loadThreads = programCores === null ? 1 : Math.max(1, Math.floor((cores - programCores) / 2))
const programList = programCores === null ? null : `0-${programCores - 1}`
const loadList = programCores === null ? null : `${programCores}-${cores - 1}`

/** What this process starts from now on runs on these cores, and sees their number. */
function pinStarts(list: string | null): void {
  if (list !== null) execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', list, String(process.pid)])
}

interface CommitCounts {
  readonly commits: number
  readonly operations: number
}

async function readCommitCounts({ own }: Subject): Promise<CommitCounts | null> {
  if (own === undefined) return null
  const text = await (await fetch(own.metrics)).text()
  const read = (name: string): number => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1] ?? Number.NaN)
  return { commits: read('svc_ledger_commits_total'), operations: read('svc_ledger_operations_total') }
}

async function warm(subject: Subject, shape: Shape, turns: number): Promise<void> {
  for (let sent = 0; sent < turns;) {
    const load = await runClosedLoop(subject, shape, clients, warmSliceSeconds, sent, { threads: loadThreads, mayStarve: true })
    if (load.failed > 0) throw new Error(`${subject.name}: ${load.failed} of ${load.turns} turns failed`)
    sent += load.turns
  }
}

async function measure(subject: Subject, shape: Shape): Promise<string> {
  resetPeakResident(subject.pid)
  const [cpuBefore, countsBefore] = [readThreadCpu(subject.pid), await readCommitCounts(subject)]
  const load = await runClosedLoop(subject, shape, clients, seconds, 0, { threads: loadThreads })
  const [used, counts] = [subtractThreadCpu(cpuBefore, readThreadCpu(subject.pid)), await readCommitCounts(subject)]
  if (load.failed > 0) throw new Error(`${subject.name}: ${load.failed} of ${load.turns} turns failed`)
  const resident = listProcessTree(subject.pid).reduce((sum, pid) => sum + readPeakResidentKib(pid), 0)
  const perCommit =
    counts === null || countsBefore === null
      ? '–'
      : ((counts.operations - countsBefore.operations) / (counts.commits - countsBefore.commits)).toFixed(1)
  return toRow([
    subject.name,
    (load.turns / load.seconds).toFixed(0),
    (sumThreadCpu(used) / load.turns).toFixed(0),
    ...(['main', 'workers', 'V8'] as const satisfies readonly (keyof ThreadCpu)[]).map((group) =>
      (used[group] / load.turns).toFixed(0),
    ),
    perCommit,
    (resident / 1024).toFixed(0),
  ])
}

function toRow(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |\n`
}

const columns = ['', 'turns/s', 'CPU µs a turn', 'main', 'workers', 'V8', 'ledger operations a commit', 'peak MiB'] as const
process.stdout.write(
  programList === null
    ? `${cores} cores, which the load and the upstream share with the program\n`
    : `the program on cores ${programList} of ${cores}, the load and the upstream on ${loadList}\n`,
)
pinStarts(loadList)
const upstream = await startStaticUpstream(loadThreads)
try {
  for (const shape of shapes) {
    process.stdout.write(`\n${shapeNames[shape]}, ${clients} clients, ${accounts} accounts\n\n`)
    process.stdout.write(toRow(columns) + toRow(columns.map(() => '---')))
    for (const threads of threadCounts)
      for (const start of [
        async () => createProxySubject(`${referenceName} × ${threads}`, await startBareProxy(upstream.url, threads)),
        () =>
          startGatewaySubject(`${gatewayName}, WORKERS=${threads}`, upstream.url, accounts, {
            env: { WORKERS: String(threads) },
          }),
      ]) {
        pinStarts(programList)
        const subject = await start()
        pinStarts(loadList)
        if (subject === null) throw new Error('bare http-proxy-3 does not start')
        try {
          await warm(subject, shape, warmTurns * threads)
          process.stdout.write(await measure(subject, shape))
        } finally {
          await subject.stop()
        }
      }
  }
} finally {
  await upstream.stop()
}
