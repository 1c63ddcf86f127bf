/** Port: parses large request bodies off the main thread. Plugins receive the resulting `ChatRequest` like any other. */
import type { TranslatedRequest } from '../api-format/api-format.ts'
import type { ApiFormatName } from '../api-format/api-format-name.ts'
import type { TargetApi } from '../request/form/request-form.ts'
import type { ChatRequest } from '../request/chat-request.ts'

export interface BodyParser {
  /**
   * Parses and analyzes the body in these chunks. The parser takes the chunks over: do not use them afterwards.
   * Requests of different members are served in turn. `onDisconnect` registers a listener for the client's disconnect. `translation` is
   * null for chat completions.
   *
   * @throws GatewayError like `parseChatRequest`; `temporarily_unavailable` when too many bytes are queued; `payload_too_large` when parsing
   * needs too much memory
   * @throws ClientDisconnected
   */
  parse(
    chunks: readonly Buffer[],
    member: string,
    onDisconnect: (listener: () => void) => void,
    translation?: TranslationRequest | null,
  ): Promise<AnalyzedChat>
  /** The same for a large request with more messages: a later call of its turn. The request itself stays as it is. */
  extend(
    chat: AnalyzedChat,
    extension: ChatExtension,
    member: string,
    onDisconnect: (listener: () => void) => void,
  ): Promise<AnalyzedChat>
  /** Rejects all queued and running requests with this error. */
  abortAll(reason: Error): void
  close(): Promise<void>
}

/** How to translate a body of another API format. */
export interface TranslationRequest {
  /** The request's path. */
  readonly path: string
  /** Whether a hosted search may run for this member. */
  readonly hostsSearch: boolean
}

/** What a later call of a turn adds to its request. */
export interface ChatExtension {
  readonly messages: readonly unknown[]
  /** Replaces the field `tool_choice`; undefined removes it. */
  readonly toolChoice: string | undefined
}

/** A large request whose `RequestAnalysis` exists already (see `getAnalysis`). */
export interface AnalyzedChat extends ChatRequest {
  /** What its API format needs for the answer; null for chat completions. */
  readonly translated: Omit<TranslatedChat, 'chat'> | null
  /** The body as JSON text in bytes, until `dispose`. */
  readonly text: Uint8Array
  /** Ends the use of its text, whose buffer may then hold another request. */
  dispose(): void
}

/** A chat request translated from another API format, and what the answer needs. */
export interface TranslatedChat extends Omit<TranslatedRequest<unknown>, 'chat' | 'hostedSearch' | 'native'> {
  readonly chat: ChatRequest
  /** The model as the client names it, which may be an alias of the product in `chat`. */
  readonly requestedModel: string
}

/** What translations of all requests share. It can be cloned to another thread. */
export interface TranslatorSettings {
  /** Key of sealed reasoning. */
  readonly sealKey: Uint8Array
  /** By product id: the APIs of the targets that may serve it. */
  readonly products: ReadonlyMap<string, ReadonlySet<TargetApi>>
  /** Product ids by model names, in which `*` stands for any characters. */
  readonly aliases: Readonly<Partial<Record<ApiFormatName, Readonly<Record<string, string>>>>>
}

/** Translates the body of an API format, in any thread. @throws GatewayError `invalid_request` */
export type BodyTranslator = (
  raw: Buffer,
  details: TranslationRequest & { readonly account: string; readonly settings: TranslatorSettings },
) => TranslatedChat
