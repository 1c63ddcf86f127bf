/**
 * What a model answers, in any API format: the pieces of an answer in their order. The decoder of the upstream's API yields them, the encoder
 * of the client's API writes them, and the hosted search puts its steps between them. A whole answer is the same list in larger pieces.
 */

type Fields = Readonly<Record<string, unknown>>

export type AnswerEvent =
  /** Opens the answer. The model is the upstream's own; empty where it names none. */
  | { readonly kind: 'start'; readonly id: string; readonly model: string }
  /** `logprobs`: as in a choice of a chat completion. */
  | { readonly kind: 'text'; readonly text: string; readonly logprobs?: Fields }
  /**
   * The upstream begins a block or message of text. `separator`: what stands before it in an API with one text. `phase`: of a message of the
   * Responses API, whose clients return it.
   */
  | { readonly kind: 'text-break'; readonly separator: '' | '\n\n'; readonly phase?: string }
  | { readonly kind: 'refusal'; readonly text: string }
  | { readonly kind: 'reasoning'; readonly text: string; readonly field: ReasoningField }
  /** Ends the reasoning before it, or stands for itself where the text is hidden. */
  | { readonly kind: 'signed-reasoning'; readonly signed: SignedReasoning }
  | ({ readonly kind: 'call' } & CallPiece)
  /** A `url_citation` of a chat completion, null for a source without an address; `native` is what the upstream's API has for it. */
  | { readonly kind: 'citation'; readonly annotation: Fields | null; readonly native?: NativeCitation }
  /** A picture that the model has drawn, as a `data:` URL or an address. Pieces of one picture in a stream have the same index. */
  | { readonly kind: 'image'; readonly url: string; readonly index?: number }
  | { readonly kind: 'search'; readonly step: HostedSearchStep }
  | { readonly kind: 'stop-sequence'; readonly sequence: string }
  /** A reason of chat completions. */
  | { readonly kind: 'finish'; readonly reason: string }
  /** `charge` is what the turn costs, for the answer's last event. */
  | { readonly kind: 'usage'; readonly usage: AnswerUsage; readonly charge?: Fields | undefined }

/** Whether an event does more than to announce or to end the answer. */
export function isOutput({ kind }: AnswerEvent): boolean {
  return kind !== 'start' && kind !== 'stop-sequence' && kind !== 'finish' && kind !== 'usage'
}

interface NativeCitation {
  readonly api: 'messages' | 'responses'
  readonly value: Fields
}

/** The field that the upstream uses for reasoning; it accepts its own reasoning in the same field. */
export type ReasoningField = 'reasoning_content' | 'reasoning'

/** A whole piece of reasoning that the upstream signed or encrypted: a block of Anthropic's API, an item of the Responses API, or a
 * signature of Gemini's API, which has no text. */
export interface SignedReasoning {
  readonly field: 'anthropic_thinking' | 'responses_reasoning' | 'call_signatures'
  readonly value: Fields
}

/** A piece of a tool call. The first one of a call has the id and the name. */
export interface CallPiece {
  /** Among the calls of the answer; null for a whole call. */
  readonly index: number | null
  readonly id: string
  readonly name: string
  /** JSON, or the free text of a custom tool. */
  readonly arguments: string
  /** The tool takes free text; default false. */
  readonly isCustom?: boolean
  /** No more of its arguments follows; default: unknown. */
  readonly isComplete?: boolean
}

/** Tokens of an answer, as a chat completion reports them. Upstreams of that API may report more. */
export interface AnswerUsage extends Fields {
  /** With those that were read from the cache or written to it. */
  readonly prompt_tokens?: number
  /** With those of reasoning. */
  readonly completion_tokens?: number
  readonly total_tokens?: number
  readonly prompt_tokens_details?: { readonly cached_tokens?: number; readonly cache_creation_tokens?: number }
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number }
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
