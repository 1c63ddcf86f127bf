/**
 * The line to a search engine: the configured address and nothing else, no redirects, bounded in time and in size. What goes wrong is
 * told in the same facts as for an upstream, so that the same table says what it means for the caller.
 */
import { isRecord } from '../../exchange/chat-request.ts'
import type { Services } from '../../gateway/services.ts'
import { readBounded } from '../../upstream/bounded-body.ts'
import { UpstreamFailure } from '../../exchange/upstream-failure.ts'
import { Agent } from '../../system/undici-agent.ts'
import { countsAgainstBreaker } from '../../upstream/fallback.ts'
import type { UpstreamFacts } from '../../exchange/upstream-failure.ts'
import { brokenFacts, refusalBytes, refusalFacts } from '../../upstream/http-facts.ts'
import type { Question } from './backend.ts'

export interface EngineRequest {
  readonly method: 'GET' | 'POST'
  readonly url: URL
  /** Sent to that address alone. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Statuses that mean something of the engine's own, by the name under which the table of failures knows it. */
  readonly refusals?: ReadonlyMap<number, string>
}

/** An engine's answer at most. */
const answerBytes = 4 * 1024 * 1024

export class Engine {
  readonly #name: string
  readonly #services: Pick<Services, 'config' | 'clock' | 'observe' | 'upstreams'>
  readonly #agent: Agent

  constructor(name: string, services: Pick<Services, 'config' | 'clock' | 'observe' | 'upstreams'>) {
    this.#name = `search/${name}`
    this.#services = services
    this.#agent = new Agent({ connections: 32, connect: { timeout: services.config.timeouts.connectMs } })
  }

  /**
   * The engine's JSON object. A client that leaves does not end the question: the engine counts it in any case, and only its answer tells
   * what it was worth. @throws UpstreamFailure
   */
  async ask(wanted: EngineRequest, { x }: Pick<Question, 'x'>): Promise<Record<string, unknown>> {
    const { upstreams, clock, observe } = this.#services
    const breaker = upstreams.breaker(this.#name)
    const startedAt = clock.ticks()
    // There is no other engine to go to, so it is asked in any case; what the breaker knows is for the metrics.
    breaker.allows(startedAt)
    x.attempted.target = this.#name
    x.attempted.status = null
    try {
      const document = await this.#exchange(wanted, x)
      breaker.record(true, clock.ticks(), startedAt)
      observe.upstreamTried(this.#name, 'ok')
      return document
    } catch (error) {
      const failure =
        error instanceof UpstreamFailure ? error : new UpstreamFailure(brokenFacts(error), wanted.url.hostname, { cause: error })
      breaker.record(!countsAgainstBreaker(failure.facts), clock.ticks(), startedAt)
      observe.upstreamTried(this.#name, failure.facts.kind)
      throw failure
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy()
  }

  async #exchange(wanted: EngineRequest, x: Question['x']): Promise<Record<string, unknown>> {
    const { url, method, headers, body, refusals } = wanted
    const fail = (facts: UpstreamFacts): UpstreamFailure => new UpstreamFailure(facts, url.hostname)
    const { request } = await import('undici')
    const answer = await request(url, {
      method,
      headers: { ...headers, accept: 'application/json', 'accept-encoding': 'identity', 'x-request-id': x.id },
      ...(body === undefined ? {} : { body }),
      dispatcher: this.#agent,
      signal: AbortSignal.timeout(this.#services.config.search.timeoutMs),
    })
    const status = answer.statusCode
    x.attempted.status = status
    x.debug.upstreamStatus = status
    if (status !== 200) {
      const text = (await readBounded(answer.body, refusalBytes))?.toString('utf8') ?? ''
      const name = refusals?.get(status) ?? refusalName(status, text)
      if (name !== null) throw fail({ kind: 'in_band', status, reason: 'error_object', error: { code: name } })
      throw fail(refusalFacts(status, answer.headers, text))
    }
    const bytes = await readBounded(answer.body, answerBytes)
    if (bytes === null) throw fail({ kind: 'in_band', status, reason: 'too_large' })
    let document: unknown
    try {
      document = JSON.parse(bytes.toString('utf8'))
    } catch {
      throw fail({ kind: 'in_band', status, reason: 'not_json' })
    }
    if (!isRecord(document)) throw fail({ kind: 'in_band', status, reason: 'not_json' })
    return document
  }
}

/**
 * What an engine refuses is a request of our making, so a refusal that would blame the member's request blames our set-up instead. Some
 * say 422 for a key that is not theirs.
 */
function refusalName(status: number, body: string): string | null {
  if (/\b(?:token|key)[_ ](?:is[_ ])?invalid\b|\binvalid[_ ](?:api[_ ])?(?:token|key)\b/i.test(body)) return 'invalid_api_key'
  return [400, 409, 413, 422].includes(status) ? 'permission_denied' : null
}
