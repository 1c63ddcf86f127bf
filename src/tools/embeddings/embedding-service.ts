/** Embeddings: an upstream computes the vectors, and the client receives them in the encoding that it requested. */
import type { CallResult, Exchange, Slots, Usage } from '../../exchange/exchange.ts'
import type { CallContext } from '../../exchange/plugin-chain.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'
import type { ChatRequest } from '../../exchange/request/chat-request.ts'
import { privateJsonHeaders } from '../../exchange/response-headers.ts'
import { UpstreamFailure } from '../../exchange/upstream-failure.ts'
import { createInternalCandidates } from '../../upstream/internal-request.ts'
import type { Forwarder } from '../../upstream/forward.ts'
import { isPlausible, parseUsage } from '../../upstream/response/usage.ts'
import { inBandFailure } from '../../upstream/response/validate-completion.ts'
import type { Services } from '../../services/services.ts'

const bytesPerNumber = 4

export class EmbeddingService {
  readonly #services: Services
  readonly #forwarder: Forwarder

  constructor(services: Services, forwarder: Forwarder) {
    this.#services = services
    this.#forwarder = forwarder
  }

  async embed(x: Exchange & Partial<Slots>, callContext: CallContext): Promise<CallResult> {
    const { chat, product } = x
    if (chat === undefined || product === undefined)
      throw new UpstreamFailure({ kind: 'unconfigured', reason: 'no plugin fills chat and product' }, null)
    // It names fields that a chat does not have.
    delete x.headers[x.names.fieldsDroppedHeader]
    const { input, dimensions, encoding_format: encoding } = chat.body
    // Not every upstream supports `base64`, so numbers are requested, and encoded here.
    const body = { input, ...(dimensions === undefined || dimensions === null ? {} : { dimensions }) }
    const candidates = createInternalCandidates(x, this.#services.upstreams, '/embeddings', body)
    const { document, upstreamHost } = await this.#forwarder.fetchDocument(x, candidates, callContext)
    const vectors = readVectors(document, chat.messages.length, upstreamHost)
    const usage = computeUsage(document, x, chat)
    await callContext.onUpstreamHeaders({ status: 200, stream: false })
    const answer = {
      object: 'list',
      data: vectors.map((vector, index) => ({
        object: 'embedding',
        index,
        embedding: encoding === 'base64' ? toBase64(vector) : vector,
      })),
      model: product.id,
      usage: { prompt_tokens: usage.inputTokens, total_tokens: usage.inputTokens },
    }
    const reply = { status: 200, headers: privateJsonHeaders, body: JSON.stringify(answer) }
    return { usage, final: { kind: 'reply', reply } }
  }
}

/** One vector for each input, in their order. @throws UpstreamFailure */
function readVectors(document: Record<string, unknown>, count: number, upstreamHost: string): readonly (readonly number[])[] {
  const { data } = document
  const vectors: (readonly number[])[] = []
  for (const [place, item] of (Array.isArray(data) ? data : []).entries()) {
    if (!isRecord(item)) continue
    const vector = parseVector(item['embedding'])
    const index = typeof item['index'] === 'number' ? item['index'] : place
    if (vector !== null && Number.isInteger(index) && index >= 0 && index < count) vectors[index] = vector
  }
  // Holes of a sparse array are skipped by `filter`.
  if (vectors.filter(() => true).length !== count) throw inBandFailure('empty', upstreamHost)
  return vectors
}

function parseVector(value: unknown): readonly number[] | null {
  if (typeof value === 'string') return fromBase64(value)
  const isVector = Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'number')
  return isVector ? value : null
}

/** 32-bit floats in little-endian order, as OpenAI sends them. */
function toBase64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * bytesPerNumber)
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * bytesPerNumber)
  return bytes.toString('base64')
}

function fromBase64(text: string): readonly number[] | null {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length === 0 || bytes.length % bytesPerNumber !== 0) return null
  const vector = Array.from({ length: bytes.length / bytesPerNumber }, (_, index) => bytes.readFloatLE(index * bytesPerNumber))
  return vector.every(Number.isFinite) ? vector : null
}

function computeUsage(document: Record<string, unknown>, x: Partial<Slots>, chat: ChatRequest): Usage {
  const estimate: Usage = { inputTokens: x.hold?.inputEstimate ?? 0, outputTokens: 0, estimated: true }
  const { usage } = document
  // Servers leave the output out, because there is none.
  const reported = isRecord(usage) ? parseUsage({ ...usage, completion_tokens: 0 }) : null
  if (reported === null || reported.inputTokens === 0) return estimate
  // Each input may be as long as the context.
  const perInput = { ...reported, inputTokens: reported.inputTokens / chat.messages.length }
  return isPlausible(perInput, x) ? { ...reported, estimated: false } : { ...estimate, disputed: reported }
}
