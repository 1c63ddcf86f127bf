/** Encodes an answer: chunks of a chat completion become items and events, a whole completion becomes a response object. */
import type { AnswerContext, AnswerEncoder, FailedExchange, JsonObject } from '../../exchange/api-format/api-format.ts'
import type { GatewayError } from '../../errors.ts'
import type {
  AnswerEvent,
  HostedSearchStep,
  ReasoningField,
  SearchSource,
  SignedReasoning,
} from '../../conversation/answer-event.ts'
import { findCitations } from '../shared/find-citations.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'
import { describePicture } from '../shared/describe-picture.ts'
import { isCallSignature, sealReasoning } from '../shared/sealed-reasoning.ts'
import type { Reasoning } from '../shared/sealed-reasoning.ts'
import { ToolCallList } from '../shared/tool-call-list.ts'
import type { ToolCall } from '../shared/tool-call-list.ts'
import { EventWriter } from './event-writer.ts'
import { toStreamError } from './failures.ts'
import { CustomCallItem, FunctionCallItem, MessageItem, PictureItem, ToolSearchItem, WebSearchItem } from './output-items.ts'
import type { ItemPlace, ItemStatus, OutputItem } from './output-items.ts'
import { ReasoningItem } from './reasoning-item.ts'
import { createResponse } from './response-object.ts'
import { toResponseUsage } from './response-usage.ts'
import { CalledToolFinder } from '../shared/tool-names.ts'
import type { ToolMap } from '../shared/tool-names.ts'

/** What the encoder of the answer needs of the request. */
export interface ResponsesState {
  readonly tools: ToolMap
  /** The fields of the request that a response repeats, as `serializeEcho` writes them. */
  readonly echoed: string
  /** The client is Codex, which repeats the turn after some endings that other clients accept. */
  readonly isCodex: boolean
  /** The answer names the sources of each search. */
  readonly includesSources: boolean
}

const doneEvent = 'data: [DONE]\n\n'

/** Finish reasons that end an answer before it is complete. */
const incompleteReasons: Readonly<Record<string, 'max_output_tokens' | 'content_filter'>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
}

const filteredText = 'The answer was stopped by the content policy.'

export class ResponsesEncoder implements AnswerEncoder {
  readonly #context: AnswerContext<ResponsesState>
  readonly #id: string
  readonly #events = new EventWriter()
  readonly #calls: ToolCallList
  readonly #callsWithItem = new Set<ToolCall>()
  /** Calls that arrive whole or signed become items at the end: a later one may have a signature, whose item must stand before all calls. */
  #holdsCalls = false
  readonly #calledTools: CalledToolFinder
  readonly #items: OutputItem[] = []
  /** Position of the item that is being streamed; those before it have ended. */
  #current = 0
  #reasoningField: ReasoningField = 'reasoning_content'
  #finishReason: string | null = null
  #usage: JsonObject | null = null
  #charge: JsonObject | undefined
  /** Sources that came before the text that they are of, as Anthropic sends them. */
  readonly #earlyAnnotations: JsonObject[] = []
  /** The sources of all searches so far. */
  readonly #sources: SearchSource[] = []

  constructor(context: AnswerContext<ResponsesState>) {
    this.#context = context
    this.#id = context.requestId.replace(/^[a-z]+_/, '')
    this.#calls = new ToolCallList(this.#id)
    this.#calledTools = new CalledToolFinder(context.state.tools)
  }

  start(): string {
    const response = this.#createResponse('in_progress')
    return this.#events.writeResponse('response.created', response) + this.#events.writeResponse('response.in_progress', response)
  }

  push(answered: readonly AnswerEvent[]): string {
    let text = ''
    for (const event of answered) {
      if (event.kind === 'usage') {
        this.#usage = toResponseUsage(event.usage)
        this.#charge = event.charge
      } else if (event.kind === 'search') text += this.#pushSearch(event.step)
      // Some servers send a reason with each piece, so that it is no end.
      else if (event.kind === 'finish') this.#finishReason = event.reason
      else this.#add(event)
    }
    return text + this.#stream()
  }

  /** Codex counts events, and not bytes or comments. A second `in_progress` would make OpenAI's SDK forget the items before it. */
  heartbeat(): string {
    return this.#items.length === 0
      ? this.#events.writeResponse('response.in_progress', this.#createResponse('in_progress'))
      : this.#events.write('keepalive')
  }

  end(): string {
    const rest = this.#finish()
    const status = this.#incompleteReason === null ? 'completed' : 'incomplete'
    return rest + this.#events.writeResponse(`response.${status}`, this.#createFinalResponse(), this.#charge) + doneEvent
  }

  /** Items that have not ended stay open, so that no client acts on half a call. */
  fail(_x: FailedExchange, failure: GatewayError): string {
    const endedItems = this.#items.slice(0, this.#current).filter((item) => !this.#isCut(item))
    const output = endedItems.map((item) => item.toFinalJson(this.#getEndStatus(item)))
    const response = this.#createResponse('failed', { output, error: toStreamError(failure), usage: this.#usage })
    return this.#events.writeResponse('response.failed', response) + doneEvent
  }

  whole(events: readonly AnswerEvent[]): string {
    this.#holdsCalls = events.some((event) => event.kind === 'signed-reasoning' && isCallSignature(event.signed))
    this.push(events)
    this.#finish()
    return this.#createFinalResponse()
  }

  #pushSearch(step: HostedSearchStep): string {
    if (step.phase === 'start') {
      const { includesSources } = this.#context.state
      this.#items.push(new WebSearchItem(this.#createPlace('ws'), step.query, { includesSources }))
      return this.#stream()
    }
    const item = this.#items.at(-1)
    if (!(item instanceof WebSearchItem)) return ''
    item.finish(step.sources)
    this.#sources.push(...(step.sources ?? []))
    this.#current = this.#items.length
    return item.close(this.#events, 'completed')
  }

  /** The events that end an item, with the sources that its text names. */
  #close(item: OutputItem, status: ItemStatus): string {
    if (item instanceof MessageItem)
      for (const { source, start, end } of findCitations(item.text, this.#sources))
        item.addAnnotation({ type: 'url_citation', url: source.url, title: source.title, start_index: start, end_index: end })
    return item.close(this.#events, status)
  }

  #add(event: AnswerEvent): void {
    // Clients with strict types reject reasoning after a call.
    const takesReasoning = this.#callsWithItem.size === 0
    switch (event.kind) {
      case 'text':
      case 'refusal':
        // Codex shows nothing of a refusal part.
        return this.#getMessage().addText(event.text)
      case 'reasoning':
        if (!takesReasoning) return
        this.#reasoningField = event.field
        return this.#getReasoning().addText(event.text)
      // It ends the item of its text, or stands for itself where its text was not shown.
      case 'signed-reasoning':
        this.#holdsCalls ||= isCallSignature(event.signed)
        return takesReasoning ? this.#getReasoning(event.signed).sign(event.signed) : undefined
      case 'citation':
        return this.#addAnnotation(event)
      case 'text-break':
        if (event.phase !== undefined || (event.separator !== '' && this.#items.at(-1) instanceof MessageItem))
          this.#addMessage(event.phase)
        return
      case 'image':
        return this.#addPicture(event.url)
      case 'call': {
        this.#holdsCalls ||= event.isComplete === true && this.#callsWithItem.size === 0
        const call = this.#calls.add(event)
        if (call.name !== '' && !this.#holdsCalls && !this.#callsWithItem.has(call)) this.#addCallItem(call)
      }
    }
  }

  /** The last item if it is reasoning that the upstream has not signed yet, else a new one. A signature of a call stands for itself. */
  #getReasoning(signed?: SignedReasoning): ReasoningItem {
    const last = this.#items.at(-1)
    if (last instanceof ReasoningItem && !last.isSigned && signed?.field !== 'call_signatures') return last
    const item = new ReasoningItem(this.#createPlace('rs'), this.#seal)
    this.#items.push(item)
    return item
  }

  #addAnnotation({ annotation, native }: Extract<AnswerEvent, { kind: 'citation' }>): void {
    const citation = native?.api === 'responses' ? native.value : toUrlCitation(annotation ?? {})
    const last = this.#items.at(-1)
    if (citation === null) return
    if (last instanceof MessageItem) last.addAnnotation(citation)
    else this.#earlyAnnotations.push(citation)
  }

  #addPicture(url: string): void {
    const data = /^data:[^,]*;base64,/.exec(url)
    if (data === null) return this.#getMessage().addText(`\n\n${describePicture(url)}`)
    this.#items.push(new PictureItem(this.#createPlace('ig'), url.slice(data[0].length)))
  }

  #addCallItem(call: ToolCall): void {
    this.#callsWithItem.add(call)
    const tool = this.#calledTools.find(call.name)
    switch (tool.kind) {
      case 'function':
        return void this.#items.push(new FunctionCallItem(this.#createPlace('fc'), call, tool))
      case 'custom':
        return void this.#items.push(new CustomCallItem(this.#createPlace('ctc'), call, tool))
      case 'tool_search':
        return void this.#items.push(new ToolSearchItem(this.#createPlace('tsc'), call, tool))
    }
  }

  /** The events of the current item. An item ends where the next begins, a call once its arguments are complete. */
  #stream(): string {
    let text = ''
    for (; ; this.#current++) {
      const item = this.#items[this.#current]
      if (item === undefined) return text
      const isLast = this.#current === this.#items.length - 1
      if (isLast || item.mayContinue) return text + item.stream(this.#events)
      text += this.#close(item, 'completed')
    }
  }

  #finish(): string {
    this.#finishReason ??= 'stop'
    if (this.#finishReason === 'content_filter' && this.#context.state.isCodex) this.#addFilterNote()
    // A call without a name cannot be made, but the client reports it to the model.
    for (const call of this.#calls.all) {
      if (call.arguments === '' && !call.isCustom && !this.#endedEarly) call.addArguments('{}')
      if (!this.#callsWithItem.has(call)) this.#addCallItem(call)
    }
    let text = ''
    for (; this.#current < this.#items.length; this.#current++) {
      const item = this.#items[this.#current]
      if (item === undefined) break
      text += this.#isCut(item) ? item.stream(this.#events) : this.#close(item, this.#getEndStatus(item))
    }
    return text
  }

  /** Codex repeats an answer that is incomplete because of a filter five times. */
  #addFilterNote(): void {
    const last = this.#items.at(-1)
    if (last instanceof MessageItem) last.addText(`\n\n${filteredText}`)
    else this.#getMessage().addText(filteredText)
  }

  /** The upstream stopped before the answer was complete. */
  get #endedEarly(): boolean {
    return Object.hasOwn(incompleteReasons, this.#finishReason ?? '')
  }

  get #incompleteReason(): 'max_output_tokens' | 'content_filter' | null {
    const reason = incompleteReasons[this.#finishReason ?? ''] ?? null
    return reason === 'content_filter' && this.#context.state.isCodex ? null : reason
  }

  /** The answer ended inside this call. */
  #isCut(item: OutputItem): boolean {
    return this.#endedEarly && item.isPartial
  }

  #getEndStatus(item: OutputItem): ItemStatus {
    const isLastText = item === this.#items.at(-1) && (item instanceof MessageItem || item instanceof ReasoningItem)
    return this.#isCut(item) || (this.#incompleteReason !== null && isLastText) ? 'incomplete' : 'completed'
  }

  #createFinalResponse(): string {
    const reason = this.#incompleteReason
    return this.#createResponse(reason === null ? 'completed' : 'incomplete', {
      output: this.#items.map((item) => item.toFinalJson(this.#getEndStatus(item))),
      usage: this.#usage,
      incomplete_details: reason === null ? null : { reason },
      completed_at: reason === null ? Math.floor(this.#context.now() / 1000) : null,
    })
  }

  #createResponse(
    status: Parameters<typeof createResponse>[2]['status'],
    progress: Partial<Parameters<typeof createResponse>[2]> = {},
  ): string {
    const { model, startedAt, state } = this.#context
    return createResponse({ id: `resp_${this.#id}`, model, startedAt }, state.echoed, { ...progress, status })
  }

  readonly #seal = (reasoning: Pick<Reasoning, 'text' | 'signed'>): string =>
    sealReasoning({ field: this.#reasoningField, ...reasoning }, this.#context)

  /** The last item if it is a message, else a new one. */
  #getMessage(): MessageItem {
    const last = this.#items.at(-1)
    return last instanceof MessageItem ? last : this.#addMessage()
  }

  #addMessage(phase?: string): MessageItem {
    const item = new MessageItem(this.#createPlace('msg'), phase)
    for (const annotation of this.#earlyAnnotations.splice(0)) item.addAnnotation(annotation)
    this.#items.push(item)
    return item
  }

  #createPlace(prefix: string): ItemPlace {
    const index = this.#items.length
    return { id: `${prefix}_${this.#id}_${index}`, index }
  }
}

/** A source of the text. Its address is required; the position is 0 to 0 if it is unknown, which means the whole text. */
function toUrlCitation(annotation: JsonObject): JsonObject | null {
  const { url_citation: inner } = annotation
  const citation = isRecord(inner) ? inner : annotation
  const { url, title, start_index: start, end_index: end } = citation
  if (typeof url !== 'string') return null
  return {
    type: 'url_citation',
    url,
    title: typeof title === 'string' ? title : url,
    start_index: typeof start === 'number' ? start : 0,
    end_index: typeof end === 'number' ? end : 0,
  }
}
