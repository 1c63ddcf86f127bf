/** The configured upstreams and the health of their targets: who can serve a product now, best first. */
import type { Dispatcher } from 'undici'
import type { GatewayConfig } from '../config/config.ts'
import type { LiveTarget } from '../exchange/plugin-services.ts'
import type { Target } from '../membership/product.ts'
import { basicAuthorization } from '../config/shown-url.ts'
import { Agent } from '../system/undici-agent.ts'
import { Breaker } from './breaker.ts'
import type { BreakerState } from './breaker.ts'
import { Dialect } from './dialect.ts'
import { Gate } from './gate.ts'
import { RetryBudget } from './retry-budget.ts'

type UpstreamConfig = GatewayConfig['upstreams'][string]

/** One upstream as it is called: its address, its secret, its connections. */
export interface Upstream {
  readonly name: string
  readonly url: URL
  readonly host: string
  readonly origin: string
  /** Path under which its API begins, as in `/v1`. */
  readonly basePath: string
  /** Sent with each request; nothing of the client's is. */
  readonly headers: Readonly<Record<string, string>>
  readonly config: UpstreamConfig
  readonly dispatcher: Dispatcher
  /** Its places: how many calls run at once, and how many wait. */
  readonly gate: Gate
}

export class Upstreams {
  readonly budget = new RetryBudget()
  readonly #upstreams: ReadonlyMap<string, Upstream>
  readonly #breakers = new Map<string, Breaker>()
  readonly #dialects = new Map<string, Dialect>()
  /** What to ask an upstream for where the configuration names no model. */
  readonly #listed = new Map<string, string>()
  readonly #random: () => number

  /** `demoUrl` is where the built-in demonstration upstream listens. `random` gives 0 ≤ n < 1. */
  constructor(config: GatewayConfig, demoUrl: string | null, random: () => number) {
    this.#random = random
    this.#upstreams = new Map(
      Object.entries(config.upstreams).map(([name, upstream]) => [
        name,
        open(name, upstream, demoUrl, config.timeouts.connectMs),
      ]),
    )
  }

  get(name: string): Upstream | undefined {
    return this.#upstreams.get(name)
  }

  get all(): Iterable<Upstream> {
    return this.#upstreams.values()
  }

  /**
   * The targets to try, best first: those in good health in an order drawn by weight, then those of weight 0. A target whose breaker is
   * open is left out while another can serve; when all are open, all are offered, because refusing everybody would hide a recovery.
   */
  candidates(targets: readonly Target[], fallbackModel: string | null, now: number): LiveTarget[] {
    const usable = targets.flatMap((target) => this.#live(target, fallbackModel) ?? [])
    if (usable.length <= 1) return usable.map(({ live }) => live)
    const healthy = usable.filter(({ live }) => this.breaker(live.name).wouldAllow(now))
    return drawn(healthy.length > 0 ? healthy : usable, this.#random)
  }

  breaker(target: string): Breaker {
    let breaker = this.#breakers.get(target)
    if (breaker === undefined) {
      breaker = new Breaker()
      this.#breakers.set(target, breaker)
    }
    return breaker
  }

  /** What is known of how a target (`upstream/model`) wants to be spoken to. */
  dialect(name: string, upstream: Upstream): Dialect {
    let dialect = this.#dialects.get(name)
    if (dialect === undefined) {
      dialect = new Dialect(upstream.config)
      this.#dialects.set(name, dialect)
    }
    return dialect
  }

  *states(now: number): Iterable<{ target: string; state: BreakerState }> {
    for (const [target, breaker] of this.#breakers) yield { target, state: breaker.state(now) }
  }

  /** Remembers an upstream's own model, for targets that name none. */
  list(upstream: string, model: string): void {
    this.#listed.set(upstream, model)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#upstreams.values()].map(({ dispatcher }) => dispatcher.destroy()))
  }

  #live(target: Target, fallbackModel: string | null): { live: LiveTarget; weight: number } | undefined {
    const upstream = this.#upstreams.get(target.upstream)
    const model = target.model ?? (fallbackModel === null ? null : (this.#listed.get(target.upstream) ?? fallbackModel))
    if (upstream === undefined || model === null) return undefined
    const name = `${upstream.name}/${model}`
    return { live: { name, upstream, model, dialect: this.dialect(name, upstream) }, weight: target.weight }
  }
}

function open(name: string, config: UpstreamConfig, demoUrl: string | null, connectMs: number): Upstream {
  const url = new URL(config.baseUrl === 'demo' ? (demoUrl ?? 'http://127.0.0.1:9/v1') : config.baseUrl)
  // `fetch` and its like refuse an address with credentials, and undici drops them: they are sent as what they stand for.
  const authorization = config.apiKey === null ? basicAuthorization(url) : `Bearer ${config.apiKey}`
  return {
    name,
    url,
    host: url.hostname,
    origin: url.origin,
    basePath: url.pathname.replace(/\/+$/, ''),
    headers: {
      ...config.headers,
      ...(authorization === null ? {} : { authorization }),
      'content-type': 'application/json',
      // What comes back is read and rewritten, so it must come as it is.
      'accept-encoding': 'identity',
    },
    config,
    // Our own deadlines watch every call; the dispatcher's would measure other things and end calls with other words.
    // Without a limit of its own: it would queue behind one without end and without a word. The gate is the limit.
    gate: new Gate({ places: config.connections, queue: config.queue, waitMs: config.queueMs }),
    dispatcher: new Agent({
      // A call over HTTP/2 that is given up while its body is being sent ends the process: see the decision.
      allowH2: false,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: 30_000,
      connect: { timeout: connectMs },
    }),
  }
}

function drawn(usable: readonly { live: LiveTarget; weight: number }[], random: () => number): LiveTarget[] {
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
  return [...order, ...usable.filter(({ weight }) => weight <= 0).map(({ live }) => live)]
}
