/**
 * A histogram for values observed on every turn. prom-client's validates and looks up the labels at each observation; here a series is
 * obtained once and counts directly. It renders prom-client's format at a scrape.
 */

export interface HistogramOptions {
  readonly name: string
  readonly help: string
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[]
}

/**
 * Resolution of sums, about a millionth. Rounded so, sums add up to the same in any order. Otherwise the sum over several threads could
 * decrease by a rounding error when one ends, which Prometheus reads as a counter reset.
 */
const sumResolution = 2 ** -20

type Labels = Readonly<Record<string, string>>

interface Sample {
  readonly metricName: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
}

export class Histogram {
  readonly name: string
  readonly help: string
  readonly type = 'histogram'
  /** How the values of several processes are merged. */
  readonly aggregator = 'sum'
  readonly #buckets: readonly number[]
  readonly #series = new Map<string, Series>()

  constructor({ name, help, buckets }: HistogramOptions) {
    this.name = name
    this.help = help
    this.#buckets = buckets
  }

  /** The series with these labels; callers keep it. */
  series(labels: Labels = {}): Series {
    const key = JSON.stringify(labels)
    let series = this.#series.get(key)
    if (series === undefined) {
      series = new Series(labels, this.#buckets)
      this.#series.set(key, series)
    }
    return series
  }

  async get(): Promise<object> {
    const { name, help, type, aggregator } = this
    return { name, help, type, aggregator, values: [...this.#series.values()].flatMap((series) => series.toSamples(name)) }
  }
}

export class Series {
  readonly #labels: Labels
  readonly #buckets: readonly number[]
  /** Count per bucket, not cumulative; the last is above all bounds. */
  readonly #counts: number[]
  #count = 0
  #sum = 0

  constructor(labels: Labels, buckets: readonly number[]) {
    this.#labels = labels
    this.#buckets = buckets
    this.#counts = Array.from({ length: buckets.length + 1 }, () => 0)
  }

  observe(value: number): void {
    let index = 0
    for (const bound of this.#buckets) {
      if (value <= bound) break
      index++
    }
    this.#counts[index] = (this.#counts[index] ?? 0) + 1
    this.#count++
    this.#sum += value
  }

  /** Empty for a labelled series without observations. */
  toSamples(name: string): Sample[] {
    if (this.#count === 0 && Object.keys(this.#labels).length > 0) return []
    let count = 0
    const buckets = [...this.#buckets, '+Inf'].map((le, at) => {
      count += this.#counts[at] ?? 0
      return { metricName: `${name}_bucket`, labels: { le, ...this.#labels }, value: count }
    })
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels: this.#labels, value: Math.round(this.#sum / sumResolution) * sumResolution },
      { metricName: `${name}_count`, labels: this.#labels, value: this.#count },
    ]
  }
}
