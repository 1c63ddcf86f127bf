/**
 * A turn in which the model may search the web. It calls the function `web_search`, the search runs as a turn of the search product, and the
 * model is called again with the result. Each of these calls has a hold and a settlement of its own, one after the other: what was done is
 * charged, and a call that fails is not.
 */
import type { SearchDocument } from '../../api/search-document.ts'
import { GatewayError, removeChargeClaim } from '../../errors.ts'
import type { AnswerEvent, AnswerUsage, HostedSearchStep, SearchFault, SearchSource } from '../../conversation/answer-event.ts'
import type { AnswerEncoder, JsonObject } from '../../exchange/api-format/api-format.ts'
import { ClientDisconnected } from '../../exchange/exchange.ts'
import type { CallResult, Exchange, Slots, Translation, Usage } from '../../exchange/exchange.ts'
import { getAnalysis } from '../../exchange/request/request-analysis.ts'
import type { AnalyzedChat } from '../../exchange/body-parser/body-parser.ts'
import type { HostedSearchOptions } from '../../exchange/hosted-search.ts'
import { changeCallContext } from '../../exchange/plugins/plugin-chain.ts'
import type { CallContext, PluginChain, TurnHandler } from '../../exchange/plugins/plugin-chain.ts'
import { getFields } from '../../exchange/request/chat-request.ts'
import type { ChatRequest } from '../../exchange/request/chat-request.ts'
import { jsonHeaders, openStream } from '../../exchange/response-headers.ts'
import { addNestedCharge } from '../../exchange/turn-charge.ts'
import type { Services } from '../../services/services.ts'
import { encodeReply } from '../../formats/exchange-translation.ts'
import type { ToolCall } from '../../codecs/shared/tool-call-list.ts'
import { BufferedResponse } from '../mcp/buffered-response.ts'
import { createNestedTurn } from '../nested-turn.ts'
import { createSearchRequest } from '../search/query.ts'
import { toSearchAnswer } from '../search/search-answer.ts'
import type { SearchService } from '../search/search-service.ts'
import { keepStreamAlive } from './keep-stream-alive.ts'
import { filterResults, parseSearchCall, toSearchQuery, toSources, toToolResult } from './search-result.ts'
import { StepReceiver } from './step-receiver.ts'
import { addUsage, StepReader } from './step-reader.ts'
import type { ModelAnswer } from './step-reader.ts'
import { ownJsonBounds, parseJson } from '../../system/parse-json.ts'

interface HostedSearchDeps {
  readonly services: Services
  readonly chain: PluginChain
  readonly search: SearchService
}

/** A handler of turns that runs the searches of those that request it. */
export function runHostedSearches(call: TurnHandler, deps: HostedSearchDeps): TurnHandler {
  return (x, callContext) => {
    const { chat, product } = x
    const { encoder } = callContext
    if (chat?.hostedSearch === undefined || encoder === undefined || product?.capabilities.includes('chat') !== true)
      return call(x, callContext)
    return new HostedSearchTurn({ x, chat, options: chat.hostedSearch, call, callContext, encoder }, deps).run()
  }
}

interface TurnInput {
  readonly x: Exchange & Partial<Slots>
  readonly chat: ChatRequest
  readonly options: HostedSearchOptions
  readonly call: TurnHandler
  readonly callContext: CallContext
  /** Writes the turn's answer; only other formats than chat completions have this search. */
  readonly encoder: AnswerEncoder
}

class HostedSearchTurn {
  readonly #input: TurnInput
  readonly #deps: HostedSearchDeps
  /** What the model gets after the request's own messages. */
  readonly #messages: JsonObject[] = []
  /** Events before the message of a whole answer. */
  readonly #steps: AnswerEvent[] = []
  readonly #sources: SearchSource[] = []
  #searchCount = 0
  /** Whether the last request allowed the model to search. */
  #maySearch = true
  #usage: AnswerUsage | null = null
  /** Usage of the first call, whose hold is the exchange's. */
  #firstUsage: Usage | undefined
  /** Holds within the turn so far. */
  #nestedCount = 0
  /** A call was cut off because the client was slow. */
  #isAbandoned = false

  constructor(input: TurnInput, deps: HostedSearchDeps) {
    this.#input = input
    this.#deps = deps
  }

  async run(): Promise<CallResult> {
    const { x } = this.#input
    const [first, usage] = await this.#callFirst()
    this.#firstUsage = usage
    let answer = first
    for (let isFirst = true; ; isFirst = false) {
      this.#usage = addUsage(this.#usage, answer.usage)
      // A search beside calls of the client's tools is left out: the model can request it again with their results.
      const isLast = answer.searches.length === 0 || answer.hasOtherCalls || !this.#maySearch || isCut(answer)
      if (isLast) return this.#toResult(answer)
      // Durable before anything is built on it; without it two holds of the account would be open at once.
      if (isFirst) await x.hold?.settleEarly?.(usage)
      await this.#runSearches(answer)
      this.#maySearch = this.#isSearchLeft()
      answer = await this.#callAgain()
    }
  }

  async #callFirst(): Promise<readonly [answer: ModelAnswer, usage: Usage]> {
    const { x, call, callContext, encoder } = this.#input
    const reader = new StepReader(x.id, encoder)
    const client = new StepReceiver(callContext.client)
    const { final, usage, isAbandoned } = await call(x, changeCallContext(callContext, { client, encoder: reader }))
    this.#isAbandoned = isAbandoned === true
    if (final.kind === 'trailer') client.end(final.frames)
    return [reader.finish(), usage]
  }

  /** @throws ClientDisconnected, and the failure of the call */
  async #callAgain(): Promise<ModelAnswer> {
    const { x, call, callContext, encoder } = this.#input
    const { services, chain } = this.#deps
    const chat = await this.#createChat()
    const reader = new StepReader(`${x.id}_${this.#searchCount}`, encoder)
    const translation = createQuietTranslation(x, reader)
    const turn = createNestedTurn({
      outer: x,
      position: ++this.#nestedCount,
      chat: async () => chat,
      clock: services.clock,
      ...(translation === null ? {} : { translation }),
    })
    const client = new StepReceiver(callContext.client)
    const callModel: TurnHandler = (inner, context) => call(inner, changeCallContext(context, { encoder: reader }))
    const outcome = await chain
      .run(turn, callModel, client, services)
      .finally(() => (isAnalyzed(chat) ? chat.dispose() : undefined))
    addNestedCharge(x, turn)
    if (outcome.kind === 'failed') throw this.#toFailure(outcome.failure)
    if (!client.hasEnded) throw this.#createDisconnect()
    this.#isAbandoned = outcome.kind === 'aborted'
    return reader.finish()
  }

  /** A large request is extended by the parser's thread: in this one, a picture of 20 MB would take 300 ms. */
  async #createChat(): Promise<ChatRequest> {
    const { chat, x, callContext } = this.#input
    const { tool_choice: choice } = getFields(chat)
    // A forced call would repeat itself.
    const toolChoice = this.#maySearch ? (choice === 'auto' ? choice : undefined) : 'none'
    if (isAnalyzed(chat)) {
      const { bodyParser } = this.#deps.services
      const member = x.caller?.account.id ?? x.inbound.address
      return bodyParser.extend(chat, { messages: this.#messages, toolChoice }, member, (listener) =>
        callContext.client.onDisconnect(listener),
      )
    }
    const { tool_choice: _, ...rest } = chat.body
    const messages = [...chat.messages, ...this.#messages]
    const { model, stream, includeUsage, maxTokens, choices, format } = chat
    return {
      model,
      messages,
      stream,
      includeUsage,
      maxTokens,
      choices,
      bytes: chat.bytes + Buffer.byteLength(JSON.stringify(this.#messages)),
      body: { ...rest, messages, ...(toolChoice === undefined ? {} : { tool_choice: toolChoice }) },
      ...(format === undefined ? {} : { format }),
    }
  }

  /** A turn that lasts longer than a call may ends with the next answer. */
  #isSearchLeft(): boolean {
    const { x, options } = this.#input
    const { clock, config } = this.#deps.services
    return this.#searchCount < options.maxUses && clock.monotonicMs() - x.startedMonotonicMs < config.timeouts.totalMs
  }

  async #runSearches({ text, reasoning, searches, events }: ModelAnswer): Promise<void> {
    const calls = searches.map(({ id, name, arguments: args }) => ({ id, type: 'function', function: { name, arguments: args } }))
    const fields = reasoning === null ? {} : { [reasoning.field]: reasoning.text }
    this.#messages.push({ role: 'assistant', content: text === '' ? null : text, ...fields, tool_calls: calls })
    this.#steps.push(...events)
    for (const call of searches) {
      this.#assertConnected()
      this.#messages.push({ role: 'tool', tool_call_id: call.id, content: await this.#runSearch(call) })
    }
  }

  /** The result for the model. A search that fails does not end the turn. */
  async #runSearch(call: ToolCall): Promise<string> {
    const query = parseSearchCall(call.arguments)
    const position = ++this.#searchCount
    this.#writeStep({ phase: 'start', position, query: query ?? '' })
    const end = (sources: readonly SearchSource[] | null, fault: SearchFault | null): void =>
      this.#writeStep({ phase: 'end', position, query: query ?? '', sources, fault })
    if (query === null) {
      end(null, 'invalid_query')
      return 'The search was not made: the argument query must be a text of 1 to 2000 characters.'
    }
    if (position > this.#input.options.maxUses) {
      end(null, 'too_many_searches')
      return 'The search was not made: this answer may not make more searches. Answer from what is known.'
    }
    const searchResult = await this.#search(query)
    if (searchResult instanceof GatewayError) {
      end(null, searchResult.code === 'quota_exceeded' ? 'quota' : 'unavailable')
      return `The search failed: ${searchResult.message}`
    }
    const results = filterResults(searchResult.results, this.#input.options)
    const sources = toSources(results, this.#sources.length)
    this.#sources.push(...sources)
    end(sources, null)
    const isFiltered = results.length < searchResult.results.length
    return toToolResult({ ...searchResult, results }, sources, { withAnswer: !isFiltered })
  }

  /** The document, or why there is none. The search is charged once it was made. @throws ClientDisconnected */
  async #search(query: string): Promise<SearchDocument | GatewayError> {
    const { x, callContext, options } = this.#input
    const { services, chain, search } = this.#deps
    const chat = async (): Promise<ChatRequest> => createSearchRequest(toSearchQuery(query, options), search.model)
    const turn = createNestedTurn({ outer: x, position: ++this.#nestedCount, chat, clock: services.clock })
    const client = new BufferedResponse(callContext.client)
    const find: TurnHandler = async (inner, context) => toSearchAnswer(await search.search(inner, context))
    // A search sends nothing by itself.
    const { heartbeatEveryMs } = services.config.timeouts
    const outcome = await keepStreamAlive(
      callContext,
      { clock: services.clock, everyMs: heartbeatEveryMs },
      chain.run(turn, find, client, services),
    )
    addNestedCharge(x, turn)
    if (outcome.kind === 'failed') return outcome.failure
    if (client.body === null) throw this.#createDisconnect()
    return parseJson(client.body, ownJsonBounds) as SearchDocument
  }

  #writeStep(step: HostedSearchStep): void {
    const { chat, callContext, encoder } = this.#input
    const event = { kind: 'search', step } as const
    this.#steps.push(event)
    if (!chat.stream) return
    openStream(callContext)
    callContext.client.write(encoder.push([event]))
  }

  #toResult({ events, ending }: ModelAnswer): CallResult {
    const { chat, encoder, callContext } = this.#input
    const usage = this.#firstUsage ?? { inputTokens: 0, outputTokens: 0, estimated: false }
    const charge = callContext.describeCharge?.(usage)
    const usageEvents: readonly AnswerEvent[] = this.#usage === null ? [] : [{ kind: 'usage', usage: this.#usage, charge }]
    const last = [...ending, ...usageEvents]
    if (chat.stream) {
      const frames = encoder.push(last) + encoder.end()
      return { usage, ...(this.#isAbandoned ? { isAbandoned: true } : {}), final: { kind: 'trailer', frames } }
    }
    const body = encoder.whole([...this.#steps, ...events, ...last])
    return { usage, final: { kind: 'reply', reply: { status: 200, headers: jsonHeaders, body } } }
  }

  /**
   * The failure of a later call, with what the whole turn cost. The sentences of the catalog are about one call, and the codes of an upstream
   * promise that the turn was refunded.
   */
  #toFailure(failure: GatewayError): GatewayError {
    const { chargedCredits = 0, nestedCharge } = this.#input.x
    const credits = chargedCredits + (nestedCharge?.credits ?? 0)
    if (credits === 0) return failure
    const { en, zh } = removeChargeClaim({ en: failure.message, zh: failure.messageZh })
    const isUpstream = failure.code.startsWith('upstream_')
    return new GatewayError(isUpstream ? 'temporarily_unavailable' : failure.code, {
      ...failure.details,
      // Sent again, all of it is charged again.
      ...(isUpstream ? { shouldRetry: false } : {}),
      cause: failure,
      message: {
        en: `${en} The call that failed was not charged; the calls before it were charged ${credits} credits.`,
        zh: `${zh}失败的这次模型调用未计费；此前的调用已计费 ${credits} 点。`,
      },
    })
  }

  #assertConnected(): void {
    if (this.#input.callContext.client.disconnected) throw this.#createDisconnect()
  }

  #createDisconnect(): ClientDisconnected {
    return new ClientDisconnected(this.#firstUsage ?? { inputTokens: 0, outputTokens: 0, estimated: false })
  }
}

/** Whether the parser's thread has analyzed it, so that this thread does not parse it. */
function isAnalyzed(chat: ChatRequest): chat is AnalyzedChat {
  return getAnalysis(chat) !== undefined
}

/** The answer ended before its calls were complete. */
function isCut({ ending }: ModelAnswer): boolean {
  return ending.some((event) => event.kind === 'finish' && event.reason === 'length')
}

/** Names the format in the turn log. The answers of such a turn are translated by the exchange around it. */
function createQuietTranslation({ translation }: Exchange, reader: StepReader): Translation | null {
  if (translation === undefined) return null
  const { format, requestedModel, sessionMark } = translation
  return {
    format,
    requestedModel,
    sessionMark,
    translateReply: (_x, reply) => encodeReply(reader, reply),
    toFailureReply: (_x, _failure, reply) => reply,
    toFailureFrames: () => '',
  }
}
