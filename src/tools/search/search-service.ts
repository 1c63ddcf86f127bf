/** The search: one path behind the tool call, the tool protocol and the chat with the search product. */
import type { Exchange, Slots, Usage } from '../../exchange/exchange.ts'
import { ClientDisconnected } from '../../exchange/exchange.ts'
import type { CallContext } from '../../exchange/plugins/plugin-chain.ts'
import type { Product } from '../../domain/billing/catalog/product.ts'
import type { Services } from '../../services/services.ts'
import { UpstreamFailure } from '../../exchange/upstream-failure.ts'
import type { Forwarder } from '../../upstream/forward.ts'
import { isPlausible, bytesToTokens } from '../../upstream/response/usage.ts'
import { addGroundedAnswer } from './grounded-answer.ts'
import type { RawResult, SearchBackend, SearchContext, SearchSettings } from './raw-result.ts'
import { createBraveBackend } from './backends/brave.ts'
import { createSearxngBackend } from './backends/searxng.ts'
import { createTavilyBackend } from './backends/tavily.ts'
import { createUpstreamModelBackend } from './backends/upstream-model.ts'
import { toDocument } from './document.ts'
import { SearchEngineClient } from './engine-client.ts'
import { extractQuery } from './query.ts'
import type { SearchDocument } from '../../api/search-document.ts'
import { createDocumentJsonSchema, createDocumentSchema } from './document-schema.ts'

export interface SearchOutcome {
  readonly document: SearchDocument
  readonly usage: Usage
}

export class SearchService {
  /** The search product; undefined if none is configured. */
  readonly product: Product | undefined
  /** The search product's model id. */
  readonly model: string
  /** The document's JSON Schema. */
  readonly schema: ReturnType<typeof createDocumentJsonSchema>
  readonly #documentSchema: ReturnType<typeof createDocumentSchema>
  readonly #services: Services
  readonly #forwarder: Forwarder
  readonly #engine: SearchEngineClient
  readonly #backend: SearchBackend

  constructor(services: Services, forwarder: Forwarder) {
    const { config, products, names } = services
    this.#services = services
    this.#forwarder = forwarder
    this.#engine = new SearchEngineClient(config.search.backend, services)
    this.#backend = createBackend(config.search, this.#engine, forwarder, services)
    this.product = products.all.find(({ capabilities }) => capabilities.includes('search'))
    this.model = this.product?.id ?? names.searchModel
    this.schema = createDocumentJsonSchema(names, this.model)
    this.#documentSchema = createDocumentSchema(names, this.model)
  }

  /** Searches for the query of the exchange's chat and returns the published document. @throws UpstreamFailure, ClientDisconnected */
  async search(x: Exchange & Partial<Slots>, wire: CallContext): Promise<SearchOutcome> {
    const { ids, names } = this.#services
    const query = extractQuery(x.chat ?? { messages: [] })
    const context: SearchContext = { query, x, wire }
    const rawResult = await this.#backend.search(context)
    // The search was made and is charged; no client is left to receive it.
    if (wire.client.disconnected) throw new ClientDisconnected(computeUsage(rawResult, query, x))
    const answeredResult = await addGroundedAnswer(rawResult, context, { forwarder: this.#forwarder, services: this.#services })
    const usage = computeUsage(answeredResult, query, x)
    const document = toDocument(answeredResult, {
      schema: names.searchSchema,
      id: ids.next('srch_', x.startedAt),
      query,
      model: this.model,
      created: Math.floor(x.startedAt / 1000),
      usage: {
        prompt_tokens: usage.inputTokens,
        completion_tokens: usage.outputTokens,
        total_tokens: usage.inputTokens + usage.outputTokens,
        ...(answeredResult.searches === null ? {} : { search_requests: answeredResult.searches }),
      },
    })
    const { error } = this.#documentSchema.safeParse(document)
    if (error !== undefined) {
      const cause = new Error(`the search document does not match the published schema: ${error.message}`)
      throw new UpstreamFailure({ kind: 'in_band', status: 200, reason: 'not_json' }, null, { cause })
    }
    await wire.onUpstreamHeaders({ status: 200, stream: x.chat?.stream === true })
    return { document, usage }
  }

  close(): Promise<void> {
    return this.#engine.close()
  }
}

function createBackend(
  settings: SearchSettings,
  engine: SearchEngineClient,
  forwarder: Forwarder,
  services: Pick<Services, 'upstreams'>,
): SearchBackend {
  switch (settings.backend) {
    case 'upstream':
      return createUpstreamModelBackend(forwarder, services)
    case 'searxng':
      return createSearxngBackend(engine, settings)
    case 'tavily':
      return createTavilyBackend(engine, settings)
    case 'brave':
      return createBraveBackend(engine, settings)
  }
}

/** Our own count, from the query and the results, if no model reports tokens or reports none for an answer. */
function computeUsage({ usage, answer, results }: RawResult, query: string, x: Partial<Slots>): Usage {
  const isReported = usage !== null && (usage.outputTokens > 0 || !answer)
  if (isReported && isPlausible(usage, x)) return { ...usage, estimated: false }
  const text = [answer ?? '', ...results.map(({ title, snippet }) => `${truncateText(title)}${truncateText(snippet)}`)].join('')
  return {
    inputTokens: bytesToTokens(Buffer.byteLength(query)),
    outputTokens: bytesToTokens(Buffer.byteLength(text)),
    estimated: true,
    ...(isReported ? { disputed: usage } : {}),
  }
}

function truncateText(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 1_000) : ''
}
