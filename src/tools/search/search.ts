/** A search: the one path behind the tool call, the tool protocol and the chat with the search product. */
import type { Exchange, Slots, Usage } from '../../exchange/exchange.ts'
import { ClientLeft } from '../../exchange/outcome.ts'
import type { Wire } from '../../exchange/run.ts'
import type { Product } from '../../membership/product.ts'
import type { Services } from '../../gateway/services.ts'
import { UpstreamFailure } from '../../exchange/upstream-failure.ts'
import type { Forwarder } from '../../upstream/forward.ts'
import { isPossible, tokensOfBytes } from '../../upstream/usage.ts'
import { answered } from './answering.ts'
import type { Backend, Question } from './backend.ts'
import { brave } from './backends/brave.ts'
import { searxng } from './backends/searxng.ts'
import { tavily } from './backends/tavily.ts'
import { upstreamModel } from './backends/upstream-model.ts'
import { toDocument } from './document.ts'
import { Engine } from './engine.ts'
import type { Found } from './found.ts'
import { queryOf } from './query.ts'
import type { SearchDocument } from '../../api/search-document.ts'
import { documentSchema, documentShape } from './schema.ts'

export interface Finding {
  readonly document: SearchDocument
  readonly usage: Usage
}

export class Search {
  /** What is sold as search here; undefined where nothing is. */
  readonly product: Product | undefined
  /** The model that is sold as search, by its id. */
  readonly model: string
  /** What a document is, as JSON Schema. */
  readonly schema: ReturnType<typeof documentSchema>
  readonly #shape: ReturnType<typeof documentShape>
  readonly #services: Services
  readonly #forwarder: Forwarder
  readonly #engine: Engine
  readonly #backend: Backend

  constructor(services: Services, forwarder: Forwarder) {
    const { config, products, names } = services
    this.#services = services
    this.#forwarder = forwarder
    this.#engine = new Engine(config.search.backend, services)
    this.#backend = backendOf(config.search, this.#engine, forwarder, services)
    this.product = products.all.find(({ capabilities }) => capabilities.includes('search'))
    this.model = this.product?.id ?? names.searchModel
    this.schema = documentSchema(names, this.model)
    this.#shape = documentShape(names, this.model)
  }

  /** Searches for what the exchange's chat asks. The document is the published one, whatever was found. @throws UpstreamFailure, ClientLeft */
  async find(x: Exchange & Partial<Slots>, wire: Wire): Promise<Finding> {
    const { ids, names } = this.#services
    const query = queryOf(x.chat ?? { messages: [] })
    const question: Question = { query, x, wire }
    const sources = await this.#backend.find(question)
    // It has been searched for, and is paid for; there is only nobody to read it to.
    if (wire.client.left) throw new ClientLeft(usageFor(sources, query, x))
    const found = await answered(sources, question, { forwarder: this.#forwarder, services: this.#services })
    const usage = usageFor(found, query, x)
    const document = toDocument(found, {
      schema: names.searchSchema,
      id: ids.next('srch_', x.startedAt),
      query,
      model: this.model,
      created: Math.floor(x.startedAt / 1000),
      usage: {
        prompt_tokens: usage.inputTokens,
        completion_tokens: usage.outputTokens,
        total_tokens: usage.inputTokens + usage.outputTokens,
        ...(found.searches === null ? {} : { search_requests: found.searches }),
      },
    })
    const { error } = this.#shape.safeParse(document)
    if (error !== undefined) {
      const cause = new Error(`a search document is not what was published: ${error.message}`)
      throw new UpstreamFailure({ kind: 'in_band', status: 200, reason: 'not_json' }, null, { cause })
    }
    await wire.accepted({ status: 200, stream: x.chat?.stream === true })
    return { document, usage }
  }

  close(): Promise<void> {
    return this.#engine.close()
  }
}

function backendOf(config: Services['config']['search'], engine: Engine, forwarder: Forwarder, services: Services): Backend {
  const { maxResults, endpoint } = config
  switch (config.backend) {
    case 'upstream':
      return upstreamModel(forwarder, services)
    case 'searxng':
      // The checks of the configuration have seen to the address, and below to the keys.
      return searxng(engine, { address: config.searxngUrl ?? '', maxResults })
    case 'tavily':
      return tavily(engine, { endpoint, apiKey: config.apiKey ?? '', maxResults })
    case 'brave':
      return brave(engine, { endpoint, apiKey: config.apiKey ?? '', maxResults })
  }
}

/** Our own count where no model reports one, or none for an answer: the question, and what was found for it. */
function usageFor({ usage, answer, results }: Found, query: string, x: Partial<Slots>): Usage {
  const isSaid = usage !== null && (usage.outputTokens > 0 || !answer)
  if (isSaid && isPossible(usage, x)) return { ...usage, estimated: false }
  const text = [answer ?? '', ...results.map(({ title, snippet }) => `${lineOf(title)}${lineOf(snippet)}`)].join('')
  return {
    inputTokens: tokensOfBytes(Buffer.byteLength(query)),
    outputTokens: tokensOfBytes(Buffer.byteLength(text)),
    estimated: true,
    ...(isSaid ? { contradicted: usage } : {}),
  }
}

function lineOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 1_000) : ''
}
