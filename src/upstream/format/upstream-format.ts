/**
 * The API format of an upstream that does not offer chat completions. The mirror image of `ApiFormat`: the request is translated when it is
 * sent, and the answer is decoded to events before anything reads it.
 */
import type { AnswerDecoder } from '../../codecs/answer-decoder.ts'
import type { Inbound } from '../../exchange/exchange.ts'
import type { PreparedParts } from '../../exchange/request/prepared-parts.ts'

/** The path of chat completions, which an upstream of another format replaces by its own. */
export const chatPath = '/chat/completions'

export type JsonFields = Readonly<Record<string, unknown>>

export interface UpstreamFormat {
  /** Appended to the base URL in place of `/chat/completions`. `chat` has the model and whether to stream. */
  toPath(chat: JsonFields): string
  /** Of the list of models, with the most that one page can have. */
  readonly modelsPath: string
  /**
   * The long parts of the body, which come from its messages and tools and depend on no target. For a large request the parser's thread calls
   * it.
   * @throws GatewayError `invalid_request`, naming a part that the format has no place for
   */
  prepareParts(chat: JsonFields): Pick<PreparedParts, 'fields' | 'facts'>
  /**
   * The body of a chat completion in this format; `readPreparedParts` may have its long parts.
   * @throws GatewayError `invalid_request`, naming a field that the format has no place for and that changes the answer
   */
  toRequest(chat: JsonFields): Record<string, unknown>
  /** Headers for this body: those of the API that its client has sent and that this request needs. */
  toHeaders?(
    chat: JsonFields,
    sent: Inbound['headers'],
    configured: Readonly<Record<string, string>>,
  ): Readonly<Record<string, string>>
  /** Whether the rejection is about what a client of this API sends and a translated request does not have. `text` is the upstream's own. */
  isNativeRejected?(text: string): boolean
  /**
   * Fields of the chat completion to leave out, because their counterpart was rejected; null if the rejection is about none of them. `text`
   * is the upstream's own.
   */
  findRejectedFields(text: string): readonly string[] | null
  /** Returns the decoder of one answer. Ids of calls that the upstream gave none are derived from the request's. */
  createDecoder(requestId: string): AnswerDecoder
}
