/**
 * A histogram for what every turn observes. prom-client's own checks its labels and looks them up at each observation; a series here is
 * counted into where it stands, and said in prom-client's words when somebody looks.
 */

export interface HistogramOptions {
  readonly name: string
  readonly help: string
  /** Upper bounds, the lowest first. */
  readonly buckets: readonly number[]
}

/**
 * Sums are told in whole ones, about a millionth: these add up to the same in any order. Without, the sum over several threads falls by a
 * hair where one has ended, and a sum that falls is read as one that began anew.
 */
const grain = 2 ** -20

type Labels = Readonly<Record<string, string>>

interface Said {
  readonly metricName: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
}

export class Histogram {
  readonly name: string
  readonly help: string
  readonly type = 'histogram'
  /** How several processes' are put together. */
  readonly aggregator = 'sum'
  readonly #buckets: readonly number[]
  readonly #series = new Map<string, Series>()

  constructor({ name, help, buckets }: HistogramOptions) {
    this.name = name
    this.help = help
    this.#buckets = buckets
  }

  /** The series with these labels, to be kept by whoever observes. */
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
    return { name, help, type, aggregator, values: [...this.#series.values()].flatMap((series) => series.said(name)) }
  }
}

export class Series {
  readonly #labels: Labels
  readonly #buckets: readonly number[]
  /** Of each bucket what is in no lower one; behind them what is above all. */
  readonly #counts: number[]
  #count = 0
  #sum = 0

  constructor(labels: Labels, buckets: readonly number[]) {
    this.#labels = labels
    this.#buckets = buckets
    this.#counts = Array.from({ length: buckets.length + 1 }, () => 0)
  }

  observe(value: number): void {
    let at = 0
    for (const bound of this.#buckets) {
      if (value <= bound) break
      at++
    }
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
    this.#count++
    this.#sum += value
  }

  /** Nothing where labels have been given and nothing was ever observed of them. */
  said(name: string): Said[] {
    if (this.#count === 0 && Object.keys(this.#labels).length > 0) return []
    let count = 0
    const buckets = [...this.#buckets, '+Inf'].map((le, at) => {
      count += this.#counts[at] ?? 0
      return { metricName: `${name}_bucket`, labels: { le, ...this.#labels }, value: count }
    })
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels: this.#labels, value: Math.round(this.#sum / grain) * grain },
      { metricName: `${name}_count`, labels: this.#labels, value: this.#count },
    ]
  }
}
