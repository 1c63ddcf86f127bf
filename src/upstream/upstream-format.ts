/**
 * The API format of an upstream that does not offer chat completions. The mirror image of `ApiFormat`: the request is translated when it is
 * sent, and the answer before anything reads it, so that plugins, metering, checks and failures see chat completions only.
 */
import type { ApiFormatName } from '../exchange/api-format/api-format-name.ts'
import type { PreparedParts } from '../exchange/request/prepared-parts.ts'

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
  prepareParts(chat: JsonFields): PreparedParts
  /**
   * The body of a chat completion in this format; `readPreparedParts` may have its long parts.
   * @throws GatewayError `invalid_request`, naming a field that the format has no place for and that changes the answer
   */
  toRequest(chat: JsonFields): Record<string, unknown>
  /**
   * Fields of the chat completion to leave out, because their counterpart was rejected; null if the rejection is about none of them. `text`
   * is the upstream's own.
   */
  findRejectedFields(text: string): readonly string[] | null
  /** Returns the decoder of one answer. `startedAt`: Unix milliseconds. `clientFormat`: undefined for chat completions. */
  createDecoder(startedAt: number, clientFormat?: ApiFormatName): AnswerDecoder
}

/** The upstream has sent its last event. */
export const endOfAnswer = Symbol('end of the answer')

export interface AnswerDecoder {
  /** Chunks of a chat completion for an event of the upstream. A chunk with an `error` fails the stream. */
  decode(event: JsonFields): readonly (Record<string, unknown> | typeof endOfAnswer)[]
  /** A whole answer as a chat completion; a document that is none is returned as it is. */
  toCompletion(document: Record<string, unknown>): Record<string, unknown>
}
