/**
 * Fetches an image from an address that a model named, which is as untrusted as a stranger's. Only https, only public addresses; each redirect
 * is checked again; time and size are bounded; no credentials are sent.
 */
import { systemClock } from '../../system/clock.ts'
import type { Agent } from 'undici'
import { isAllowedUrl, createPublicAgent } from '../../access/ssrf-guard.ts'
import type { SsrfGuardOptions } from '../../access/ssrf-guard.ts'
import { discard, readBounded } from '../../upstream/bounded-body.ts'

export interface RemoteImageOptions extends SsrfGuardOptions {
  readonly maxBytes: number
}

const maxRedirects = 3
const timeoutMs = 30_000

export class RemoteImageFetcher {
  readonly #maxBytes: number
  readonly #options: SsrfGuardOptions
  readonly #agent: Agent

  constructor({ maxBytes, ...options }: RemoteImageOptions) {
    this.#maxBytes = maxBytes
    this.#options = options
    this.#agent = createPublicAgent(timeoutMs, options)
  }

  /** The bytes, or null if they cannot or must not be fetched. */
  async fetch(address: string, disconnected: AbortSignal): Promise<Buffer | null> {
    const signal = AbortSignal.any([disconnected, systemClock.deadline(timeoutMs)])
    try {
      const { request } = await import('undici')
      let url: URL | null = URL.parse(address)
      for (let hop = 0; hop <= maxRedirects; hop++) {
        if (url === null || !isAllowedUrl(url, this.#options)) return null
        const response = await request(url, { dispatcher: this.#agent, signal, headers: { accept: 'image/*' } })
        if (response.statusCode === 200) return await readBounded(response.body, this.#maxBytes)
        discard(response.body)
        const { location } = response.headers
        if (response.statusCode < 300 || response.statusCode > 399 || typeof location !== 'string') return null
        url = URL.parse(location, url.href)
      }
      return null
    } catch {
      // Every failure means no image; the caller reports it.
      return null
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy()
  }
}
