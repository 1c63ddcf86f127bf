/** An upstream model that searches by itself. Three ways of telling what it found are understood, by their shape and not by a setting. */
import { isRecord } from '../../../exchange/chat-request.ts'
import type { Services } from '../../../gateway/services.ts'
import { askInstead } from '../../../upstream/ask-instead.ts'
import type { Forwarder } from '../../../upstream/forward.ts'
import { choicesOf, noSuccess } from '../../../upstream/success.ts'
import { usageOf } from '../../../upstream/usage.ts'
import type { Backend } from '../backend.ts'
import type { Found, FoundCitation, FoundResult } from '../found.ts'

export function upstreamModel(forwarder: Forwarder, { upstreams }: Pick<Services, 'upstreams'>): Backend {
  return {
    async find({ query, x, wire }) {
      const candidates = askInstead(x, upstreams, '/chat/completions', { messages: [{ role: 'user', content: query }] })
      const { document, upstreamHost } = await forwarder.document(x, candidates, wire)
      return foundIn(document, upstreamHost)
    },
  }
}

/** @throws UpstreamFailure where the answer says nothing */
function foundIn(document: Record<string, unknown>, upstreamHost: string | null): Found {
  const [choice] = choicesOf(document, upstreamHost)
  const message = isRecord(choice?.['message']) ? choice['message'] : {}
  const text = textOf(message['content'])
  const told = fromSearchResults(document, text) ?? fromAnnotations(message, text) ?? fromJson(text) ?? plain(text)
  if ((told.answer ?? '').trim() === '' && told.results.length === 0) throw noSuccess('empty', upstreamHost)
  const usage = isRecord(document['usage']) ? document['usage'] : {}
  const searches = usage['num_search_queries']
  return {
    ...told,
    usage: usageOf(usage),
    searches: typeof searches === 'number' && Number.isSafeInteger(searches) && searches >= 0 ? searches : null,
    warnings: choice?.['finish_reason'] === 'length' ? ['The answer was cut off at its maximum length.'] : [],
  }
}

type Told = Pick<Found, 'answer' | 'results' | 'citations'>

/** Perplexity: `search_results` beside the choices, and the older list of bare addresses. */
function fromSearchResults(document: Record<string, unknown>, text: string): Told | null {
  const { search_results: results, citations } = document
  if (Array.isArray(results) && results.length > 0) return { answer: text, results: results.map(toResult), citations: null }
  if (!Array.isArray(citations) || citations.length === 0) return null
  return { answer: text, results: citations.map((url: unknown) => toResult({ url })), citations: null }
}

/** OpenAI: `annotations` on the message, each with its place in the text. */
function fromAnnotations({ annotations }: Record<string, unknown>, text: string): Told | null {
  if (!Array.isArray(annotations)) return null
  const citations: FoundCitation[] = []
  for (const annotation of annotations as unknown[]) {
    if (!isRecord(annotation) || annotation['type'] !== 'url_citation') continue
    const cited = isRecord(annotation['url_citation']) ? annotation['url_citation'] : annotation
    citations.push({ url: cited['url'], title: cited['title'], start: cited['start_index'], end: cited['end_index'] })
  }
  if (citations.length === 0) return null
  return { answer: text, results: citations.map(({ url, title }) => toResult({ url, title })), citations }
}

/** A model that was told to answer in JSON; a fence of Markdown around it is forgiven. */
function fromJson(text: string): Told | null {
  const inner = withoutFence(text.trim())
  if (!inner.startsWith('{') || !inner.endsWith('}')) return null
  let value: unknown
  try {
    value = JSON.parse(inner)
  } catch {
    return null
  }
  if (!isRecord(value)) return null
  const answer = [value['answer'], value['summary'], value['text']].find((field) => typeof field === 'string') ?? ''
  const results = [value['results'], value['sources'], value['search_results'], value['citations']].find((field) =>
    Array.isArray(field),
  )
  if (results === undefined && answer === '') return null
  return {
    answer: typeof answer === 'string' ? answer : '',
    results: (results ?? []).map((item: unknown) => toResult(typeof item === 'string' ? { url: item } : item)),
    citations: null,
  }
}

/** Step by step: a pattern over all of it would try each way to share out a long run of blanks, and stop the process meanwhile. */
function withoutFence(text: string): string {
  return text
    .replace(/^```(?:json)?/, '')
    .replace(/```$/, '')
    .trim()
}

function plain(text: string): Told {
  return { answer: text, results: [], citations: null }
}

function toResult(item: unknown): FoundResult {
  const from = isRecord(item) ? item : {}
  return {
    url: from['url'] ?? from['link'],
    title: from['title'] ?? from['name'],
    snippet: from['snippet'] ?? from['content'] ?? from['description'],
    published: from['date'] ?? from['published_at'] ?? from['published_date'] ?? from['last_updated'],
    score: from['score'],
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part: unknown) => (isRecord(part) && typeof part['text'] === 'string' ? part['text'] : '')).join('')
}
