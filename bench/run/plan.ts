/** The duration of each step: as many rounds as fit into the given time, so that a run is never longer than announced. */
import { BenchError } from './errors.ts'
import type { Shape } from './subjects/subject.ts'

export interface RunRequest {
  readonly subjects: number
  readonly shapes: readonly Shape[]
  readonly clients: readonly number[]
  /** Turns per second of the open loop; 0 omits it. */
  readonly rate: number
  /** Seconds of one measurement. */
  readonly seconds: number
  /** Turns of each shape per subject before the first measurement, because V8 keeps compiling for so many turns. */
  readonly warmTurns: number
  /** The longest warm-up of all of them. */
  readonly warmSeconds: number
  readonly minutes: number
  /** All subjects are started twice, and are under load at once instead of one after the other. */
  readonly together: boolean
}

export interface RunPlan extends RunRequest {
  readonly rounds: number
  /** Seconds of one measurement of the open loop, whose percentiles need more turns. */
  readonly openSeconds: number
  readonly totalSeconds: number
}

/** Time to start a program, to create a key for each account, and to check its answer. */
const startSeconds = 3
/** Time around each measurement: the calibration loop, turns in flight, the start of the load. */
const overheadSeconds = 0.5
/** With fewer rounds a single disturbed one decides. */
const minRounds = 3

/** @throws if the time is too short */
export function planRun(request: RunRequest): RunPlan {
  const { subjects, shapes, clients, rate, seconds, warmSeconds, minutes, together } = request
  const turnsTaken = together ? 1 : subjects
  const openSeconds = rate > 0 ? seconds * 1.5 : 0
  const once = subjects * (together ? 2 : 1) * startSeconds + turnsTaken * warmSeconds
  const open = rate > 0 ? openSeconds + overheadSeconds : 0
  const round = turnsTaken * shapes.length * clients.length * (seconds + overheadSeconds) + subjects * open
  const rounds = Math.floor((minutes * 60 - once) / round)
  if (rounds < minRounds) {
    const needed = Math.ceil(((once + minRounds * round) / 60) * 10) / 10
    throw new BenchError(
      `${minRounds} rounds of all that need ${needed} minutes: give it --minutes ${needed}, or fewer --only, --clients, --shapes or --seconds.`,
    )
  }
  return { ...request, rounds, openSeconds, totalSeconds: once + rounds * round }
}

/** The first subject of one round is the last of the next, so that a machine that slows down affects all of them equally. */
export function orderForRound<Item>(items: readonly Item[], round: number): readonly Item[] {
  return round % 2 === 0 ? items : items.toReversed()
}
