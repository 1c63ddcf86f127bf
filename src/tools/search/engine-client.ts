/**
 * HTTP client of a search engine: the configured address only, no redirects, bounded time and size. Failures are reported in the same form as
 * an upstream's, so that the same table maps them to errors.
 */
import { isRecord } from '../../exchange/request/chat-request.ts'
import type { Services } from '../../services/services.ts'
import { readBounded } from '../../upstream/bounded-body.ts'
import { UpstreamFailure } from '../../exchange/upstream-failure.ts'
import { Agent } from '../../system/vendor/undici-agent.ts'
import type { FailureFacts } from '../../exchange/upstream-failure.ts'
import { toConnectionFacts, maxErrorBodyBytes, toStatusFacts } from '../../upstream/errors/failure-facts.ts'
import { identifyCaller } from '../../upstream/target/target-caller.ts'
import type { SearchContext } from './raw-result.ts'
import { parseJson } from '../../system/parse-json.ts'

interface EngineRequest {
  readonly method: 'GET' | 'POST'
  readonly url: URL
  /** Sent to that address alone. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Statuses with a meaning of the engine's own, by their name in the failure table. */
  readonly errorNames?: ReadonlyMap<number, string>
}

/** Maximum size of an engine's answer. */
const maxResponseBytes = 4 * 1024 * 1024

export class SearchEngineClient {
  readonly #name: string
  readonly #services: Pick<Services, 'config' | 'clock' | 'telemetry' | 'upstreams'>
  readonly #agent: Agent

  constructor(name: string, services: Pick<Services, 'config' | 'clock' | 'telemetry' | 'upstreams'>) {
    this.#name = `search/${name}`
    this.#services = services
    this.#agent = new Agent({ connections: 32, connect: { timeout: services.config.timeouts.connectMs } })
  }

  /**
   * The engine's JSON object. A client that disconnects does not end the request: the engine charges it in any case, and only its answer
   * shows the cost. @throws UpstreamFailure
   */
  async request(engineRequest: EngineRequest, { x }: Pick<SearchContext, 'x'>): Promise<Record<string, unknown>> {
    const { upstreams, clock, telemetry } = this.#services
    const health = upstreams.getHealth(this.#name)
    const caller = identifyCaller(x)
    const startedAt = clock.monotonicMs()
    x.lastAttempt.target = this.#name
    x.lastAttempt.status = null
    if (!health.admits(startedAt, false, caller)) throw health.refuse(startedAt, caller)
    try {
      const document = await this.#send(engineRequest, x)
      health.recordSuccess(clock.monotonicMs(), startedAt, caller)
      telemetry.recordUpstreamAttempt(this.#name, 'ok')
      return document
    } catch (error) {
      const failure =
        error instanceof UpstreamFailure
          ? error
          : new UpstreamFailure(toConnectionFacts(error), engineRequest.url.hostname, { cause: error })
      health.recordFailure(failure, clock.monotonicMs(), startedAt, caller)
      telemetry.recordUpstreamAttempt(this.#name, failure.facts.kind)
      throw failure
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy()
  }

  async #send(engineRequest: EngineRequest, x: SearchContext['x']): Promise<Record<string, unknown>> {
    const { url, method, headers, body, errorNames } = engineRequest
    const fail = (facts: FailureFacts): UpstreamFailure => new UpstreamFailure(facts, url.hostname)
    const { costPerSearch } = this.#services.config.search
    // The engine charges for the request whether or not its answer is of use.
    if (costPerSearch !== null) x.searchCostNanodollars = (x.searchCostNanodollars ?? 0) + Math.round(costPerSearch * 1e9)
    const { request } = await import('undici')
    const response = await request(url, {
      method,
      headers: { ...headers, accept: 'application/json', 'accept-encoding': 'identity', 'x-request-id': x.id },
      ...(body === undefined ? {} : { body }),
      dispatcher: this.#agent,
      signal: this.#services.clock.deadline(this.#services.config.search.timeoutMs),
    })
    const status = response.statusCode
    x.lastAttempt.status = status
    x.debug.upstreamStatus = status
    if (status !== 200) {
      const text = (await readBounded(response.body, maxErrorBodyBytes))?.toString('utf8') ?? ''
      const name = errorNames?.get(status) ?? toErrorName(status, text)
      if (name !== null) throw fail({ kind: 'in_band', status, reason: 'error_object', error: { code: name } })
      throw fail(toStatusFacts(status, response.headers, text))
    }
    const bytes = await readBounded(response.body, maxResponseBytes)
    if (bytes === null) throw fail({ kind: 'in_band', status, reason: 'too_large' })
    let document: unknown
    try {
      document = parseJson(bytes.toString('utf8'))
    } catch {
      throw fail({ kind: 'in_band', status, reason: 'not_json' })
    }
    if (!isRecord(document)) throw fail({ kind: 'in_band', status, reason: 'not_json' })
    return document
  }
}

/**
 * The gateway builds the engine's requests, so a refusal that would blame the member's request blames the configuration instead. Some engines
 * answer 422 for a wrong key.
 */
function toErrorName(status: number, body: string): string | null {
  if (/\b(?:token|key)[_ ](?:is[_ ])?invalid\b|\binvalid[_ ](?:api[_ ])?(?:token|key)\b/i.test(body)) return 'invalid_api_key'
  return [400, 409, 413, 422].includes(status) ? 'permission_denied' : null
}
