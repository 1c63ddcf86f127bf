/** The metrics of ended turns. */
import type { Logger } from 'pino'
import type { ApiFormatName } from '../exchange/api-format/api-format-name.ts'
import type { Exchange, Outcome, Slots, Usage } from '../exchange/exchange.ts'
import { getApiFormat, none } from './ended-exchange.ts'
import type { EndedExchange } from './ended-exchange.ts'
import type { Series } from './histogram.ts'
import type { Metrics } from './metrics.ts'

/** The series of one kind of turn. Plain counts are added to their counters at a scrape. */
interface TurnSeries {
  readonly product: string
  readonly outcome: Outcome['kind']
  readonly code: string
  readonly apiFormat: ApiFormatName
  turns: number
  credits: number
  readonly duration: Series
  readonly firstToken: Series
  readonly perToken: Series
  readonly input: Series
  readonly output: Series
}

const ignoredCapLogMs = 600_000

export class TurnMetrics {
  readonly #metrics: Metrics
  readonly #log: Logger
  readonly #series = new Map<string, TurnSeries>()
  /** Prompt tokens since the last scrape, by target. */
  readonly #promptTokens = new Map<string, { cached: number; uncached: number }>()
  /** Monotonic time of the last log line, by target. */
  readonly #ignoredCapLoggedAt = new Map<string, number>()

  constructor(metrics: Metrics, log: Logger) {
    this.#metrics = metrics
    this.#log = log
  }

  /** @param code the failure's code, or `none` */
  record({ x, outcome, endedMonotonicMs: now }: EndedExchange, code: string): void {
    const metrics = this.#metrics
    // Product ids only: a requested model that does not exist must not create a series.
    const product = x.product?.id ?? none
    const series = this.#getSeries({ product, outcome: outcome.kind, code, apiFormat: getApiFormat(x) })
    series.turns++
    if (outcome.kind === 'failed' && x.debug.quotaRefunded === true) metrics.refunds.inc({ code })
    if (x.product === undefined) return
    series.duration.observe((now - x.startedMonotonicMs) / 1000)
    if (x.callStartedMonotonicMs !== undefined && x.callEndedMonotonicMs !== undefined) {
      metrics.overhead.observe(
        Math.max(0, now - x.startedMonotonicMs - (x.callEndedMonotonicMs - x.callStartedMonotonicMs)) / 1000,
      )
    }
    if (x.firstTokenMonotonicMs !== undefined) series.firstToken.observe((x.firstTokenMonotonicMs - x.startedMonotonicMs) / 1000)
    if (outcome.kind === 'failed') return
    const { inputTokens, outputTokens, disputed, ignoredCap } = outcome.usage
    if (ignoredCap === true) this.#recordIgnoredCap(x, now)
    if (disputed !== undefined) metrics.disputed.inc({ target: x.lastAttempt.target ?? none })
    series.input.observe(inputTokens)
    if (!outcome.usage.estimated && x.lastAttempt.target !== null) this.#countPrompt(x.lastAttempt.target, outcome.usage)
    series.output.observe(outputTokens)
    if (x.chat?.stream === true && x.firstTokenMonotonicMs !== undefined && outputTokens > 1) {
      series.perToken.observe((now - x.firstTokenMonotonicMs) / 1000 / (outputTokens - 1))
    }
    if (x.chargedCredits !== undefined) series.credits += x.chargedCredits
  }

  #countPrompt(target: string, { inputTokens, cachedInputTokens = 0 }: Usage): void {
    let tokens = this.#promptTokens.get(target)
    if (tokens === undefined) this.#promptTokens.set(target, (tokens = { cached: 0, uncached: 0 }))
    tokens.cached += cachedInputTokens
    tokens.uncached += inputTokens - cachedInputTokens
  }

  /** Logged for a target at most once in ten minutes: an upstream that ignores the cap does so in each long turn. */
  #recordIgnoredCap({ id, lastAttempt, hold }: Exchange & Partial<Slots>, now: number): void {
    const target = lastAttempt.target ?? none
    this.#metrics.ignoredCaps.inc({ target })
    const loggedAt = this.#ignoredCapLoggedAt.get(target)
    if (loggedAt !== undefined && now - loggedAt < ignoredCapLogMs) return
    this.#ignoredCapLoggedAt.set(target, now)
    this.#log.warn(
      { requestId: id, target, outputCap: hold?.outputCap },
      'the upstream ignores the cap of the output: the turn is charged at most its hold; check maxTokensField of this upstream',
    )
  }

  /** The series of one kind of turn, with labels resolved once: kinds are few, turns are many. */
  #getSeries(labels: Pick<TurnSeries, 'product' | 'outcome' | 'code' | 'apiFormat'>): TurnSeries {
    const { product, outcome, code, apiFormat } = labels
    const key = `${product} ${outcome} ${code} ${apiFormat}`
    let series = this.#series.get(key)
    if (series === undefined) {
      const { duration, firstToken, perToken, tokens } = this.#metrics
      const model = { gen_ai_request_model: product }
      series = {
        ...labels,
        turns: 0,
        credits: 0,
        duration: duration.series({ ...model, outcome }),
        firstToken: firstToken.series(model),
        perToken: perToken.series(model),
        input: tokens.series({ ...model, gen_ai_token_type: 'input' }),
        output: tokens.series({ ...model, gen_ai_token_type: 'output' }),
      }
      this.#series.set(key, series)
    }
    return series
  }

  /** Adds the plain counts to their counters, at a scrape. */
  collect(): void {
    const metrics = this.#metrics
    for (const series of this.#series.values()) {
      const { product, outcome, code, apiFormat, turns, credits } = series
      metrics.turns.inc({ product, outcome, code, api_format: apiFormat }, turns)
      if (credits > 0) metrics.credits.inc({ product }, credits)
      series.turns = 0
      series.credits = 0
    }
    for (const [target, { cached, uncached }] of this.#promptTokens) {
      metrics.promptTokens.inc({ target, cache: 'cached' }, cached)
      metrics.promptTokens.inc({ target, cache: 'uncached' }, uncached)
    }
    this.#promptTokens.clear()
  }
}
