/**
 * Two cores for a program, and none of them for its load (Linux). Where there are four or more, two are set apart. Where there are not, each
 * of the program's threads has half a core at most and all of them together one, which is what two cores of half the speed would give
 * them; that needs root and the first version of the kernel's control groups.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

export interface TwoCores {
  /** How it is done here, for people. */
  readonly how: string
  /** To a program with all the threads that it has by now. */
  give(pid: number): void
  /** Takes back what was set up, when the programs have ended. */
  close(): void
}

const controller = '/sys/fs/cgroup/cpu'
/** In which a share is used up and given anew: short, so that nobody who has used his up waits for long. */
const periodMicros = 10_000

/** @throws with a sentence where it cannot be done */
export function twoCores(): TwoCores {
  const cores = availableParallelism()
  if (cores >= 4) return setApart(cores)
  const top = join(controller, `svc-bench-${process.pid}`)
  try {
    mkdirSync(top)
    return shares(top)
  } catch (error) {
    throw new Error(`Two cores for the gateway beside its load need four, or root and ${controller}.`, { cause: error })
  }
}

function setApart(cores: number): TwoCores {
  const pin = (pid: number, to: string): void =>
    void execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', to, String(pid)])
  // Whatever is started from here on is there too.
  pin(process.pid, `2-${cores - 1}`)
  return { how: `two of ${cores} cores`, give: (pid) => pin(pid, '0,1'), close: () => undefined }
}

function shares(top: string): TwoCores {
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
    how: 'half a core at most for each thread, one for all',
    give(pid) {
      const all = group(join(top, String(pid)), 1)
      for (const thread of readdirSync(`/proc/${pid}/task`)) writeFileSync(join(group(join(all, thread), 0.5), 'tasks'), thread)
    },
    close() {
      for (const folder of new Set(folders.toReversed())) rmdirSync(folder)
    },
  }
}
