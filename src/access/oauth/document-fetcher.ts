/** Fetches client id metadata documents. */
import { fetch } from 'undici'
import type { RequestInit } from 'undici'
import { isAllowedUrl, createPublicAgent } from '../ssrf-guard.ts'

const documentTimeoutMs = 5_000

/** A `fetch` for https addresses that strangers chose: public addresses only, no redirects. */
export function createDocumentFetcher(): typeof globalThis.fetch {
  const dispatcher = createPublicAgent(documentTimeoutMs)
  return async (address, init = {}) => {
    const url = new URL(address instanceof Request ? address.url : address)
    if (!isAllowedUrl(url)) throw new Error('the address is not allowed')
    const { method, headers, signal } = init
    return (await fetch(url, { method, headers, signal, redirect: 'error', dispatcher } as RequestInit)) as unknown as Response
  }
}
