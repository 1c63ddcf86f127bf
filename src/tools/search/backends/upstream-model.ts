/** An upstream model with search. Three formats of its results are recognised by their shape, without a setting. */
import { isRecord } from '../../../exchange/request/chat-request.ts'
import type { Services } from '../../../services/services.ts'
import { createInternalCandidates } from '../../../upstream/internal-request.ts'
import type { Forwarder } from '../../../upstream/forward.ts'
import { validateChoices, inBandFailure } from '../../../upstream/response/validate-completion.ts'
import { parseUsage } from '../../../upstream/response/usage.ts'
import type { SearchBackend } from '../raw-result.ts'
import type { RawResult, RawCitation, RawHit } from '../raw-result.ts'
import { parseJson } from '../../../system/parse-json.ts'

export function createUpstreamModelBackend(forwarder: Forwarder, { upstreams }: Pick<Services, 'upstreams'>): SearchBackend {
  return {
    async search({ query, x, wire }) {
      const candidates = createInternalCandidates(x, upstreams, '/chat/completions', {
        messages: [{ role: 'user', content: query }],
      })
      const { document, upstreamHost } = await forwarder.fetchDocument(x, candidates, wire)
      return parseDocument(document, upstreamHost)
    },
  }
}

/** @throws UpstreamFailure if the answer is empty */
function parseDocument(document: Record<string, unknown>, upstreamHost: string | null): RawResult {
  const [choice] = validateChoices(document, upstreamHost)
  const message = isRecord(choice?.['message']) ? choice['message'] : {}
  const text = extractText(message['content'])
  const parsedAnswer =
    fromSearchResults(document, text) ?? fromAnnotations(message, text) ?? fromJson(text) ?? fromPlainText(text)
  if ((parsedAnswer.answer ?? '').trim() === '' && parsedAnswer.results.length === 0) throw inBandFailure('empty', upstreamHost)
  const usage = isRecord(document['usage']) ? document['usage'] : {}
  const searches = usage['num_search_queries']
  return {
    ...parsedAnswer,
    usage: parseUsage(usage),
    searches: typeof searches === 'number' && Number.isSafeInteger(searches) && searches >= 0 ? searches : null,
    warnings: choice?.['finish_reason'] === 'length' ? ['The answer was cut off at its maximum length.'] : [],
  }
}

type ParsedAnswer = Pick<RawResult, 'answer' | 'results' | 'citations'>

/** Perplexity: `search_results` beside the choices, and the older list of plain addresses. */
function fromSearchResults(document: Record<string, unknown>, text: string): ParsedAnswer | null {
  const { search_results: results, citations } = document
  if (Array.isArray(results) && results.length > 0) return { answer: text, results: results.map(toResult), citations: null }
  if (!Array.isArray(citations) || citations.length === 0) return null
  return { answer: text, results: citations.map((url: unknown) => toResult({ url })), citations: null }
}

/** OpenAI: `annotations` on the message, each with its position in the text. */
function fromAnnotations({ annotations }: Record<string, unknown>, text: string): ParsedAnswer | null {
  if (!Array.isArray(annotations)) return null
  const citations: RawCitation[] = []
  for (const annotation of annotations as unknown[]) {
    if (!isRecord(annotation) || annotation['type'] !== 'url_citation') continue
    const citation = isRecord(annotation['url_citation']) ? annotation['url_citation'] : annotation
    citations.push({ url: citation['url'], title: citation['title'], start: citation['start_index'], end: citation['end_index'] })
  }
  if (citations.length === 0) return null
  return { answer: text, results: citations.map(({ url, title }) => toResult({ url, title })), citations }
}

/** A model instructed to answer in JSON; a Markdown fence around it is accepted. */
function fromJson(text: string): ParsedAnswer | null {
  const inner = stripFence(text.trim())
  if (!inner.startsWith('{') || !inner.endsWith('}')) return null
  let value: unknown
  try {
    value = parseJson(inner)
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

/** In steps: one pattern over the whole text backtracks on long runs of blanks and blocks the process. */
function stripFence(text: string): string {
  return text
    .replace(/^```(?:json)?/, '')
    .replace(/```$/, '')
    .trim()
}

function fromPlainText(text: string): ParsedAnswer {
  return { answer: text, results: [], citations: null }
}

function toResult(item: unknown): RawHit {
  const from = isRecord(item) ? item : {}
  return {
    url: from['url'] ?? from['link'],
    title: from['title'] ?? from['name'],
    snippet: from['snippet'] ?? from['content'] ?? from['description'],
    published: from['date'] ?? from['published_at'] ?? from['published_date'] ?? from['last_updated'],
    score: from['score'],
  }
}

function extractText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part: unknown) => (isRecord(part) && typeof part['text'] === 'string' ? part['text'] : '')).join('')
}
