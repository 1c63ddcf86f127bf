/**
 * Fetches an image from an address that a model named, which is as good as a stranger's wish. Only https, only public addresses; redirects
 * start over; time and size are bounded; nothing of ours is sent along.
 */
import type { Agent } from 'undici'
import { mayAsk, publicAgent } from '../../access/public-network.ts'
import type { PublicOptions } from '../../access/public-network.ts'
import { discard, readBounded } from '../../upstream/bounded-body.ts'

export interface RemoteOptions extends PublicOptions {
  readonly maxBytes: number
}

const mostRedirects = 3
const deadlineMs = 30_000

export class RemoteImages {
  readonly #maxBytes: number
  readonly #options: PublicOptions
  readonly #agent: Agent

  constructor({ maxBytes, ...options }: RemoteOptions) {
    this.#maxBytes = maxBytes
    this.#options = options
    this.#agent = publicAgent(deadlineMs, options)
  }

  /** The bytes, or null where they cannot or may not be had. */
  async fetch(address: string, left: AbortSignal): Promise<Buffer | null> {
    const signal = AbortSignal.any([left, AbortSignal.timeout(deadlineMs)])
    try {
      const { request } = await import('undici')
      let url: URL | null = URL.parse(address)
      for (let hop = 0; hop <= mostRedirects; hop++) {
        if (url === null || !mayAsk(url, this.#options)) return null
        const answer = await request(url, { dispatcher: this.#agent, signal, headers: { accept: 'image/*' } })
        if (answer.statusCode === 200) return await readBounded(answer.body, this.#maxBytes)
        discard(answer.body)
        const { location } = answer.headers
        if (answer.statusCode < 300 || answer.statusCode > 399 || typeof location !== 'string') return null
        url = URL.parse(location, url)
      }
      return null
    } catch {
      // Whatever went wrong out there, there is no image; the caller says so in its own words.
      return null
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy()
  }
}
