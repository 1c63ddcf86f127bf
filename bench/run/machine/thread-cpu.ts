/** The CPU time of a program's threads, from /proc (Linux). */
import { readdirSync, readFileSync } from 'node:fs'

/** In the order of display. `workers` are the program's own threads: the ledger's writer in this gateway. */
export const threadGroups = ['main', 'workers', 'V8', 'libuv', 'other'] as const
export type ThreadGroup = (typeof threadGroups)[number]

/** Microseconds of CPU time. */
export type ThreadCpu = Readonly<Record<ThreadGroup, number>>

export const zeroThreadCpu: ThreadCpu = { main: 0, workers: 0, V8: 0, libuv: 0, other: 0 }

/** Of a process and all its children. The time of an ended thread is lost. */
export function readThreadCpu(pid: number): ThreadCpu {
  const used = { ...zeroThreadCpu }
  for (const each of listProcessTree(pid)) {
    for (const thread of listThreads(each)) {
      const folder = `/proc/${each}/task/${thread}`
      const [name, schedule] = [readIfPresent(`${folder}/comm`), readIfPresent(`${folder}/schedstat`)]
      used[toThreadGroup(name.trim(), thread === String(each))] += Number(schedule.split(' ')[0]) / 1_000
    }
  }
  return used
}

/** By the name that Node gives its threads; of another program, the first thread is `main` and all others `other`. */
export function toThreadGroup(name: string, isFirst: boolean): ThreadGroup {
  if (isFirst) return 'main'
  if (name.endsWith('V8Worker')) return 'V8'
  if (name === 'libuv-worker') return 'libuv'
  return name === 'WorkerThread' ? 'workers' : 'other'
}

export function subtractThreadCpu(before: ThreadCpu, after: ThreadCpu): ThreadCpu {
  return mapThreadGroups((group) => after[group] - before[group])
}

export function sumThreadCpu(used: ThreadCpu): number {
  return threadGroups.reduce((sum, group) => sum + used[group], 0)
}

export function mapThreadGroups(value: (group: ThreadGroup) => number): ThreadCpu {
  return Object.fromEntries(threadGroups.map((group) => [group, value(group)])) as Record<ThreadGroup, number>
}

/** The process and all processes that it or they have started. */
export function listProcessTree(pid: number): number[] {
  const children = listThreads(pid).flatMap((thread) =>
    readIfPresent(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean),
  )
  return [pid, ...children.flatMap((child) => listProcessTree(Number(child)))]
}

function listThreads(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

/** Empty if it has just ended. */
function readIfPresent(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
