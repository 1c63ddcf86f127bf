/** Takes the measurements: round by round, in each of them everybody once. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Dispatcher } from 'undici'
import { closedLoop } from './closed-loop.ts'
import { calibrate, whyTooBusy } from './machine.ts'
import type { Look, Machine } from './machine.ts'
import { openLoop } from './open-loop.ts'
import { inRound } from './plan.ts'
import type { Plan } from './plan.ts'
import { TooBusy } from './refused.ts'
import type { Shape, Subject } from './subject.ts'
import { between, usedBy } from './threads.ts'
import type { Used } from './threads.ts'

interface Taken {
  readonly subject: string
  readonly round: number
  readonly failed: number
  readonly look: Look
  /** What was seen of the machine beside it; null where it was quiet. */
  readonly disturbed: string | null
}

export interface ClosedSample extends Taken {
  readonly kind: 'closed'
  readonly shape: Shape
  readonly clients: number
  readonly turns: number
  readonly seconds: number
  /** Of all turns together, in microseconds. */
  readonly cpu: Used
}

export interface OpenSample extends Taken {
  readonly kind: 'open'
  readonly rate: number
  /** Milliseconds from when each was to leave. */
  readonly answered: readonly number[]
  readonly late: readonly number[]
}

export type Sample = ClosedSample | OpenSample

/** Connections that were left by the load's end are still being ended for so long. */
const afterMs = 150

/** Between looks at how many turns there have been. */
const warmSliceSeconds = 2

export class Measuring {
  readonly #plan: Plan
  readonly #machine: Machine
  readonly #dispatcher: Dispatcher
  /** How many turns each has been asked. */
  readonly #asked = new Map<Subject, number>()

  constructor(plan: Plan, machine: Machine, dispatcher: Dispatcher) {
    this.#plan = plan
    this.#machine = machine
    this.#dispatcher = dispatcher
  }

  askedOf(subject: Subject): number {
    return this.#asked.get(subject) ?? 0
  }

  /** Compiled, connected, and every account known: what has run for a while is what is measured. Why it is not warm, or null. */
  async warm(subject: Subject): Promise<string | null> {
    const { shapes, warmTurns, warmSeconds, clients } = this.#plan
    const short: string[] = []
    for (const shape of shapes) {
      let [turns, seconds] = [0, 0]
      while (turns < warmTurns && seconds < warmSeconds / shapes.length) {
        const load = await this.#load(subject, shape, Math.max(...clients), warmSliceSeconds)
        turns += load.turns
        seconds += warmSliceSeconds
      }
      if (turns < warmTurns) short.push(`${turns} turns ${shape}`)
    }
    for (let more = 0; more < 10 && this.askedOf(subject) < subject.keys.length; more++)
      await this.#load(subject, 'whole', Math.max(...clients), 2)
    if (this.#plan.rate > 0) await openLoop(subject, this.#plan.rate, 0.5, 0, this.#dispatcher)
    return short.length === 0 ? null : `${subject.name} has had ${short.join(', ')} in ${warmSeconds} s, and not ${warmTurns}`
  }

  /** One after another, each told when it has been taken. @throws TooBusy where a round was disturbed for the most part, unless `anyway` */
  async *rounds(subjects: readonly Subject[], anyway: boolean): AsyncGenerator<Sample> {
    const { rounds, shapes, clients, rate } = this.#plan
    for (let round = 0; round < rounds; round++) {
      const taken: Sample[] = []
      const take = async (sample: Promise<Sample>): Promise<Sample> => {
        taken.push(await sample)
        return sample
      }
      for (const shape of shapes) {
        for (const count of clients)
          for (const subject of inRound(subjects, round)) yield await take(this.#closed(subject, round, shape, count))
      }
      if (rate > 0) for (const subject of inRound(subjects, round)) yield await take(this.#open(subject, round))
      const disturbed = taken.flatMap(({ disturbed }) => disturbed ?? [])
      if (!anyway && disturbed.length > taken.length / 2)
        throw new TooBusy(`${disturbed.length} of ${taken.length} measurements of round ${round + 1}: ${disturbed.at(-1)}`)
    }
  }

  async #closed(subject: Subject, round: number, shape: Shape, clients: number): Promise<ClosedSample> {
    const loop = calibrate()
    const from = this.#machine.now()
    const before = usedBy(subject.pid)
    const load = await this.#load(subject, shape, clients, this.#plan.seconds)
    await pause(afterMs)
    const cpu = between(before, usedBy(subject.pid))
    const look = { ...this.#machine.since(from), ...loop }
    return { kind: 'closed', subject: subject.name, round, shape, clients, ...load, cpu, look, disturbed: whyTooBusy(look) }
  }

  async #open(subject: Subject, round: number): Promise<OpenSample> {
    const { rate, openSeconds } = this.#plan
    const loop = calibrate()
    const from = this.#machine.now()
    const asked = this.askedOf(subject)
    this.#asked.set(subject, asked + rate * openSeconds)
    const times = await openLoop(subject, rate, openSeconds, asked, this.#dispatcher)
    const look = { ...this.#machine.since(from), ...loop }
    return { kind: 'open', subject: subject.name, round, rate, ...times, look, disturbed: whyTooBusy(look) }
  }

  async #load(subject: Subject, shape: Shape, clients: number, seconds: number): ReturnType<typeof closedLoop> {
    const asked = this.askedOf(subject)
    const load = await closedLoop(subject, shape, clients, seconds, asked)
    this.#asked.set(subject, asked + load.turns)
    return load
  }
}
