/** How long what takes: rounds are as many as fit into the time that there is, so that a run is never longer than it said. */
import { Refused } from './refused.ts'
import type { Shape } from './subject.ts'

export interface Wish {
  readonly subjects: number
  readonly shapes: readonly Shape[]
  readonly clients: readonly number[]
  /** Turns a second of the open loop; 0 leaves it out. */
  readonly rate: number
  /** Of one measurement. */
  readonly seconds: number
  /** Turns of each shape before the first measurement, of each subject: V8 goes on compiling for so many, however long they take. */
  readonly warmTurns: number
  /** Not longer than this for all of them. */
  readonly warmSeconds: number
  readonly minutes: number
}

export interface Plan extends Wish {
  readonly rounds: number
  /** Of one measurement of the open loop: its percentiles need more turns. */
  readonly openSeconds: number
  readonly totalSeconds: number
}

/** A program to start, a key for each account, and a look at whether it answers as it must. */
const startSeconds = 3
/** Around each measurement: the calibration loop, what is still on its way, starting the load. */
const aroundSeconds = 0.5
/** With fewer, one that was disturbed decides. */
const leastRounds = 3

/** @throws where the time is too short for it */
export function planOf(wish: Wish): Plan {
  const { subjects, shapes, clients, rate, seconds, warmSeconds, minutes } = wish
  const openSeconds = rate > 0 ? seconds * 1.5 : 0
  const once = subjects * (startSeconds + warmSeconds)
  const open = rate > 0 ? openSeconds + aroundSeconds : 0
  const round = subjects * (shapes.length * clients.length * (seconds + aroundSeconds) + open)
  const rounds = Math.floor((minutes * 60 - once) / round)
  if (rounds < leastRounds) {
    const needed = Math.ceil(((once + leastRounds * round) / 60) * 10) / 10
    throw new Refused(
      `${leastRounds} rounds of all that need ${needed} minutes: give it --minutes ${needed}, or fewer --only, --clients, --shapes or --seconds.`,
    )
  }
  return { ...wish, rounds, openSeconds, totalSeconds: once + rounds * round }
}

/** Who is first in one round is last in the next: a machine that grows slower all along is slower for everybody. */
export function inRound<Item>(items: readonly Item[], round: number): readonly Item[] {
  return round % 2 === 0 ? items : items.toReversed()
}
