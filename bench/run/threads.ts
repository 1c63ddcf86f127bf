/** What the threads of a program have taken of the processor, from /proc (Linux). */
import { readdirSync, readFileSync } from 'node:fs'

/** As they are shown, in this order. `workers` are the program's own: the ledger's writer, in ours. */
export const threadGroups = ['main', 'workers', 'V8', 'libuv', 'other'] as const
export type ThreadGroup = (typeof threadGroups)[number]

/** Microseconds of processor time. */
export type Used = Readonly<Record<ThreadGroup, number>>

export const nothingUsed: Used = { main: 0, workers: 0, V8: 0, libuv: 0, other: 0 }

/** Of a process and all that it has started. A thread that has ended has taken its time with it. */
export function usedBy(pid: number): Used {
  const used = { ...nothingUsed }
  for (const each of treeOf(pid)) {
    for (const thread of threadsOf(each)) {
      const folder = `/proc/${each}/task/${thread}`
      const [name, schedule] = [read(`${folder}/comm`), read(`${folder}/schedstat`)]
      used[groupOf(name.trim(), thread === String(each))] += Number(schedule.split(' ')[0]) / 1_000
    }
  }
  return used
}

/** By the name that Node gives its threads; of another program, the thread that it began with is `main` and all others `other`. */
export function groupOf(name: string, isFirst: boolean): ThreadGroup {
  if (isFirst) return 'main'
  if (name.endsWith('V8Worker')) return 'V8'
  if (name === 'libuv-worker') return 'libuv'
  return name === 'WorkerThread' ? 'workers' : 'other'
}

export function between(before: Used, after: Used): Used {
  return mapUsed((group) => after[group] - before[group])
}

export function sumOf(used: Used): number {
  return threadGroups.reduce((sum, group) => sum + used[group], 0)
}

export function mapUsed(value: (group: ThreadGroup) => number): Used {
  return Object.fromEntries(threadGroups.map((group) => [group, value(group)])) as Record<ThreadGroup, number>
}

function treeOf(pid: number): number[] {
  const children = threadsOf(pid).flatMap((thread) => read(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean))
  return [pid, ...children.flatMap((child) => treeOf(Number(child)))]
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

/** Empty where it has just ended. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
