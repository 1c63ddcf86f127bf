/**
 * Histograms of latencies that can be added: the percentiles of a day are those of its turns, and not means of hours' percentiles. The
 * bounds never change, because stored histograms are added to later ones.
 */

/** Upper bounds in milliseconds, each about a quarter above the one before; the last bucket has no bound. */
export const latencyBoundsMs: readonly number[] = [
  5, 10, 20, 30, 40, 50, 65, 80, 100, 125, 160, 200, 250, 320, 400, 500, 650, 800, 1_000, 1_250, 1_600, 2_000, 2_500, 3_200,
  4_000, 5_000, 6_500, 8_000, 10_000, 12_500, 16_000, 20_000, 25_000, 32_000, 40_000, 50_000, 65_000, 80_000, 100_000, 125_000,
  160_000, 200_000, 250_000, 320_000, 400_000, 500_000, 650_000, 800_000, 1_000_000,
]

/** Percentiles in milliseconds: interpolated within a bucket, so at most a quarter off. */
export interface LatencyPercentiles {
  readonly count: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

/** Counts of values in each bucket. Most have few buckets: one turn of one account has one. */
export class LatencyHistogram {
  readonly #counts = new Map<number, number>()

  observe(ms: number): void {
    this.#add(findBucket(ms), 1)
  }

  add(other: LatencyHistogram): void {
    for (const [bucket, count] of other.#counts) this.#add(bucket, count)
  }

  /** Adds a stored histogram. */
  addText(text: string): void {
    if (text === '') return
    for (const part of text.split(' ')) {
      const colon = part.indexOf(':')
      this.#add(Number(part.slice(0, colon)), Number(part.slice(colon + 1)))
    }
  }

  /** As it is stored: `bucket:count` of each bucket that is not empty. */
  toText(): string {
    return this.#toSorted()
      .map(([bucket, count]) => `${bucket}:${count}`)
      .join(' ')
  }

  /** Null without values. */
  toPercentiles(): LatencyPercentiles | null {
    const counts = this.#toSorted()
    const count = counts.reduce((sum, [, each]) => sum + each, 0)
    if (count === 0) return null
    const [p50 = 0, p95 = 0, p99 = 0] = [0.5, 0.95, 0.99].map((share) => findPercentile(counts, share * count))
    return { count, p50, p95, p99 }
  }

  #add(bucket: number, count: number): void {
    const sum = (this.#counts.get(bucket) ?? 0) + count
    if (!Number.isSafeInteger(sum) || !(bucket >= 0 && bucket <= latencyBoundsMs.length))
      throw new RangeError(`a latency histogram has no bucket ${bucket} with ${count}`)
    this.#counts.set(bucket, sum)
  }

  #toSorted(): readonly (readonly [bucket: number, count: number])[] {
    const counts = [...this.#counts]
    return counts.length < 2 ? counts : counts.toSorted(([one], [other]) => one - other)
  }
}

function findPercentile(counts: readonly (readonly [bucket: number, count: number])[], rank: number): number {
  let below = 0
  for (const [bucket, count] of counts) {
    if (below + count >= rank) {
      const lower = latencyBoundsMs[bucket - 1] ?? 0
      const upper = latencyBoundsMs[bucket] ?? lower
      return Math.round(lower + ((upper - lower) * (rank - below)) / count)
    }
    below += count
  }
  return latencyBoundsMs.at(-1) ?? 0
}

function findBucket(ms: number): number {
  const bucket = latencyBoundsMs.findIndex((bound) => ms <= bound)
  return bucket === -1 ? latencyBoundsMs.length : bucket
}
