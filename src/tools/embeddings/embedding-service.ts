/** Embeddings: an upstream computes the vectors, and the client receives them in the encoding that it requested. */
import type { CallResult, Exchange, Slots, Usage } from '../../exchange/exchange.ts'
import type { CallContext } from '../../exchange/plugins/plugin-chain.ts'
import type { ChatRequest } from '../../exchange/request/chat-request.ts'
import { privateJsonHeaders } from '../../exchange/response-headers.ts'
import { UpstreamFailure } from '../../exchange/upstream-failure.ts'
import { createInternalCandidates } from '../../upstream/internal-request.ts'
import type { Forwarder } from '../../upstream/forward.ts'
import { isPlausible, parseUsage } from '../../upstream/response/usage.ts'
import { inBandFailure } from '../../upstream/response/validate-completion.ts'
import type { LongDocument } from '../../upstream/response/response-mode.ts'
import type { Services } from '../../services/services.ts'
import { convertEmbeddings } from './convert-embeddings.ts'
import type { EmbeddingOptions } from './convert-embeddings.ts'
import { EmbeddingConverter } from './embedding-converter.ts'

export class EmbeddingService {
  readonly #services: Services
  readonly #forwarder: Forwarder
  readonly #converter: EmbeddingConverter

  constructor(services: Services, forwarder: Forwarder) {
    this.#services = services
    this.#converter = new EmbeddingConverter({ clock: services.clock })
    this.#forwarder = forwarder
  }

  async embed(x: Exchange & Partial<Slots>, callContext: CallContext): Promise<CallResult> {
    const { chat, product, caller } = x
    if (chat === undefined || product === undefined)
      throw new UpstreamFailure({ kind: 'unconfigured', reason: 'no plugin fills chat and product' }, null)
    // It names fields that a chat does not have.
    delete x.headers[x.names.fieldsDroppedHeader]
    const { input, dimensions, encoding_format: format } = chat.body
    const encoding = format === 'base64' ? 'base64' : 'float'
    const body = {
      input,
      ...(dimensions === undefined || dimensions === null ? {} : { dimensions }),
      // A target that rejects it is called without it, and what it sends instead is encoded here.
      ...(encoding === 'base64' ? { encoding_format: encoding } : {}),
    }
    const candidates = createInternalCandidates(x, this.#services.upstreams, '/embeddings', body)
    const answer = await this.#forwarder.fetchLongDocument(x, candidates, callContext)
    const options = { count: chat.messages.length, encoding } as const
    const list = await this.#convert(answer, caller?.account.id ?? x.inbound.address, options)
    const usage = computeUsage(list.usage, x, chat)
    await callContext.onUpstreamHeaders({ status: 200, stream: false })
    const counts = { prompt_tokens: usage.inputTokens, total_tokens: usage.inputTokens }
    const reply = {
      status: 200,
      headers: privateJsonHeaders,
      body: list.finish(`,"model":${JSON.stringify(product.id)},"usage":${JSON.stringify(counts)}}`),
    }
    return { usage, final: { kind: 'reply', reply } }
  }

  close(): Promise<void> {
    return this.#converter.close()
  }

  /** @throws UpstreamFailure if the answer has not one vector for each input */
  async #convert(
    { document, upstreamHost }: LongDocument,
    member: string,
    options: EmbeddingOptions,
  ): Promise<{ readonly usage: Readonly<Record<string, unknown>> | null; finish(end: string): string | Uint8Array }> {
    if (isChunked(document)) {
      const reply = await this.#converter.convert(document, member, options)
      if (reply.kind === 'failed') throw inBandFailure(reply.reason, upstreamHost)
      const { bytes, length, usage } = reply
      return { usage, finish: (end) => bytes.subarray(0, length + Buffer.from(bytes.buffer).write(end, length)) }
    }
    const conversion = convertEmbeddings(document, options)
    if (conversion.kind === 'failed') throw inBandFailure(conversion.reason, upstreamHost)
    return { usage: conversion.usage, finish: (end) => conversion.text + end }
  }
}

function isChunked(document: LongDocument['document']): document is readonly Uint8Array[] {
  return Array.isArray(document)
}

function computeUsage(usage: Readonly<Record<string, unknown>> | null, x: Partial<Slots>, chat: ChatRequest): Usage {
  const estimate: Usage = { inputTokens: x.hold?.inputEstimate ?? 0, outputTokens: 0, estimated: true }
  // Servers leave the output out, because there is none.
  const reportedUsage = usage === null ? null : parseUsage({ ...usage, completion_tokens: 0 })
  if (reportedUsage === null || reportedUsage.inputTokens === 0) return estimate
  // Each input may be as long as the context.
  const perInput = { ...reportedUsage, inputTokens: reportedUsage.inputTokens / chat.messages.length }
  return isPlausible(perInput, x) ? { ...reportedUsage, estimated: false } : { ...estimate, disputed: reportedUsage }
}
