/** Client id metadata documents: whether this service reads the documents by which programs describe themselves, and announces that it does. */
import type { GatewayConfig } from '../../config/config.ts'
import type { Clock } from '../../system/clock.ts'

export type ClientDocumentMode = GatewayConfig['oauth']['clientIdDocuments']

interface ClientDocumentOptions {
  readonly mode: ClientDocumentMode
  /** Any public address; every answer proves that the internet can be reached. */
  readonly probeUrl: string
  readonly clock: Clock
  /** For tests. */
  readonly fetch?: typeof globalThis.fetch
}

const probeTimeoutMs = 5_000
/** How long a reader of the metadata waits for the first probe. */
const maxWaitMs = 1_000
const successTtlMs = 10 * 60_000
const failureTtlMs = 60_000

/**
 * Programs that see the announcement name the address of their document instead of registering, and some keep that choice after a failure. So the
 * announcement is made only if the documents can be read.
 */
export class ClientDocuments {
  readonly #options: ClientDocumentOptions
  #result: { readonly isReachable: boolean; readonly at: number } | undefined
  #probe: Promise<boolean> | undefined

  constructor(options: ClientDocumentOptions) {
    this.#options = options
  }

  async isAnnounced(): Promise<boolean> {
    const { mode, clock } = this.#options
    if (mode !== 'auto') return mode === 'on'
    const result = this.#result
    const age = result === undefined ? Infinity : clock.monotonicMs() - result.at
    if (result !== undefined && age < (result.isReachable ? successTtlMs : failureTtlMs)) return result.isReachable
    this.#probe ??= this.#runProbe().finally(() => (this.#probe = undefined))
    return clock.within(maxWaitMs, this.#probe).catch(() => result?.isReachable ?? false)
  }

  async #runProbe(): Promise<boolean> {
    const { probeUrl, clock, fetch: fetchDocument } = this.#options
    const isReachable = (await findInternetFault(probeUrl, clock, fetchDocument)) === null
    this.#result = { isReachable, at: clock.monotonicMs() }
    return isReachable
  }
}

/** Why the address cannot be reached; null if it answers. */
export async function findInternetFault(
  probeUrl: string,
  clock: Clock,
  fetchDocument?: typeof globalThis.fetch,
): Promise<unknown> {
  try {
    // Loaded with the first probe: a start does not need it.
    const fetch = fetchDocument ?? (await import('./document-fetcher.ts')).createDocumentFetcher()
    const response = await fetch(probeUrl, { method: 'HEAD', signal: clock.deadline(probeTimeoutMs) })
    await response.body?.cancel()
    return null
  } catch (error) {
    return error instanceof Error && error.cause !== undefined ? error.cause : error
  }
}
