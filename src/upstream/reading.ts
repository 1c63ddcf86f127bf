/** What is made of a 200: the member's own chat, or a document that something else is made from first. */
import type { Answer, Asking, Route } from '../exchange/exchange.ts'
import type { Wire } from '../exchange/run.ts'
import { completionInOnePiece, completionOf } from './completion.ts'
import type { Whole } from './completion.ts'
import { noSuccess } from './success.ts'

export interface Reading<Result> {
  /** A whole document, as it came or put together from a stream. @throws UpstreamFailure when it is no success */
  whole(whole: Whole, how: { readonly route: Route; readonly asking: Asking; readonly wire: Wire }): Result
  /** The end of a stream that has been passed on. Null: nothing is passed on, the document is wanted whole. */
  readonly streamed: ((answer: Answer) => Result) | null
}

/** The member's own chat: a stream goes straight through. */
export const chatReading: Reading<Answer> = {
  whole(whole, { route, asking, wire }) {
    if (!route.stream) return completionOf(whole)
    const answer = completionInOnePiece(whole, { includeUsage: route.includeUsage, onEvent: wire.event })
    // Asked for a stream and got a document: an error in it is worth more than the wrong type.
    if (asking.stream) throw noSuccess('not_sse', whole.upstreamHost)
    return answer
  },
  streamed: (answer) => answer,
}

/** What a document-seeking call brings back. */
export interface UpstreamDocument {
  readonly document: Record<string, unknown>
  readonly upstreamHost: string
}

/** The upstream's own document with its own report, for products that make something of it first. */
export const documentReading: Reading<UpstreamDocument> = {
  whole: ({ document, metered, upstreamHost }) => ({
    document: metered === undefined ? document : { ...document, usage: metered.report },
    upstreamHost,
  }),
  streamed: null,
}
