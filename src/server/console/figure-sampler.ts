/** Keeps the figures of this node for the console: from its first look on every quarter of a minute, until a day after the last one. */
import type { MetricsJson } from '../../observability/merge-metrics.ts'
import { FigureHistory } from '../../services/health/node-figures.ts'
import type { NodeFigures } from '../../services/health/node-figures.ts'
import type { Clock, Timer } from '../../system/clock.ts'

const sampleEveryMs = 15_000
const dayMs = 86_400_000

export class FigureSampler {
  readonly #clock: Clock
  readonly #readMetrics: () => Promise<readonly MetricsJson[]>
  readonly #history: FigureHistory
  #timer: Timer | null = null
  #lookedMs = 0

  /** @param readMetrics of all threads */
  constructor(clock: Clock, readMetrics: () => Promise<readonly MetricsJson[]>) {
    this.#clock = clock
    this.#readMetrics = readMetrics
    this.#history = new FigureHistory(clock.monotonicMs())
  }

  async read(): Promise<NodeFigures> {
    this.#lookedMs = this.#clock.monotonicMs()
    this.#timer ??= this.#clock.every(sampleEveryMs, () => void this.#sample()).unref()
    return this.#look()
  }

  close(): void {
    this.#timer?.cancel()
    this.#timer = null
  }

  async #look(): Promise<NodeFigures> {
    const metrics = await this.#readMetrics()
    return this.#history.add(metrics, { now: this.#clock.now(), nowMs: this.#clock.monotonicMs() })
  }

  async #sample(): Promise<void> {
    if (this.#clock.monotonicMs() - this.#lookedMs > dayMs) return this.close()
    // The next sample has what this one could not read.
    await this.#look().catch(() => undefined)
  }
}
