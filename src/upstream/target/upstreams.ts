/** The configured upstreams and the health of their targets. Selects the targets that can serve now, best first. */
import { isDeepStrictEqual } from 'node:util'
import type { Dispatcher } from 'undici'
import type { GatewayConfig } from '../../config/config.ts'
import type { Exchange, Slots } from '../../exchange/exchange.ts'
import type { LiveTarget } from '../../exchange/plugins/plugin-services.ts'
import type { Target } from '../../domain/billing/catalog/product.ts'
import { toBasicAuthorization } from '../../config/redact-url.ts'
import { Agent } from '../../system/vendor/undici-agent.ts'
import type { Breaker, BreakerState } from './breaker.ts'
import { identifyCaller, noCaller } from './target-caller.ts'
import { identifySession, orderBySession } from './session-order.ts'
import { TakenOutSet } from '../taken-out-set.ts'
import { TargetHealth } from './target-health.ts'
import { Dialect } from './dialect.ts'
import { anthropicFormat, createAnthropicHeaders } from '../format/anthropic-format.ts'
import { createGeminiHeaders, geminiFormat } from '../format/gemini-format.ts'
import { responsesFormat } from '../format/responses-format.ts'
import type { UpstreamFormat } from '../format/upstream-format.ts'
import { UpstreamConcurrencyLimiter } from './concurrency-limiter.ts'
import { PromptRatios } from './prompt-ratios.ts'
import { RetryBudget } from './retry-budget.ts'
import { TargetCapabilities } from './target-capabilities.ts'

type UpstreamConfig = GatewayConfig['upstreams'][string]

/** One upstream: address, credential, connections. */
export interface Upstream {
  readonly name: string
  readonly url: URL
  readonly host: string
  readonly origin: string
  /** Path of its API, as in `/v1`. */
  readonly basePath: string
  /** Its host and its credentials, which no message to a client may contain. */
  readonly redact: readonly string[]
  /** Sent with each request; client headers are not sent. */
  readonly headers: Readonly<Record<string, string>>
  readonly config: UpstreamConfig
  /** Its API, if it offers no chat completions. */
  readonly format: UpstreamFormat | null
  readonly dispatcher: Dispatcher
  /** Makes a connection for each request. */
  readonly newConnectionDispatcher: Dispatcher
  /** Limits concurrent and queued calls. */
  readonly limiter: UpstreamConcurrencyLimiter
}

export class Upstreams {
  readonly retryBudget: RetryBudget
  readonly promptRatios = new PromptRatios()
  readonly capabilities = new TargetCapabilities()
  /** Targets that an operator has taken out. */
  readonly takenOut: TakenOutSet
  readonly #upstreams: ReadonlyMap<string, Upstream>
  readonly #health = new Map<string, TargetHealth>()
  readonly #dialects = new Map<string, Dialect>()
  /** Model per upstream, for targets whose configuration names none. */
  readonly #defaultModels = new Map<string, string>()
  /** Upstreams whose model list is needed and could not be read yet. */
  readonly unreadModelLists = new Set<string>()
  readonly #random: () => number
  readonly #searchConfig: GatewayConfig['search']

  /**
   * `demoUrl` is the address of the built-in demo upstream. `random` returns 0 ≤ n < 1. Upstreams that are as they were in `previous` are
   * taken over with their connections and what was learned of their targets; an upstream that has changed begins anew.
   */
  constructor(config: GatewayConfig, demoUrl: string | null, random: () => number, previous?: Upstreams) {
    this.#random = random
    this.#searchConfig = config.search
    this.retryBudget = previous?.retryBudget ?? new RetryBudget()
    this.takenOut = previous?.takenOut ?? new TakenOutSet()
    this.#upstreams = new Map(
      Object.entries(config.upstreams).map(([name, upstream]) => {
        const earlierUpstream = previous?.get(name)
        return earlierUpstream !== undefined && isDeepStrictEqual(earlierUpstream.config, upstream)
          ? [name, earlierUpstream]
          : [name, createUpstream(name, upstream, demoUrl, config.timeouts.connectMs, earlierUpstream)]
      }),
    )
    if (previous !== undefined) this.#adoptTargets(previous, config)
  }

  /** Takes over what is known of the targets that are still configured, and of the search engine. */
  #adoptTargets(previous: Upstreams, config: GatewayConfig): void {
    for (const [name, model] of previous.#defaultModels)
      if (this.#upstreams.get(name) === previous.get(name)) this.#defaultModels.set(name, model)
    const adoptedTargets = Object.entries(config.products).flatMap(([id, { targets }]) =>
      targets
        .filter(({ upstream }) => this.#upstreams.get(upstream) === previous.get(upstream))
        .map(({ upstream, model }) => `${upstream}/${model ?? this.#defaultModels.get(upstream) ?? id}`),
    )
    if (isDeepStrictEqual(previous.#searchConfig, config.search)) adoptedTargets.push(`search/${config.search.backend}`)
    for (const target of adoptedTargets) {
      const [health, dialect] = [previous.#health.get(target), previous.#dialects.get(target)]
      if (health !== undefined) this.#health.set(target, health)
      if (dialect !== undefined) this.#dialects.set(target, dialect)
      this.capabilities.adopt(target, previous.capabilities)
      this.promptRatios.adopt(target, previous.promptRatios)
    }
  }

  get(name: string): Upstream | undefined {
    return this.#upstreams.get(name)
  }

  get all(): Iterable<Upstream> {
    return this.#upstreams.values()
  }

  /**
   * The targets to try, best first: healthy ones by weight, in an order of the conversation or at random, then those of weight 0. A target with an open breaker is left
   * out while another can serve; if all are open, all are offered, because rejecting everything would hide a recovery. One that an operator has
   * taken out is never offered.
   *
   * @param x whose turn it is: a target may rest for one account's requests of a kind
   */
  selectCandidates(
    targets: readonly Target[],
    fallbackModel: string | null,
    now: number,
    x?: Exchange & Partial<Slots>,
  ): LiveTarget[] {
    const resolvedTargets = targets.flatMap((target) => this.#resolveTarget(target, fallbackModel) ?? [])
    const usableTargets = this.takenOut.isEmpty
      ? resolvedTargets
      : resolvedTargets.filter(({ live }) => this.takenOut.remainingMs(live.name, now) === 0)
    if (usableTargets.length <= 1) return usableTargets.map(({ live }) => live)
    const caller = x === undefined ? noCaller : identifyCaller(x)
    const healthy = usableTargets.filter(({ live }) => this.getHealth(live.name).wouldAdmit(now, caller))
    const session = x === undefined ? null : identifySession(x)
    const candidates = healthy.length > 0 ? healthy : usableTargets
    const weightedTargets =
      session === null
        ? orderByWeight(candidates, this.#random)
        : orderBySession(candidates, session, (target) => this.getHealth(target).isDoubtful(now, caller))
    return [...weightedTargets, ...candidates.filter(({ weight }) => weight <= 0).map(({ live }) => live)]
  }

  /** Milliseconds until the first of these targets is back; null unless operators have taken out all that are set up. */
  findReturnMs(targets: readonly Target[], fallbackModel: string | null, now: number): number | null {
    const remainingMs = this.listTargets(targets, fallbackModel).map(({ name }) => this.takenOut.remainingMs(name, now))
    return remainingMs.length === 0 || remainingMs.includes(0) ? null : Math.min(...remainingMs)
  }

  /** All targets that are set up, whatever their health. */
  listTargets(targets: readonly Target[], fallbackModel: string | null): readonly LiveTarget[] {
    return targets.flatMap((target) => this.#resolveTarget(target, fallbackModel)?.live ?? [])
  }

  getBreaker(target: string): Breaker {
    return this.getHealth(target).breaker
  }

  /** The health of a target (`upstream/model`), or of a search engine (`search/name`). */
  getHealth(target: string): TargetHealth {
    let health = this.#health.get(target)
    if (health === undefined) {
      const upstream = this.#upstreams.get(target.slice(0, target.indexOf('/')))
      health = new TargetHealth(upstream?.config ?? this.#searchConfig)
      this.#health.set(target, health)
    }
    return health
  }

  /** The request format of a target (`upstream/model`). */
  getDialect(name: string, upstream: Upstream): Dialect {
    let dialect = this.#dialects.get(name)
    if (dialect === undefined) {
      dialect = new Dialect(upstream.config)
      this.#dialects.set(name, dialect)
    }
    return dialect
  }

  *breakerStates(now: number): Iterable<{ target: string; state: BreakerState }> {
    for (const [target, { breaker }] of this.#health) yield { target, state: breaker.state(now) }
  }

  /** Sets an upstream's default model, for targets that name none. */
  setDefaultModel(upstream: string, model: string): void {
    this.#defaultModels.set(upstream, model)
  }

  /** Closes the connections, except those of upstreams that `users` have taken over. */
  async close(users: readonly Upstreams[] = []): Promise<void> {
    const unusedUpstreams = [...this.#upstreams.values()].filter(
      (upstream) => !users.some((user) => user.get(upstream.name) === upstream),
    )
    await Promise.all(
      unusedUpstreams.flatMap(({ dispatcher, newConnectionDispatcher }) => [
        dispatcher.destroy(),
        newConnectionDispatcher.destroy(),
      ]),
    )
  }

  #resolveTarget(target: Target, fallbackModel: string | null): { live: LiveTarget; weight: number } | undefined {
    const upstream = this.#upstreams.get(target.upstream)
    const model = target.model ?? (fallbackModel === null ? null : (this.#defaultModels.get(target.upstream) ?? fallbackModel))
    if (upstream === undefined || model === null) return undefined
    const name = `${upstream.name}/${model}`
    const { weight, cost = null } = target
    return { live: { name, upstream, model, cost, dialect: this.getDialect(name, upstream) }, weight }
  }
}

/** Kinds of upstreams with an API of their own, and how the key is sent to them. */
const ownApis: Readonly<
  Partial<
    Record<
      UpstreamConfig['kind'],
      { readonly format: UpstreamFormat; readonly createHeaders: (apiKey: string | null) => Record<string, string> }
    >
  >
> = {
  anthropic: { format: anthropicFormat, createHeaders: createAnthropicHeaders },
  gemini: { format: geminiFormat, createHeaders: createGeminiHeaders },
}

/** @param earlier the upstream of this name before its settings changed */
function createUpstream(
  name: string,
  config: UpstreamConfig,
  demoUrl: string | null,
  connectMs: number,
  earlier?: Upstream,
): Upstream {
  const url = new URL(config.baseUrl === 'demo' ? (demoUrl ?? 'http://127.0.0.1:9/v1') : config.baseUrl)
  // `fetch` rejects a URL with credentials, and undici drops them: they are sent as a header.
  const connectionOptions = {
    // An HTTP/2 call that is aborted while its body is being sent ends the process, so HTTP/2 is off.
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: connectMs },
  }
  const ownApi = ownApis[config.kind]
  const authorization = config.apiKey === null || ownApi !== undefined ? toBasicAuthorization(url) : `Bearer ${config.apiKey}`
  return {
    name,
    url,
    host: url.hostname,
    redact: [url.hostname, config.apiKey, url.password, ...Object.values(config.headers)].filter(
      (word): word is string => word !== null && word !== '',
    ),
    origin: url.origin,
    basePath: url.pathname.replace(/\/+$/, ''),
    headers: {
      ...ownApi?.createHeaders(config.apiKey),
      ...lowerCaseNames(config.headers),
      ...(authorization === null ? {} : { authorization }),
      'content-type': 'application/json',
      // The response is read and rewritten, so it must not be compressed.
      'accept-encoding': 'identity',
    },
    config,
    format: ownApi?.format ?? (config.responses ? responsesFormat : null),
    // `Deadlines` watches every call; the dispatcher's timeouts measure other things and are off. The dispatcher also has no connection
    // limit, because it would queue without bound: the limiter bounds calls.
    limiter: createLimiter(config, earlier?.origin === url.origin ? earlier.limiter : undefined),
    dispatcher: new Agent({ ...connectionOptions, keepAliveTimeout: 30_000 }),
    newConnectionDispatcher: new Agent({ ...connectionOptions, pipelining: 0 }),
  }
}

/** Calls that began before a change of the settings count for the same server. */
function createLimiter(
  { connections: slots, maxPending, maxPendingMs }: UpstreamConfig,
  earlier?: UpstreamConcurrencyLimiter,
): UpstreamConcurrencyLimiter {
  const options = { slots, maxPending, maxPendingMs }
  if (earlier === undefined) return new UpstreamConcurrencyLimiter(options)
  earlier.configure(options)
  return earlier
}

/** A configured header replaces the gateway's own of the same name, however it is written. */
function lowerCaseNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

function orderByWeight(usable: readonly { live: LiveTarget; weight: number }[], random: () => number): LiveTarget[] {
  const order: LiveTarget[] = []
  const rest = usable.filter(({ weight }) => weight > 0)
  while (rest.length > 0) {
    let at = random() * rest.reduce((sum, { weight }) => sum + weight, 0)
    const index = Math.max(
      0,
      rest.findIndex(({ weight }) => (at -= weight) < 0),
    )
    order.push(...rest.splice(index, 1).map(({ live }) => live))
  }
  return order
}
