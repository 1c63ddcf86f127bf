/**
 * Whether this machine can be measured on now: what everybody else takes of it, what its host takes away, and how long a fixed piece of
 * work waits for the processor (Linux).
 */
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'

export interface Look {
  /** Of all cores together, 0 to 1: taken by programs that are not of this run, and by the host of a virtual machine. */
  readonly others: number
  readonly stolen: number
  /** Time on the clock for each unit of processor time of the calibration loop: 1 where it never waits. */
  readonly waited: number
  /** Millions of the loop's steps in a second of processor time. */
  readonly speed: number
}

/** Beyond these a figure says more about the neighbours than about the program. */
export const limits = { others: 0.06, stolen: 0.05, waited: 1.25 } as const

/** A sentence where it is too busy; null where it is not. */
export function whyTooBusy({ others, stolen, waited }: Look): string | null {
  const percent = (share: number): string => `${(share * 100).toFixed(0)} %`
  const seen = [
    ...(others > limits.others ? [`other programs take ${percent(others)} of it (at most ${percent(limits.others)})`] : []),
    ...(stolen > limits.stolen ? [`its host takes ${percent(stolen)} of it (at most ${percent(limits.stolen)})`] : []),
    ...(waited > limits.waited
      ? [`a fixed piece of work takes ${waited.toFixed(2)} times its processor time (at most ${limits.waited.toFixed(2)})`]
      : []),
  ]
  return seen.length === 0 ? null : seen.join(', ')
}

/** A moment, from which a share is told later. */
export interface Moment {
  readonly at: number
  readonly idle: number
  readonly stolen: number
  readonly ours: number
}

export class Machine {
  readonly #ours: () => number

  /** `ours` are the processor seconds of all programs of this run but this one. */
  constructor(ours: () => number) {
    this.#ours = ours
  }

  now(): Moment {
    // Idle time is exact, where busy time is sampled.
    const [, , , idle = 0, waiting = 0, , , stolen = 0] =
      readFileSync('/proc/stat', 'utf8')
        .split('\n', 1)[0]
        ?.replace(/^cpu +/, '')
        .split(' ')
        .map(Number) ?? []
    return { at: performance.now(), idle: (idle + waiting) / 100, stolen: stolen / 100, ours: this.#ours() + ownSeconds() }
  }

  /** What others and the host have taken since. */
  since(from: Moment): Pick<Look, 'others' | 'stolen'> {
    const to = this.now()
    const all = ((to.at - from.at) / 1_000) * availableParallelism()
    const stolen = to.stolen - from.stolen
    const others = all - (to.idle - from.idle) - stolen - (to.ours - from.ours)
    return { others: Math.max(0, others / all), stolen: Math.max(0, stolen / all) }
  }

  /** Looks for a second. */
  async look(): Promise<Look> {
    const from = this.now()
    await pause(1_000)
    return { ...this.since(from), ...calibrate() }
  }
}

/**
 * Some 60 ms of work that is always the same: the kernel tells a running thread's time by its tick, of up to 4 ms. Before that a little of
 * it, because V8 throws code away that was not called for a while.
 */
export function calibrate(): Pick<Look, 'waited' | 'speed'> {
  loop(5_000_000)
  return loop(50_000_000)
}

function loop(steps: number): Pick<Look, 'waited' | 'speed'> {
  const [began, before] = [performance.now(), process.threadCpuUsage()]
  let value = 1
  for (let step = 0; step < steps; step++) value = (Math.imul(value, 1_664_525) + 1_013_904_223) | 0
  const { user, system } = process.threadCpuUsage(before)
  const used = (user + system) / 1_000
  // The result is used, so that no compiler leaves the work out.
  const waited = value === 0 ? 1 : (performance.now() - began) / used
  return { waited: Math.max(1, waited), speed: steps / used / 1_000 }
}

/** Of this process and of those it has waited for, such as wrk. */
function ownSeconds(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
  // utime, stime, cutime and cstime of proc(5).
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) / 100
}
