/** From the model's call to a query, and from the document to the result that the model reads. */
import type { SearchDocument, SearchResult } from '../../api/search-document.ts'
import { maxLengths } from '../../api/search-document.ts'
import { GatewayError } from '../../errors.ts'
import type { SearchSource } from '../../conversation/answer-event.ts'
import type { HostedSearchOptions } from '../../exchange/hosted-search.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'
import { parseQuery } from '../search/query.ts'
import { parseJson } from '../../system/parse-json.ts'

/** The query of a call; null if it has none that can be searched for. */
export function parseSearchCall(args: string): string | null {
  try {
    const value: unknown = parseJson(args)
    return parseQuery(isRecord(value) ? value['query'] : undefined, 'query')
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof GatewayError) return null
    throw error
  }
}

type DomainFilter = Pick<HostedSearchOptions, 'allowedDomains' | 'blockedDomains'>

/** Engines read these operators; `filterResults` applies the rule where they do not. */
export function toSearchQuery(query: string, { allowedDomains, blockedDomains }: DomainFilter): string {
  const allowedTerms = allowedDomains.map((domain) => `site:${domain}`).join(' OR ')
  const blockedTerms = blockedDomains.map((domain) => `-site:${domain}`).join(' ')
  const filteredQuery = [query, allowedTerms, blockedTerms].filter((part) => part !== '').join(' ')
  return [...filteredQuery].length > maxLengths.query ? query : filteredQuery
}

export function filterResults(
  results: readonly SearchResult[],
  { allowedDomains, blockedDomains }: DomainFilter,
): readonly SearchResult[] {
  return results.filter(
    ({ url }) =>
      (allowedDomains.length === 0 || allowedDomains.some((domain) => isInDomain(url, domain))) &&
      !blockedDomains.some((domain) => isInDomain(url, domain)),
  )
}

/** The host itself, its subdomains, and `*` for any part of a name. */
function isInDomain(url: string, domain: string): boolean {
  const parsedUrl = URL.parse(url)
  if (parsedUrl === null) return false
  const slash = domain.indexOf('/')
  const host = (slash === -1 ? domain : domain.slice(0, slash)).replace(/^\*\./, '')
  const path = slash === -1 ? '' : domain.slice(slash)
  const isHost = parsedUrl.hostname === host || parsedUrl.hostname.endsWith(`.${host}`)
  return isHost && parsedUrl.pathname.toLowerCase().startsWith(path)
}

/** Numbered on from the sources of earlier searches, so that a mark has one meaning in the turn. */
export function toSources(results: readonly SearchResult[], before: number): readonly SearchSource[] {
  return results.map(({ url, title, snippet, published_at: publishedAt }, i) => ({
    number: before + i + 1,
    url,
    title,
    snippet,
    publishedAt,
  }))
}

/** @param options.withAnswer false if the answer may come from results that were left out */
export function toToolResult(
  { answer, results }: Pick<SearchDocument, 'answer'> & { readonly results: readonly SearchResult[] },
  sources: readonly SearchSource[],
  { withAnswer }: { readonly withAnswer: boolean },
): string {
  const numbers = new Map(results.map(({ index }, i) => [index, sources[i]?.number]))
  const renumberedAnswer = answer.replaceAll(/\[(\d{1,2}(?:\s?,\s?\d{1,2}){0,9})\](?!\()/g, (_mark, list: string) => {
    const knownNumbers = list.split(',').flatMap((number) => numbers.get(Number(number)) ?? [])
    return knownNumbers.length === 0 ? '' : `[${knownNumbers.join(', ')}]`
  })
  return JSON.stringify({
    ...(withAnswer && answer !== '' ? { answer: renumberedAnswer } : {}),
    sources: sources.map(({ number, title, url, snippet, publishedAt }) => ({
      number,
      title,
      url,
      text: snippet,
      ...(publishedAt === null ? {} : { published: publishedAt }),
    })),
    ...(sources.length === 0 ? { note: 'No source was found.' } : {}),
  })
}
