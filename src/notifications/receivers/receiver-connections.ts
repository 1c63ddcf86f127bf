/** Connections to receivers. An address of a private network is refused, also behind a public name, unless the receiver allows it. */
import type { Dispatcher } from 'undici'
import { createPublicAgent } from '../../access/ssrf-guard.ts'
import type { SsrfGuardOptions } from '../../access/ssrf-guard.ts'
import { Agent } from '../../system/vendor/undici-agent.ts'

/** Above the time that an attempt may take. */
const silenceMs = 60_000

export class ReceiverConnections {
  readonly #anywhere = new Agent({ connections: 8, keepAliveTimeout: 1_000, connect: { timeout: 10_000 } })
  readonly #public: Agent

  constructor(options: SsrfGuardOptions = {}) {
    this.#public = createPublicAgent(silenceMs, options)
  }

  find(allowPrivate: boolean): Dispatcher {
    return allowPrivate ? this.#anywhere : this.#public
  }

  async destroy(): Promise<void> {
    await Promise.all([this.#anywhere.destroy(), this.#public.destroy()])
  }
}
