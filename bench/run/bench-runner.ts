/** Takes the measurements in rounds, each of which measures every subject once. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Dispatcher } from 'undici'
import { runClosedLoop } from './load/closed-loop.ts'
import { calibrate, describeOverload } from './machine/machine.ts'
import type { MachineLoad, Machine } from './machine/machine.ts'
import { runOpenLoop } from './load/open-loop.ts'
import { orderForRound } from './plan.ts'
import type { RunPlan } from './plan.ts'
import { MachineBusyError } from './errors.ts'
import type { Shape, Subject } from './subjects/subject.ts'
import { subtractThreadCpu, readThreadCpu } from './machine/thread-cpu.ts'
import type { ThreadCpu } from './machine/thread-cpu.ts'

interface BaseSample {
  readonly subject: string
  readonly round: number
  readonly failed: number
  readonly machineLoad: MachineLoad
  /** The disturbance of the machine; null if it was quiet. */
  readonly disturbance: string | null
}

export interface ClosedSample extends BaseSample {
  readonly kind: 'closed'
  readonly shape: Shape
  readonly clients: number
  readonly turns: number
  readonly seconds: number
  /** CPU time of all turns together, in microseconds. */
  readonly cpu: ThreadCpu
}

export interface OpenSample extends BaseSample {
  readonly kind: 'open'
  readonly rate: number
  /** Milliseconds from when each turn was due. */
  readonly latenciesMs: readonly number[]
  readonly sendDelaysMs: readonly number[]
}

export type Sample = ClosedSample | OpenSample

/** Time for connections that the load has left open to close. */
const settleMs = 150

/** Interval between counts of the turns. */
const warmSliceSeconds = 2

export class BenchRunner {
  readonly #plan: RunPlan
  readonly #machine: Machine
  readonly #dispatcher: Dispatcher
  /** Number of turns sent to each subject. */
  readonly #turnsSent = new Map<Subject, number>()

  constructor(plan: RunPlan, machine: Machine, dispatcher: Dispatcher) {
    this.#plan = plan
    this.#machine = machine
    this.#dispatcher = dispatcher
  }

  getTurnsSent(subject: Subject): number {
    return this.#turnsSent.get(subject) ?? 0
  }

  /** Warms a subject up (compiled, connected, every account cached), so that its steady state is measured. Returns why it is not warm, or null. */
  async warmUp(subject: Subject): Promise<string | null> {
    const { shapes, warmTurns, warmSeconds, clients } = this.#plan
    const short: string[] = []
    for (const shape of shapes) {
      let [turns, seconds] = [0, 0]
      while (turns < warmTurns && seconds < warmSeconds / shapes.length) {
        const load = await this.#runLoad(subject, shape, Math.max(...clients), warmSliceSeconds)
        turns += load.turns
        seconds += warmSliceSeconds
      }
      if (turns < warmTurns) short.push(`${turns} turns ${shape}`)
    }
    for (let more = 0; more < 10 && this.getTurnsSent(subject) < subject.keys.length; more++)
      await this.#runLoad(subject, 'whole', Math.max(...clients), 2)
    if (this.#plan.rate > 0) await runOpenLoop(subject, this.#plan.rate, 0.5, 0, this.#dispatcher)
    return short.length === 0 ? null : `${subject.name} has had ${short.join(', ')} in ${warmSeconds} s, and not ${warmTurns}`
  }

  /** Yields each measurement when taken. @throws TooBusy if most measurements of a round were disturbed, unless `anyway` */
  async *runRounds(subjects: readonly Subject[], anyway: boolean): AsyncGenerator<Sample> {
    const { rounds, shapes, clients, rate } = this.#plan
    for (let round = 0; round < rounds; round++) {
      const taken: Sample[] = []
      const take = (sample: Sample): Sample => {
        taken.push(sample)
        return sample
      }
      for (const shape of shapes) {
        for (const count of clients)
          for (const group of this.#groupForRound(subjects, round)) {
            const samples = await Promise.all(
              group.map((subject) => this.#measureClosed(subject, this.#toPair(subjects, subject, round), shape, count)),
            )
            // A program that had no turn is not compared in this round.
            for (const sample of samples) if (sample.turns > 0) yield take(sample)
          }
      }
      if (rate > 0) for (const subject of orderForRound(subjects, round)) yield take(await this.#measureOpen(subject, round))
      const disturbed = taken.flatMap(({ disturbance }) => disturbance ?? [])
      if (!anyway && disturbed.length > taken.length / 2)
        throw new MachineBusyError(
          `${disturbed.length} of ${taken.length} measurements of round ${round + 1}: ${disturbed.at(-1)}`,
        )
    }
  }

  /** Subjects of one group are under load at once. */
  #groupForRound(subjects: readonly Subject[], round: number): readonly (readonly Subject[])[] {
    const ordered = orderForRound(subjects, round)
    return this.#plan.together ? [ordered] : ordered.map((subject) => [subject])
  }

  /** The first start of a program is compared with the first of another one in the same round, and the second with the second. */
  #toPair(subjects: readonly Subject[], subject: Subject, round: number): number {
    if (!this.#plan.together) return round
    const sameName = subjects.filter(({ name }) => name === subject.name)
    return round * sameName.length + sameName.indexOf(subject)
  }

  async #measureClosed(subject: Subject, round: number, shape: Shape, clients: number): Promise<ClosedSample> {
    const loop = calibrate()
    const from = this.#machine.snapshot()
    const before = readThreadCpu(subject.pid)
    const load = await this.#runLoad(subject, shape, clients, this.#plan.seconds)
    await pause(settleMs)
    const cpu = subtractThreadCpu(before, readThreadCpu(subject.pid))
    const machineLoad = { ...this.#machine.loadSince(from), ...loop }
    return {
      kind: 'closed',
      subject: subject.name,
      round,
      shape,
      clients,
      ...load,
      cpu,
      machineLoad,
      disturbance: describeOverload(machineLoad),
    }
  }

  async #measureOpen(subject: Subject, round: number): Promise<OpenSample> {
    const { rate, openSeconds } = this.#plan
    const loop = calibrate()
    const from = this.#machine.snapshot()
    const asked = this.getTurnsSent(subject)
    this.#turnsSent.set(subject, asked + rate * openSeconds)
    const times = await runOpenLoop(subject, rate, openSeconds, asked, this.#dispatcher)
    const machineLoad = { ...this.#machine.loadSince(from), ...loop }
    return { kind: 'open', subject: subject.name, round, rate, ...times, machineLoad, disturbance: describeOverload(machineLoad) }
  }

  async #runLoad(subject: Subject, shape: Shape, clients: number, seconds: number): ReturnType<typeof runClosedLoop> {
    const asked = this.getTurnsSent(subject)
    const load = await runClosedLoop(subject, shape, clients, seconds, asked, { mayStarve: this.#plan.together })
    this.#turnsSent.set(subject, asked + load.turns)
    return load
  }
}
