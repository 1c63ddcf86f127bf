/**
 * What a model answers, in any API format: the pieces of a streamed answer in their order. The encoder of the client's format writes them, and
 * the hosted search puts its steps between them.
 */

type Fields = Readonly<Record<string, unknown>>

export type AnswerEvent =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'reasoning'; readonly text: string; readonly field: ReasoningField }
  | { readonly kind: 'signed-reasoning'; readonly signed: SignedReasoning }
  | ({ readonly kind: 'call' } & CallPiece)
  /** A `url_citation` of OpenAI's APIs. */
  | { readonly kind: 'citation'; readonly annotation: Fields }
  | { readonly kind: 'search'; readonly step: HostedSearchStep }
  | { readonly kind: 'stop-sequence'; readonly sequence: string }
  /** A reason of chat completions. */
  | { readonly kind: 'finish'; readonly reason: string }
  /** The usage of a chat completion. */
  | { readonly kind: 'usage'; readonly usage: Fields }

/** The field that the upstream uses for reasoning; it accepts its own reasoning in the same field. */
export type ReasoningField = 'reasoning_content' | 'reasoning'

/** A whole piece of reasoning that the upstream signed or encrypted: a block of Anthropic's API, an item of the Responses API, or a
 * signature of Gemini's API, which has no text. */
export interface SignedReasoning {
  readonly field: 'anthropic_thinking' | 'responses_reasoning' | 'call_signatures'
  readonly value: Fields
}

/** A piece of a tool call. */
export interface CallPiece {
  /** Among the calls of the answer; null for a whole call. */
  readonly index: number | null
  readonly id: string
  readonly name: string
  readonly arguments: string
}

export type HostedSearchStep =
  | { readonly phase: 'start'; readonly position: number; readonly query: string }
  | {
      readonly phase: 'end'
      readonly position: number
      readonly query: string
      /** Null if it failed. */
      readonly sources: readonly SearchSource[] | null
      readonly fault: SearchFault | null
    }

export interface SearchSource {
  /** The mark `[n]` in the answer; unique in the turn. */
  readonly number: number
  readonly url: string
  readonly title: string
  readonly snippet: string
  readonly publishedAt: string | null
}

/** Why a search has no result. */
export type SearchFault = 'invalid_query' | 'too_many_searches' | 'quota' | 'unavailable'
