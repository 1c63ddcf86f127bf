/** Computes the figures from the measurements. */
import type { StorageCostPerTurn } from '../storage-cost.ts'
import { directName, referenceName } from '../subjects/subjects.ts'
import type { ClosedSample, OpenSample, Sample } from '../bench-runner.ts'
import { median, quantile, computeRatios, computeSpread } from './statistics.ts'
import type { Spread } from './statistics.ts'
import type { Shape } from '../subjects/subject.ts'
import { mapThreadGroups, sumThreadCpu } from '../machine/thread-cpu.ts'
import type { ThreadCpu } from '../machine/thread-cpu.ts'

/** A stored run, for later evaluation. */
export interface Run {
  readonly at: string
  readonly commit: string
  /** The command line. */
  readonly args: readonly string[]
  readonly machine: string
  readonly rounds: number
  /** Minimum and maximum of the calibration loop, in millions of steps per second of CPU time. */
  readonly speed: Spread
  /** All subjects, in the order of display. */
  readonly subjects: readonly string[]
  /** Pairs to compare: a subject and its reference. */
  readonly pairs: readonly (readonly [string, string])[]
  readonly storage: Readonly<Record<string, StorageCostPerTurn>>
  readonly samples: readonly Sample[]
}

/** The ratio of two subjects within the same rounds, and its range over the rounds. */
export type Ratio = Spread

export interface Cost {
  readonly subject: string
  /** Microseconds of CPU time per turn. */
  readonly cpu: number
  readonly threads: ThreadCpu
  readonly turnsPerSecond: number
  /** Against `reference`; undefined if that was not measured. */
  readonly cpuRatio: Ratio | undefined
  readonly rateRatio: Ratio | undefined
  readonly failed: number
  readonly isDisturbed: boolean
}

export interface Latency {
  readonly subject: string
  readonly p50: number
  readonly p99: number
  readonly p999: number
  /** Time added to a direct call; undefined if that was not measured. */
  readonly added: { readonly p50: number; readonly p99: number } | undefined
  readonly lateP99: number
  readonly failed: number
  readonly isDisturbed: boolean
}

export interface Comparison {
  readonly what: string
  readonly here: number
  readonly there: number
  readonly ratio: Ratio
}

export interface Group {
  readonly shape: Shape
  readonly clients: number
  readonly costs: readonly Cost[]
}

export function groupByShape({ samples, subjects }: Run): Group[] {
  const closed = samples.filter((sample) => sample.kind === 'closed')
  const keys = new Map(closed.map(({ shape, clients }) => [`${shape} ${clients}`, { shape, clients }]))
  return [...keys.values()].map(({ shape, clients }) => {
    const here = closed.filter((sample) => sample.shape === shape && sample.clients === clients)
    return { shape, clients, costs: subjects.map((subject) => computeCost(subject, here)) }
  })
}

function computeCost(subject: string, all: readonly ClosedSample[]): Cost {
  const own = all.filter((sample) => sample.subject === subject)
  const { selected, isDisturbed } = selectUndisturbed(own)
  const against = (value: (sample: ClosedSample) => number): Ratio | undefined => {
    const ratios = pairedRatios(all, subject, referenceName, value)
    return ratios.length === 0 ? undefined : computeSpread(ratios)
  }
  return {
    subject,
    cpu: median(selected.map(cpuPerTurn)),
    threads: mapThreadGroups((group) => median(selected.map(({ cpu, turns }) => cpu[group] / turns))),
    turnsPerSecond: median(selected.map(turnsPerSecond)),
    cpuRatio: against(cpuPerTurn),
    rateRatio: against(turnsPerSecond),
    failed: own.reduce((sum, { failed }) => sum + failed, 0),
    isDisturbed,
  }
}

export function computeLatencies({ samples, subjects }: Run): Latency[] {
  const open = samples.filter((sample) => sample.kind === 'open')
  if (open.length === 0) return []
  const computeLatency = (subject: string): Omit<Latency, 'added'> => {
    const every = open.filter((sample) => sample.subject === subject)
    const { selected, isDisturbed } = selectUndisturbed(every)
    const times = selected.flatMap(({ latenciesMs }) => latenciesMs)
    return {
      subject,
      p50: quantile(times, 0.5),
      p99: quantile(times, 0.99),
      p999: quantile(times, 0.999),
      lateP99: quantile(
        selected.flatMap(({ sendDelaysMs }) => sendDelaysMs),
        0.99,
      ),
      failed: every.reduce((sum, { failed }) => sum + failed, 0),
      isDisturbed,
    }
  }
  const base = subjects.includes(directName) ? computeLatency(directName) : undefined
  return subjects.map((subject) => {
    const own = computeLatency(subject)
    const added = base === undefined ? undefined : { p50: own.p50 - base.p50, p99: own.p99 - base.p99 }
    return { ...own, added }
  })
}

/** Compares two subjects in everything measured of both. */
export function compareSubjects({ samples }: Run, one: string, other: string): Comparison[] {
  const closed = samples.filter((sample) => sample.kind === 'closed')
  const open = samples.filter((sample) => sample.kind === 'open')
  const compare = <Of extends Sample>(what: string, all: readonly Of[], value: (sample: Of) => number): Comparison[] => {
    const ratios = pairedRatios(all, one, other, value)
    if (ratios.length === 0) return []
    const middle = (subject: string): number =>
      median(selectUndisturbed(all.filter((each) => each.subject === subject)).selected.map(value))
    return [{ what, here: middle(one), there: middle(other), ratio: computeSpread(ratios) }]
  }
  const groups = new Map(closed.map(({ shape, clients }) => [`${shape}, ${clients} clients`, { shape, clients }]))
  return [
    ...[...groups].flatMap(([place, { shape, clients }]) => {
      const here = closed.filter((sample) => sample.shape === shape && sample.clients === clients)
      return [
        ...compare(`${place}: CPU µs a turn`, here, cpuPerTurn),
        ...(['main', 'workers'] as const).flatMap((group) =>
          compare(`${place}: of it ${group}`, here, ({ cpu, turns }) => cpu[group] / turns),
        ),
        ...compare(`${place}: turns/s`, here, turnsPerSecond),
      ]
    }),
    ...[0.5, 0.99].flatMap((share) =>
      compare(`p${share * 100} in ms at ${open[0]?.rate}/s`, open, ({ latenciesMs }: OpenSample) => quantile(latenciesMs, share)),
    ),
  ]
}

function cpuPerTurn({ cpu, turns }: ClosedSample): number {
  return sumThreadCpu(cpu) / turns
}

function turnsPerSecond({ turns, seconds }: ClosedSample): number {
  return turns / seconds
}

/** The undisturbed measurements, or all of them if those are too few. */
function selectUndisturbed<Of extends Sample>(
  every: readonly Of[],
): { readonly selected: readonly Of[]; readonly isDisturbed: boolean } {
  const quiet = every.filter(({ disturbance }) => disturbance === null)
  const isDisturbed = quiet.length < every.length / 2
  return { selected: isDisturbed ? every : quiet, isDisturbed }
}

function pairedRatios<Of extends Sample>(
  all: readonly Of[],
  one: string,
  other: string,
  value: (sample: Of) => number,
): readonly number[] {
  const byRound = (subject: string): Map<number, number> =>
    new Map(
      selectUndisturbed(all.filter((each) => each.subject === subject)).selected.map((sample) => [sample.round, value(sample)]),
    )
  return computeRatios(byRound(one), byRound(other))
}
