/** From measurements to figures. */
import type { BooksOfATurn } from './books.ts'
import { direct, reference } from './cast.ts'
import type { ClosedSample, OpenSample, Sample } from './measure.ts'
import { median, quantile, ratiosOf, spreadOf } from './statistics.ts'
import type { Spread } from './statistics.ts'
import type { Shape } from './subject.ts'
import { mapUsed, sumOf } from './threads.ts'
import type { Used } from './threads.ts'

/** A run as it is kept, for whoever wants to count again. */
export interface Run {
  readonly at: string
  readonly commit: string
  /** The command's words. */
  readonly asked: readonly string[]
  readonly machine: string
  readonly rounds: number
  /** Of the calibration loop, in millions of steps a second of processor time, least and most. */
  readonly speed: Spread
  /** Everybody, in the order in which they are shown. */
  readonly subjects: readonly string[]
  /** Pairs whose ratio is asked: one, and what it is held against. */
  readonly pairs: readonly (readonly [string, string])[]
  readonly books: Readonly<Record<string, BooksOfATurn>>
  readonly samples: readonly Sample[]
}

/** What one takes of another of the same rounds, and how far the rounds agree. */
export type Ratio = Spread

export interface Cost {
  readonly subject: string
  /** Microseconds of processor time a turn. */
  readonly cpu: number
  readonly threads: Used
  readonly turnsPerSecond: number
  /** Against `reference`; undefined where that was not measured. */
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
  /** More than a direct call; undefined where that was not measured. */
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

export function groupsOf({ samples, subjects }: Run): Group[] {
  const closed = samples.filter((sample) => sample.kind === 'closed')
  const keys = new Map(closed.map(({ shape, clients }) => [`${shape} ${clients}`, { shape, clients }]))
  return [...keys.values()].map(({ shape, clients }) => {
    const here = closed.filter((sample) => sample.shape === shape && sample.clients === clients)
    return { shape, clients, costs: subjects.map((subject) => costOf(subject, here)) }
  })
}

function costOf(subject: string, all: readonly ClosedSample[]): Cost {
  const every = all.filter((sample) => sample.subject === subject)
  const { kept, isDisturbed } = quietOnes(every)
  const against = (value: (sample: ClosedSample) => number): Ratio | undefined => {
    const ratios = pairedRatios(all, subject, reference, value)
    return ratios.length === 0 ? undefined : spreadOf(ratios)
  }
  return {
    subject,
    cpu: median(kept.map(cpuOf)),
    threads: mapUsed((group) => median(kept.map(({ cpu, turns }) => cpu[group] / turns))),
    turnsPerSecond: median(kept.map(rateOf)),
    cpuRatio: against(cpuOf),
    rateRatio: against(rateOf),
    failed: every.reduce((sum, { failed }) => sum + failed, 0),
    isDisturbed,
  }
}

export function latenciesOf({ samples, subjects }: Run): Latency[] {
  const open = samples.filter((sample) => sample.kind === 'open')
  if (open.length === 0) return []
  const of = (subject: string): Omit<Latency, 'added'> => {
    const every = open.filter((sample) => sample.subject === subject)
    const { kept, isDisturbed } = quietOnes(every)
    const times = kept.flatMap(({ answered }) => answered)
    return {
      subject,
      p50: quantile(times, 0.5),
      p99: quantile(times, 0.99),
      p999: quantile(times, 0.999),
      lateP99: quantile(
        kept.flatMap(({ late }) => late),
        0.99,
      ),
      failed: every.reduce((sum, { failed }) => sum + failed, 0),
      isDisturbed,
    }
  }
  const base = subjects.includes(direct) ? of(direct) : undefined
  return subjects.map((subject) => {
    const own = of(subject)
    const added = base === undefined ? undefined : { p50: own.p50 - base.p50, p99: own.p99 - base.p99 }
    return { ...own, added }
  })
}

/** One against the other in all that was measured of both. */
export function comparisonsOf({ samples }: Run, one: string, other: string): Comparison[] {
  const closed = samples.filter((sample) => sample.kind === 'closed')
  const open = samples.filter((sample) => sample.kind === 'open')
  const compare = <Of extends Sample>(what: string, all: readonly Of[], value: (sample: Of) => number): Comparison[] => {
    const ratios = pairedRatios(all, one, other, value)
    if (ratios.length === 0) return []
    const middle = (subject: string): number => median(quietOnes(all.filter((each) => each.subject === subject)).kept.map(value))
    return [{ what, here: middle(one), there: middle(other), ratio: spreadOf(ratios) }]
  }
  const places = new Map(closed.map(({ shape, clients }) => [`${shape}, ${clients} clients`, { shape, clients }]))
  return [
    ...[...places].flatMap(([place, { shape, clients }]) => {
      const here = closed.filter((sample) => sample.shape === shape && sample.clients === clients)
      return [...compare(`${place}: CPU µs a turn`, here, cpuOf), ...compare(`${place}: turns/s`, here, rateOf)]
    }),
    ...[0.5, 0.99].flatMap((share) =>
      compare(`p${share * 100} in ms at ${open[0]?.rate}/s`, open, ({ answered }: OpenSample) => quantile(answered, share)),
    ),
  ]
}

function cpuOf({ cpu, turns }: ClosedSample): number {
  return sumOf(cpu) / turns
}

function rateOf({ turns, seconds }: ClosedSample): number {
  return turns / seconds
}

/** The measurements that nothing disturbed, or all where those are too few to go by. */
function quietOnes<Of extends Sample>(every: readonly Of[]): { readonly kept: readonly Of[]; readonly isDisturbed: boolean } {
  const quiet = every.filter(({ disturbed }) => disturbed === null)
  const isDisturbed = quiet.length < every.length / 2
  return { kept: isDisturbed ? every : quiet, isDisturbed }
}

function pairedRatios<Of extends Sample>(
  all: readonly Of[],
  one: string,
  other: string,
  value: (sample: Of) => number,
): readonly number[] {
  const byRound = (subject: string): Map<number, number> =>
    new Map(quietOnes(all.filter((each) => each.subject === subject)).kept.map((sample) => [sample.round, value(sample)]))
  return ratiosOf(byRound(one), byRound(other))
}
