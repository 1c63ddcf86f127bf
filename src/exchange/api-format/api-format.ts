/**
 * An API format: how a client writes its chat request and reads the answer. Inside the gateway there is one form of both, the chat
 * completion. Plugins, ledger and upstream see only that; a format translates at the outer edge.
 */
import type { GatewayError } from '../../errors.ts'
import type { AnswerEvent } from '../../conversation/answer-event.ts'
import type { ApiFormatName } from './api-format-name.ts'
import type { FailedExchange, Reply } from '../exchange.ts'
import type { HostedSearchOptions } from '../hosted-search.ts'
import type { TargetApi } from '../request/form/request-form.ts'
import type { NativeRequest } from '../request/form/native-request.ts'

export type { ApiFormatName } from './api-format-name.ts'
export type { FailedExchange } from '../exchange.ts'

/** A JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>

/**
 * A format other than chat completions. `toChat` is pure, and an encoder owns all state of one answer: both can be tested as tables of
 * input and output. Every value in `State` can be cloned to another thread.
 */
export interface ApiFormat<State = unknown> {
  readonly name: ApiFormatName
  /** Fields of the body that the address of the request has; they replace those that were sent. */
  readonly addressFields?: JsonObject
  /**
   * Translates a request.
   * @throws GatewayError `invalid_request` with the field's path in this format, as in `input[3].content[0]`
   */
  toChat(body: JsonObject, context: RequestContext): TranslatedRequest<State>
  createEncoder(context: AnswerContext<State>): AnswerEncoder
  /** The complete response of a failure before the answer has begun. `reply` is the one of chat completions, whose headers it keeps. */
  toFailureReply(x: FailedExchange, failure: GatewayError, reply: Reply): Reply
}

export interface RequestContext {
  /** Opens a container that `AnswerContext.seal` made; null if it is not ours, for another account, or damaged. */
  unseal(container: string): string | null
  /** Whether it is a container of this service, which no upstream can read. */
  isSealed?: ((container: string) => boolean) | undefined
  /** The APIs of the targets that may serve the request: what only they have a place for is kept; default none but chat completions. */
  readonly targetApis?: ReadonlySet<TargetApi> | undefined
  /** Whether a hosted search may run for this member; default false. */
  readonly hostsSearch?: boolean
}

export interface TranslatedRequest<State> {
  /** The body of the chat completion request; `stream_options.include_usage` is set where it streams. */
  readonly chat: Readonly<Record<string, unknown>>
  /** What the answer needs of the request, as the original names of tools. */
  readonly state: State
  /** Paths of the fields that were ignored although they ask for something; some of them become the header of dropped fields. */
  readonly ignored: readonly string[]
  /** Set if the chat has a function `web_search` that the service runs; `src/exchange/hosted-search.ts` has the chunks of its steps. */
  readonly hostedSearch?: HostedSearchOptions | undefined
  /** The request as targets of the same API receive it; undefined where it needs a repair, or the service runs one of its tools. */
  readonly native?: NativeRequest | undefined
  /** The id of the client's session, from a field that a chat completion does not have. */
  readonly sessionMark?: string | undefined
}

export interface AnswerContext<State> {
  readonly state: State
  /** The exchange's id: ids of the answer and its items are derived from it. */
  readonly requestId: string
  /** The model id of the answer. */
  readonly model: string
  /** Unix milliseconds. */
  readonly startedAt: number
  /** Tokens assumed for the prompt before the upstream reports them. */
  readonly inputEstimate: number
  /** Encrypts a reasoning text, which the client keeps and returns; only this installation can open it, for the same account. */
  seal(text: string): string
  /** Current Unix milliseconds. */
  now(): number
}

/** Encodes one answer. Every method returns the text to send, possibly empty. It never throws on an unknown shape of a chunk. */
export interface AnswerEncoder {
  /** The events that open the stream. Called once, before any other event. */
  start(): string
  /** What one event of the upstream says, and the usage at the end. */
  push(events: readonly AnswerEvent[]): string
  /** Keeps an idle connection open. */
  heartbeat(): string
  /** The events that end the stream; called after the turn was settled. */
  end(): string
  /** The events that end a stream that failed; the answer must not look complete. */
  fail(x: FailedExchange, failure: GatewayError): string
  /** A whole answer, as JSON; its usage is among the events. Called instead of all other methods. */
  whole(events: readonly AnswerEvent[]): string
}
