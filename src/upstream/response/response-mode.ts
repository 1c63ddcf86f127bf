/** How a 200 is processed: as the member's own chat, or as a document for a product that processes it further. */
import type { CallResult, Route } from '../../exchange/exchange.ts'
import type { CallContext } from '../../exchange/plugins/plugin-chain.ts'
import { toSingleChunkResult, toCompletionResult } from './buffered-completion.ts'
import type { BufferedCompletion } from './buffered-completion.ts'

export interface ResponseMode<Result> {
  /** A whole answer, as received or aggregated from a stream. @throws UpstreamFailure when it is no success */
  fromDocument(completion: BufferedCompletion, details: { readonly route: Route; readonly callContext: CallContext }): Result
  /** A document too long to be parsed in this thread, as it was received; without it every document is parsed. */
  readonly fromLongDocument?: (chunks: readonly Uint8Array[], upstreamHost: string) => Result
  /** The end of a forwarded stream. Null: nothing is forwarded, the document is needed whole. */
  readonly fromStream: ((result: CallResult) => Result) | null
}

/** The member's own chat: a stream is forwarded directly. */
export const chatMode: ResponseMode<CallResult> = {
  fromDocument(completion, { route, callContext }) {
    if (!route.stream) return toCompletionResult(completion, callContext)
    const { onEvent, encoder } = callContext
    return toSingleChunkResult(completion, {
      onEvent,
      encoder,
      describeCharge: (usage) => callContext.describeCharge?.(usage),
      includeUsage: route.includeUsage,
    })
  },
  fromStream: (result) => result,
}

/** Result of `documentMode`. */
export interface UpstreamDocument {
  readonly document: Record<string, unknown>
  readonly upstreamHost: string
}

/** The upstream's own document with its own usage report. */
export const documentMode: ResponseMode<UpstreamDocument> = {
  fromDocument({ answer, streamUsage, upstreamHost }) {
    const document = answer.toCompletion()
    return { document: streamUsage === undefined ? document : { ...document, usage: streamUsage.report }, upstreamHost }
  },
  fromStream: null,
}

/** Result of `longDocumentMode`: a document, or the chunks of a long one, in which errors were not looked for. */
export interface LongDocument {
  readonly document: Record<string, unknown> | readonly Uint8Array[]
  readonly upstreamHost: string
}

export const longDocumentMode: ResponseMode<LongDocument> = {
  ...documentMode,
  fromLongDocument: (document, upstreamHost) => ({ document, upstreamHost }),
}
