/**
 * Checks whether this machine is quiet enough to measure: the CPU share of other programs and of the host, and how long a fixed piece of
 * work waits for the CPU (Linux).
 */
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'

export interface MachineLoad {
  /** Shares of all cores, 0 to 1: of programs outside this run, and of the host of a virtual machine. */
  readonly others: number
  readonly stolen: number
  /** Elapsed time per CPU time of the calibration loop: 1 if it never waits. */
  readonly waited: number
  /** Millions of the loop's steps per second of CPU time. */
  readonly speed: number
}

/** Beyond these limits a figure depends more on other programs than on the measured one. */
export const maxLoad = { others: 0.06, stolen: 0.05, waited: 1.25 } as const

/** A sentence if it is too busy, otherwise null. */
export function describeOverload({ others, stolen, waited }: MachineLoad): string | null {
  const percent = (share: number): string => `${(share * 100).toFixed(0)} %`
  const seen = [
    ...(others > maxLoad.others ? [`other programs take ${percent(others)} of it (at most ${percent(maxLoad.others)})`] : []),
    ...(stolen > maxLoad.stolen ? [`its host takes ${percent(stolen)} of it (at most ${percent(maxLoad.stolen)})`] : []),
    ...(waited > maxLoad.waited
      ? [`a fixed piece of work takes ${waited.toFixed(2)} times its processor time (at most ${maxLoad.waited.toFixed(2)})`]
      : []),
  ]
  return seen.length === 0 ? null : seen.join(', ')
}

/** The start of an interval whose shares are computed later. */
export interface CpuSnapshot {
  readonly at: number
  readonly idle: number
  readonly stolen: number
  readonly ours: number
}

export class Machine {
  readonly #readProgramSeconds: () => number

  /** `ours` are the CPU seconds of all programs of this run except this one. */
  constructor(ours: () => number) {
    this.#readProgramSeconds = ours
  }

  snapshot(): CpuSnapshot {
    // Idle time is exact, while busy time is sampled.
    const [, , , idle = 0, waiting = 0, , , stolen = 0] =
      readFileSync('/proc/stat', 'utf8')
        .split('\n', 1)[0]
        ?.replace(/^cpu +/, '')
        .split(' ')
        .map(Number) ?? []
    return {
      at: performance.now(),
      idle: (idle + waiting) / 100,
      stolen: stolen / 100,
      ours: this.#readProgramSeconds() + readOwnCpuSeconds(),
    }
  }

  /** The shares of other programs and the host since the start. */
  loadSince(from: CpuSnapshot): Pick<MachineLoad, 'others' | 'stolen'> {
    const to = this.snapshot()
    const all = ((to.at - from.at) / 1_000) * availableParallelism()
    const stolen = to.stolen - from.stolen
    const others = all - (to.idle - from.idle) - stolen - (to.ours - from.ours)
    return { others: Math.max(0, others / all), stolen: Math.max(0, stolen / all) }
  }

  /** Observes for a second. */
  async measure(): Promise<MachineLoad> {
    const from = this.snapshot()
    await pause(1_000)
    return { ...this.loadSince(from), ...calibrate() }
  }
}

/**
 * About 60 ms of constant work, because the kernel reports a running thread's time in ticks of up to 4 ms. A short run of it comes first,
 * because V8 discards code that was not called for a while.
 */
export function calibrate(): Pick<MachineLoad, 'waited' | 'speed'> {
  runCalibrationLoop(5_000_000)
  return runCalibrationLoop(50_000_000)
}

function runCalibrationLoop(steps: number): Pick<MachineLoad, 'waited' | 'speed'> {
  const [began, before] = [performance.now(), process.threadCpuUsage()]
  let value = 1
  for (let step = 0; step < steps; step++) value = (Math.imul(value, 1_664_525) + 1_013_904_223) | 0
  const { user, system } = process.threadCpuUsage(before)
  const used = (user + system) / 1_000
  // The result is used, so that the compiler does not remove the work.
  const waited = value === 0 ? 1 : (performance.now() - began) / used
  return { waited: Math.max(1, waited), speed: steps / used / 1_000 }
}

/** CPU time of this process and of the children that it has waited for, such as wrk. */
function readOwnCpuSeconds(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
  // utime, stime, cutime and cstime of proc(5).
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) / 100
}
