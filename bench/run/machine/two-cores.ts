/**
 * Gives a program two cores without its load (Linux). On four or more cores two are set apart. On fewer, each
 * of the program's threads gets at most half a core and all of them together one, which equals two cores of half the speed;
 * that needs root and the first version of the kernel's control groups.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

export interface TwoCores {
  /** The method in use, for display. */
  readonly description: string
  /** Applies to all threads that the program has by now. */
  assign(pid: number): void
  /** Removes the setup after the programs have ended. */
  close(): void
}

const controller = '/sys/fs/cgroup/cpu'
/** Period of the CPU quota; short, so that a process that has used its quota does not wait long. */
const periodMicros = 10_000

/** @throws with a sentence if it is impossible */
export function reserveTwoCores(): TwoCores {
  const cores = availableParallelism()
  if (cores >= 4) return pinCores(cores)
  const top = join(controller, `svc-bench-${process.pid}`)
  try {
    mkdirSync(top)
    return limitByCgroup(top)
  } catch (error) {
    throw new Error(`Two cores for the gateway beside its load need four, or root and ${controller}.`, { cause: error })
  }
}

function pinCores(cores: number): TwoCores {
  const pin = (pid: number, to: string): void =>
    void execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', to, String(pid)])
  // Programs started from here on inherit it.
  pin(process.pid, `2-${cores - 1}`)
  return { description: `two of ${cores} cores`, assign: (pid) => pin(pid, '0,1'), close: () => undefined }
}

function limitByCgroup(top: string): TwoCores {
  const folders: string[] = []
  const group = (folder: string, cores: number): string => {
    if (!existsSync(folder)) mkdirSync(folder)
    folders.push(folder)
    writeFileSync(join(folder, 'cpu.cfs_period_us'), String(periodMicros))
    writeFileSync(join(folder, 'cpu.cfs_quota_us'), String(periodMicros * cores))
    return folder
  }
  group(top, 1)
  return {
    description: 'half a core at most for each thread, one for all',
    assign(pid) {
      const all = group(join(top, String(pid)), 1)
      for (const thread of readdirSync(`/proc/${pid}/task`)) writeFileSync(join(group(join(all, thread), 0.5), 'tasks'), thread)
    },
    close() {
      for (const folder of new Set(folders.toReversed())) rmdirSync(folder)
    },
  }
}
