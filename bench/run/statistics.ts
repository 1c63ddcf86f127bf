/** What is said of several measurements: never their mean, which one disturbed round moves. */

export interface Spread {
  readonly middle: number
  readonly least: number
  readonly most: number
}

/** The value that `share` of all are at most; NaN of nothing. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length / 2
  return ((sorted[Math.ceil(half) - 1] ?? Number.NaN) + (sorted[Math.floor(half)] ?? Number.NaN)) / 2
}

export function spreadOf(values: readonly number[]): Spread {
  return { middle: median(values), least: Math.min(...values), most: Math.max(...values) }
}

/**
 * How much more one takes than another: round by round, because a machine's speed moves between rounds and not within one. Rounds that
 * one of them lacks say nothing.
 */
export function ratiosOf(these: ReadonlyMap<number, number>, those: ReadonlyMap<number, number>): number[] {
  return [...these].flatMap(([round, value]) => {
    const other = those.get(round)
    return other === undefined ? [] : [value / other]
  })
}
