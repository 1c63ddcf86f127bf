/** Statistics of several measurements: never the mean, which one disturbed round changes. */

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
  /** The range that contains the median of all rounds that could be measured, with a probability of 95 %. */
  readonly likely: readonly [number, number]
}

/** The smallest value that is not exceeded by `share` of all; NaN for an empty list. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length / 2
  return ((sorted[Math.ceil(half) - 1] ?? Number.NaN) + (sorted[Math.floor(half)] ?? Number.NaN)) / 2
}

export function computeSpread(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values), likely: computeMedianRange(values) }
}

/** By the values' order alone: it needs no assumption about how they are distributed (the normal approximation of the sign test). */
function computeMedianRange(values: readonly number[]): readonly [number, number] {
  const sorted = values.toSorted((a, b) => a - b)
  const omitted = Math.max(0, Math.floor((sorted.length - 1.96 * Math.sqrt(sorted.length)) / 2))
  return [sorted[omitted] ?? Number.NaN, sorted.at(-1 - omitted) ?? Number.NaN]
}

/**
 * The ratio of two subjects round by round, because a machine's speed changes between rounds and not within one. Rounds without
 * one of them are left out.
 */
export function computeRatios(these: ReadonlyMap<number, number>, those: ReadonlyMap<number, number>): number[] {
  return [...these].flatMap(([round, value]) => {
    const other = those.get(round)
    return other === undefined ? [] : [value / other]
  })
}
