/** Translates one exchange between its API format and chat completions: the request, then the answer or the failure. */
import type { AnswerEncoder, ApiFormat, ApiFormatName, JsonObject } from '../exchange/api-format/api-format.ts'
import type { GatewayError } from '../errors.ts'
import type { TranslatedChat, TranslatorSettings } from '../exchange/body-parser/body-parser.ts'
import type { CallResult, Exchange, FailedExchange, Reply, Slots, Translation } from '../exchange/exchange.ts'
import { changeCallContext } from '../exchange/plugins/plugin-chain.ts'
import type { CallContext, TurnHandler } from '../exchange/plugins/plugin-chain.ts'
import { isRecord } from '../exchange/request/chat-request.ts'
import { openStream } from '../exchange/response-headers.ts'
import type { ChatRequest } from '../exchange/request/chat-request.ts'
import { maxNamesInHeader } from '../exchange/request/field-policy.ts'
import { readAnswerEvents } from '../codecs/chat/read-events.ts'
import { OpeningEncoder } from './opening-encoder.ts'
import { ReasoningSeal } from './reasoning-seal.ts'
import { translateRequest } from './translate-request.ts'
import { ownJsonBounds, parseJson } from '../system/parse-json.ts'

interface TranslationOptions {
  readonly settings: TranslatorSettings
  readonly now: () => number
}

/** What the answer needs of the translated request. */
type TranslatedDetails = Omit<TranslatedChat, 'chat'>

/** A handler of turns, with answers in the format of their exchange. */
export function translateAnswers(call: TurnHandler): TurnHandler {
  return (x, callContext) =>
    x.translation instanceof ExchangeTranslation ? x.translation.runCall(call, x, callContext) : call(x, callContext)
}

export class ExchangeTranslation implements Translation {
  readonly #apiFormat: ApiFormat
  readonly #options: TranslationOptions
  #request: TranslatedDetails | undefined
  /** Set once the answer has begun. */
  #encoder: OpeningEncoder | undefined

  constructor(apiFormat: ApiFormat, options: TranslationOptions) {
    this.#apiFormat = apiFormat
    this.#options = options
  }

  get format(): ApiFormatName {
    return this.#apiFormat.name
  }

  get requestedModel(): string | undefined {
    return this.#request?.requestedModel
  }

  get sessionMark(): string | undefined {
    return this.#request?.sessionMark
  }

  /**
   * @param account the only account whose sealed reasoning is opened
   * @param options.hostsSearch whether a hosted search may run for the account
   * @throws GatewayError `invalid_request`, naming the field in the API format
   */
  translateRequest(raw: Buffer, account: string, { hostsSearch = false } = {}): ChatRequest {
    const { settings } = this.#options
    const { chat, ...request } = translateRequest(raw, this.#apiFormat, { account, settings, hostsSearch })
    this.#request = request
    return chat
  }

  /** Takes the result of a translation by the parser's thread. */
  acceptTranslated(request: TranslatedDetails): void {
    this.#request = request
  }

  /**
   * Runs a turn whose answer is translated. The last events are encoded before the settlement and sent after it, so that a turn whose answer
   * cannot be encoded fails and is not charged.
   */
  async runCall(call: TurnHandler, x: Exchange & Partial<Slots>, callContext: CallContext): Promise<CallResult> {
    this.#addIgnoredFields(x)
    const encoder = this.#createEncoder(x)
    const translatedContext = changeCallContext(callContext, { encoder })
    const result = await call(x, translatedContext)
    // The last events may be the first ones: of an answer without any, or where the format writes all of it at the end.
    if (result.final.kind === 'trailer') openStream(translatedContext)
    return result
  }

  translateReply(x: Exchange & Partial<Slots>, reply: Reply): Reply {
    return encodeReply(this.#createEncoder(x), reply)
  }

  toFailureReply(x: FailedExchange, failure: GatewayError, reply: Reply): Reply {
    return this.#apiFormat.toFailureReply(x, failure, reply)
  }

  /** Nothing after the events that end the stream: the connection is then closed without them. */
  toFailureFrames(x: FailedExchange, failure: GatewayError): string {
    if (this.#encoder === undefined || this.#encoder.hasEnded)
      throw new Error('the answer cannot be ended with a failure', { cause: failure })
    return this.#encoder.fail(x, failure)
  }

  #createEncoder(x: Exchange & Partial<Slots>): OpeningEncoder {
    const seal = new ReasoningSeal(this.#options.settings.sealKey, x.caller?.account.id ?? '')
    const encoder = this.#apiFormat.createEncoder({
      state: this.#request?.state,
      requestId: x.id,
      model: x.route?.productId ?? x.product?.id ?? x.chat?.model ?? '',
      startedAt: x.startedAt,
      inputEstimate: x.hold?.inputEstimate ?? 0,
      seal: (text) => seal.seal(text),
      now: this.#options.now,
    })
    return (this.#encoder = new OpeningEncoder(encoder))
  }

  #addIgnoredFields({ headers, names }: Exchange): void {
    const ignoredFields = this.#request?.ignored ?? []
    if (ignoredFields.length === 0) return
    const droppedFields = headers[names.fieldsDroppedHeader]
    const all = [...ignoredFields, ...(droppedFields === undefined ? [] : droppedFields.split(', '))]
    headers[names.fieldsDroppedHeader] = all.slice(0, maxNamesInHeader).join(', ')
  }
}

/** The reply of a plugin; one that is no completion passes as it is. */
export function encodeReply(encoder: AnswerEncoder, reply: Reply): Reply {
  const completion = reply.status === 200 ? parseObject(reply.body) : null
  if (completion === null || !Array.isArray(completion['choices'])) return reply
  return { ...reply, body: encoder.whole(readAnswerEvents(completion)) }
}

function parseObject(body: string | Uint8Array): JsonObject | null {
  try {
    const value: unknown = parseJson(typeof body === 'string' ? body : Buffer.from(body).toString(), ownJsonBounds)
    return isRecord(value) ? value : null
  } catch {
    return null
  }
}
