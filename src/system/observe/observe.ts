/** What the service says of itself: the metrics and the log, told soon after an exchange has ended. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Logger } from 'pino'
import type { Limits } from '../../access/limits/limits.ts'
import type { GatewayError } from '../../errors.ts'
import type { Exchange, Outcome, Slots } from '../../exchange/exchange.ts'
import type { Condition } from '../../membership/condition.ts'
import type { Ledger } from '../../membership/ledger.ts'
import { UpstreamFailure } from '../../exchange/upstream-failure.ts'
import { ownWords } from '../../upstream/failure.ts'
import type { Upstreams } from '../../upstream/upstreams.ts'
import type { Series } from './histogram.ts'
import type { MetricsJson } from './joined.ts'
import type { Log } from './log.ts'
import { createMetrics } from './metrics.ts'
import type { Metrics } from './metrics.ts'

/** What is read at the moment of a scrape. */
export interface Sources {
  readonly ledger: Ledger
  readonly upstreams: Upstreams
  readonly limits: Pick<Limits, 'elsewhere'>
  /** Of the database that several nodes share, as it was last seen; null: not known, or there is none. */
  readonly condition: () => Condition | null
  /** Turns whose upstream is being called. */
  readonly running: () => number
  readonly ticks: () => number
}

/** An exchange that has ended and is not told yet. */
interface Ended {
  readonly x: Exchange & Partial<Slots>
  readonly outcome: Outcome
  readonly ticks: number
}

/** The metrics of one kind of turn. What is only counted is given to its counter when somebody looks. */
interface TurnSeries {
  readonly product: string
  readonly outcome: Outcome['kind']
  readonly code: string
  turns: number
  credits: number
  readonly duration: Series
  readonly firstToken: Series
  readonly perToken: Series
  readonly input: Series
  readonly output: Series
}

const breakerValue = { closed: 0, half_open: 1, open: 2 } as const
const none = 'none'
const longestPath = 200

export class Observe {
  readonly #log: Logger
  readonly #lines: Log['lines']
  readonly #worker: Log['worker']
  readonly #metrics: Metrics = createMetrics()
  readonly #loop = monitorEventLoopDelay({ resolution: 20 })
  #sources: Sources | null = null
  readonly #turnSeries = new Map<string, TurnSeries>()
  /** Calls to targets, by target and outcome, since somebody looked. */
  readonly #attempts = new Map<string, Map<string, number>>()
  #seen = { commits: 0, operations: 0, syncs: 0, cpu: 0, workerDeaths: 0, limitedAlone: 0 }
  #ended: Ended[] = []

  constructor({ log, lines, worker }: Log) {
    this.#log = log
    this.#lines = lines
    this.#worker = worker
    // Before the log's own last look, whatever it is that ends the process.
    process.prependListener('exit', this.#tellEnded)
    this.#loop.enable()
    this.#metrics.startTime.set(Date.now() / 1000 - process.uptime())
    this.#metrics.mismatches.set(0)
    this.#metrics.workers.set(1)
  }

  /** Connects what is read at a scrape; the sources are made after this. */
  connect(sources: Sources): void {
    this.#sources = sources
  }

  /** Told with all others of this round of the event loop when their answers have left: by itself each would cost twice as much. */
  exchangeEnded(x: Exchange & Partial<Slots>, outcome: Outcome): void {
    const ticks = this.#sources?.ticks() ?? x.startedTicks
    if (this.#ended.push({ x, outcome, ticks }) === 1) setImmediate(this.#tellEnded)
  }

  /** Somebody's client asks for what is not offered; `label` is of a bounded list, the path itself is for the log. */
  unknownPath({ id, inbound: { method, path } }: Pick<Exchange, 'id' | 'inbound'>, label: string): void {
    this.#metrics.unknownPaths.inc({ path: label })
    this.#log.info({ requestId: id, method, path: path.slice(0, longestPath) }, 'unknown path')
  }

  /** A bug or a broken part of ours; its words are for the log alone. */
  requestFailed(x: Pick<Exchange, 'id' | 'inbound'>, failure: GatewayError): void {
    this.#metrics.requestErrors.inc()
    this.#log.error({ requestId: x.id, path: x.inbound.path, err: failure.cause ?? failure }, 'internal error')
  }

  hookFailed(x: Exchange, plugin: string, hook: string, error: unknown): void {
    this.#metrics.hookErrors.inc({ plugin, hook })
    this.#log.error({ requestId: x.id, plugin, hook, err: error }, 'a plugin hook failed')
  }

  upstreamTried(target: string, outcome: string): void {
    let outcomes = this.#attempts.get(target)
    if (outcomes === undefined) {
      outcomes = new Map()
      this.#attempts.set(target, outcomes)
    }
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }

  /** The result of the last `ledger verify` in this process. */
  ledgerChecked(mismatches: number): void {
    this.#metrics.mismatches.set(mismatches)
    if (mismatches > 0) this.#log.fatal({ mismatches }, 'the ledger does not add up; run: svc-gateway ledger verify')
  }

  get metricsType(): string {
    return this.#metrics.registry.contentType
  }

  async metricsText(): Promise<string> {
    this.#tellEnded()
    this.#gather()
    return this.#metrics.registry.metrics()
  }

  /** For whoever joins it with other threads'. */
  async metricsJson(): Promise<MetricsJson> {
    this.#tellEnded()
    this.#gather()
    return this.#metrics.registry.getMetricsAsJSON()
  }

  /** Threads that serve now, and how many have died. */
  workersChanged(living: number, deaths: number): void {
    this.#metrics.workers.set(living)
    this.#metrics.workerDeaths.inc(deaths - this.#seen.workerDeaths)
    this.#seen.workerDeaths = deaths
  }

  close(): void {
    this.#tellEnded()
    process.off('exit', this.#tellEnded)
    this.#loop.disable()
  }

  readonly #tellEnded = (): void => {
    const ended = this.#ended
    this.#ended = []
    const time = new Date().toISOString()
    for (const each of ended) this.#tell(each, time)
  }

  #tell(ended: Ended, time: string): void {
    const { x, outcome } = ended
    const code = outcome.kind === 'failed' ? outcome.failure.code : none
    if (x.kind === 'turn') this.#turnEnded(ended, code)
    else this.#metrics.queries.inc({ outcome: outcome.kind, code })
    if (outcome.kind === 'failed' && outcome.failure.code === 'internal_error') this.requestFailed(x, outcome.failure)
    this.#logEnd(ended, code, time)
  }

  #turnEnded({ x, outcome, ticks: now }: Ended, code: string): void {
    const metrics = this.#metrics
    // Only product ids get here: a model nobody offers must not make a series of its own.
    const product = x.product?.id ?? none
    const of = this.#series(product, outcome.kind, code)
    of.turns++
    if (outcome.kind === 'failed' && x.debug.quotaRefunded === true) metrics.refunds.inc({ code })
    if (x.product === undefined) return
    of.duration.observe((now - x.startedTicks) / 1000)
    if (x.callStartedTicks !== undefined && x.callEndedTicks !== undefined) {
      metrics.overhead.observe(Math.max(0, now - x.startedTicks - (x.callEndedTicks - x.callStartedTicks)) / 1000)
    }
    if (x.firstTokenTicks !== undefined) of.firstToken.observe((x.firstTokenTicks - x.startedTicks) / 1000)
    if (outcome.kind === 'failed') return
    const { inputTokens, outputTokens, contradicted } = outcome.usage
    if (contradicted !== undefined) metrics.contradicted.inc({ target: x.attempted.target ?? none })
    of.input.observe(inputTokens)
    of.output.observe(outputTokens)
    if (x.chat?.stream === true && x.firstTokenTicks !== undefined && outputTokens > 1) {
      of.perToken.observe((now - x.firstTokenTicks) / 1000 / (outputTokens - 1))
    }
    if (x.charged !== undefined) of.credits += x.charged
  }

  /** The metrics of one kind of turn, their labels looked up once: they are few, and turns are many. */
  #series(product: string, outcome: Outcome['kind'], code: string): TurnSeries {
    const key = `${product} ${outcome} ${code}`
    let series = this.#turnSeries.get(key)
    if (series === undefined) {
      const { duration, firstToken, perToken, tokens } = this.#metrics
      const model = { gen_ai_request_model: product }
      series = {
        product,
        outcome,
        code,
        turns: 0,
        credits: 0,
        duration: duration.series({ ...model, outcome }),
        firstToken: firstToken.series(model),
        perToken: perToken.series(model),
        input: tokens.series({ ...model, gen_ai_token_type: 'input' }),
        output: tokens.series({ ...model, gen_ai_token_type: 'output' }),
      }
      this.#turnSeries.set(key, series)
    }
    return series
  }

  /** Printed here, in half the time that a logger takes which knows nothing of its line; it looks like any other. */
  #logEnd({ x, outcome }: Ended, code: string, time: string): void {
    if (!this.#log.isLevelEnabled('info')) return
    const { inbound, debug, attempted } = x
    const failed = outcome.kind === 'failed' ? outcome : undefined
    const usage = outcome.kind === 'failed' ? undefined : outcome.usage
    const line = {
      level: 'info',
      time,
      worker: this.#worker,
      requestId: x.id,
      kind: x.kind,
      method: inbound.method,
      path: inbound.path,
      outcome: outcome.kind,
      errorCode: failed && code,
      stage: failed?.failure.stage,
      status: failed?.failure.status,
      streamed: failed?.streamed,
      inputTokens: usage?.inputTokens,
      outputTokens: usage?.outputTokens,
      contradicted: usage?.contradicted,
      account: x.caller?.account.id,
      product: x.product?.id,
      target: attempted.target ?? undefined,
      upstreamStatus: attempted.status ?? undefined,
      credits: x.charged,
      refunded: debug.quotaRefunded,
      ms: debug.latencyMs,
      msg: 'request',
    }
    this.#lines.write(`${JSON.stringify(line)}\n`)
    // Why the upstream failed is the operator's to know, and nobody else's.
    if (outcome.kind === 'failed' && outcome.failure.stage === 'upstream') {
      this.#log.warn(
        { requestId: x.id, target: attempted.target, errorCode: code, ...causeOf(outcome.failure) },
        'upstream failed',
      )
    }
  }

  #gather(): void {
    const metrics = this.#metrics
    for (const series of this.#turnSeries.values()) {
      const { product, outcome, code, turns, credits } = series
      metrics.turns.inc({ product, outcome, code }, turns)
      if (credits > 0) metrics.credits.inc({ product }, credits)
      series.turns = 0
      series.credits = 0
    }
    for (const [target, outcomes] of this.#attempts) {
      for (const [outcome, count] of outcomes) metrics.attempts.inc({ target, outcome }, count)
      outcomes.clear()
    }
    const { user, system } = process.cpuUsage()
    const cpu = (user + system) / 1e6
    metrics.cpu.inc(Math.max(0, cpu - this.#seen.cpu))
    this.#seen.cpu = cpu
    metrics.memory.set(process.memoryUsage.rss())
    for (const share of [50, 90, 99, 100]) {
      // The runtime's histogram holds its timer's own period; what is above it is the delay.
      const late = Math.max(0, this.#loop.percentile(share) / 1e9 - 0.02)
      if (Number.isFinite(late)) metrics.eventLoop.observe(late)
    }
    this.#loop.reset()
    if (this.#sources === null) return
    const { ledger, upstreams, limits, condition, running, ticks } = this.#sources
    metrics.running.set(running())
    for (const { name, gate } of upstreams.all) {
      metrics.callsRunning.set({ upstream: name }, gate.running)
      metrics.callsWaiting.set({ upstream: name }, gate.waiting)
    }
    for (const { target, state } of upstreams.states(ticks())) metrics.breaker.set({ target }, breakerValue[state])
    if (limits.elsewhere !== null) {
      const { lostSince, alone } = limits.elsewhere.vitals
      metrics.limitsLost.set(lostSince === null ? 0 : 1)
      metrics.limitedAlone.inc(alone - this.#seen.limitedAlone)
      this.#seen.limitedAlone = alone
    }
    this.#gatherDatabase(condition())
    const vitals = ledger.vitals()
    metrics.holdsOpen.set(vitals.holdsOpen)
    metrics.writerQueue.set(vitals.queue)
    metrics.owed.set(vitals.owed)
    metrics.owedSeconds.set(vitals.owedSince === null ? 0 : Math.max(0, Date.now() - vitals.owedSince) / 1000)
    metrics.commits.inc(vitals.commits - this.#seen.commits)
    metrics.operations.inc(vitals.operations - this.#seen.operations)
    metrics.syncs.inc(vitals.syncs - this.#seen.syncs)
    this.#seen = { ...this.#seen, commits: vitals.commits, operations: vitals.operations, syncs: vitals.syncs }
    for (const seconds of vitals.commitSeconds) metrics.commitSeconds.observe(seconds)
    for (const seconds of vitals.flushSeconds) metrics.flushSeconds.observe(seconds)
  }

  /** What is not known has no sample: 0 would be an alarm, and the last figure a lie. */
  #gatherDatabase(condition: Condition | null): void {
    const { connectionsLeft, standbys } = this.#metrics
    if (condition === null) connectionsLeft.remove()
    else connectionsLeft.set(condition.connections.left)
    if (condition === null || condition.standbys === null) standbys.remove()
    else standbys.set(condition.standbys.synchronous)
  }
}

/** What the upstream said is only logged where it is the operator's affair; what it says of a member's request may quote the prompt. */
function causeOf({ cause }: GatewayError): Record<string, unknown> {
  return cause instanceof UpstreamFailure ? { err: cause, said: ownWords(cause.facts) } : { err: cause }
}
