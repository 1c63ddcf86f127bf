/**
 * The application under one configuration: its services, upstream calls and routes. A reload makes another one for new requests, and a
 * request ends in the application in which it began, so that a turn has one price and one set of upstreams.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { PluginChain } from '../../exchange/plugins/plugin-chain.ts'
import { createApp } from '../../http/app.ts'
import type { RouteDeps } from '../../http/route-deps.ts'
import { TurnHandlers } from '../../tools/turn-handlers.ts'
import { Forwarder } from '../../upstream/forward.ts'
import type { CreatedServices } from '../create-services.ts'

interface ConfiguredAppOptions {
  readonly services: CreatedServices
  readonly chain: PluginChain
  readonly operations: RouteDeps['operations']
}

export class ConfiguredApp {
  readonly services: CreatedServices
  readonly forwarder: Forwarder
  readonly #turnHandlers: TurnHandlers
  readonly #handler: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  #running = 0
  readonly #idle = Promise.withResolvers<void>()
  #isRetired = false

  constructor({ services, chain, operations }: ConfiguredAppOptions) {
    const { config, upstreams, clock, telemetry } = services
    this.services = services
    this.forwarder = new Forwarder({
      config,
      upstreams,
      clock,
      onAttempt: (target, outcome) => telemetry.recordUpstreamAttempt(target, outcome),
    })
    this.#turnHandlers = new TurnHandlers(services, this.forwarder)
    this.#handler = createApp({ services, chain, turnHandlers: this.#turnHandlers, operations }).callback()
  }

  /** Handles a request to its end; a turn also settles before it resolves. */
  readonly handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    this.#running++
    try {
      await this.#handler(request, response)
    } finally {
      this.#running--
      this.#resolveIfIdle()
    }
  }

  /** Call this when requests are handled elsewhere. Resolves when the last one has ended here. */
  retire(): Promise<void> {
    this.#isRetired = true
    this.#resolveIfIdle()
    return this.#idle.promise
  }

  /** Releases everything except what `users` have taken over. */
  async close(users: readonly ConfiguredApp[] = []): Promise<void> {
    const { bodyParser, upstreams } = this.services
    if (!users.some(({ services }) => services.bodyParser === bodyParser)) await bodyParser.close()
    this.forwarder.close()
    await this.#turnHandlers.close()
    await upstreams.close(users.map(({ services }) => services.upstreams))
  }

  #resolveIfIdle(): void {
    if (this.#isRetired && this.#running === 0) this.#idle.resolve()
  }
}
