/** Encodes an answer as events of the Messages API, or as one message. One content block is open at a time. */
import type { AnswerContext, AnswerEncoder, JsonObject } from '../../exchange/api-format/api-format.ts'
import type { FailedExchange } from '../../exchange/exchange.ts'
import type { GatewayError } from '../../errors.ts'
import type {
  AnswerEvent,
  HostedSearchStep,
  ReasoningField,
  SearchSource,
  SignedReasoning,
} from '../../conversation/answer-event.ts'
import {
  caller,
  emptyFields,
  emptyMessageFields,
  emptyUsageFields,
  toEmptyAnswerText,
  toMessageId,
  toStopReason,
  toUsage,
} from './message-fields.ts'
import { streamedBlocks, toEvent, WholeContent } from './block-writer.ts'
import type { BlockWriter } from './block-writer.ts'
import { toErrorBody } from './failures.ts'
import { toMessageCitation } from './message-citations.ts'
import { describePicture } from '../shared/describe-picture.ts'
import { isCallSignature, readSignedText, sealReasoning } from '../shared/sealed-reasoning.ts'
import { toCitations, toSearchResultBlock, toSearchUseBlock } from './search-blocks.ts'
import { ToolCallList } from '../shared/tool-call-list.ts'
import type { ToolCall } from '../shared/tool-call-list.ts'

/** What the answer needs of the request. */
export interface MessagesState {
  /** The model id as sent, which reasoning containers are bound to. */
  readonly model: string
  /** Original names of tools whose names were too long for a chat completion. */
  readonly toolNames: ReadonlyMap<string, string>
  readonly stopSequences: readonly string[]
}

/** The open block; `call` where it is a tool call. */
type OpenBlock =
  | { readonly type: 'thinking' }
  | { readonly type: 'redacted' }
  | { readonly type: 'text' | 'search' }
  | { readonly type: 'tool_use'; readonly call: ToolCall }

export class MessagesEncoder implements AnswerEncoder {
  readonly #context: AnswerContext<MessagesState>
  readonly #calls: ToolCallList
  #blocks: BlockWriter = streamedBlocks
  #open: OpenBlock | null = null
  /** Index of the open block, or of the next one. */
  #index = 0
  /** The reasoning of the open block. */
  #reasoning = ''
  #reasoningField: ReasoningField = 'reasoning_content'
  /** The open block as its upstream signed it. */
  #signed: SignedReasoning | undefined
  #hasText = false
  /** White space before any other text. Claude Code takes an answer of white space for an empty one. */
  #leadingSpace = ''
  /** Text that arrived while a call was open, which more of its arguments may follow. */
  #lateText = ''
  #writtenCalls = new Set<ToolCall>()
  /** Calls that arrive whole or signed are written at the end: a later one may have a signature, whose block must stand before all calls. */
  #holdsCalls = false
  /** Citations of the text that follows. */
  #citations: JsonObject[] = []
  #finishReason: string | null = null
  #stopSequence: string | null = null
  #usage: unknown
  #charge: JsonObject | undefined
  /** The sources of all searches so far. */
  readonly #sources: SearchSource[] = []
  /** The text of the open block, if citations may be found in it. */
  #citedText = ''
  #searches = 0

  constructor(context: AnswerContext<MessagesState>) {
    this.#context = context
    this.#calls = new ToolCallList(context.requestId)
  }

  start(): string {
    const { inputEstimate } = this.#context
    const usage = { ...toUsage(undefined, Math.max(1, inputEstimate)), output_tokens: 1, ...emptyUsageFields }
    return toEvent('message_start', {
      message: { ...this.#envelope(), content: [], stop_reason: null, stop_sequence: null, ...emptyMessageFields, usage },
    })
  }

  push(answered: readonly AnswerEvent[]): string {
    let events = ''
    for (const event of answered) events += this.#pushEvent(event)
    return events
  }

  #pushEvent(event: AnswerEvent): string {
    switch (event.kind) {
      case 'text':
      case 'refusal':
        if (this.#open?.type !== 'tool_use') return this.#pushText(event.text)
        this.#lateText += event.text
        return ''
      // Clients refuse reasoning after a call, and its text would be lost with the turn.
      case 'reasoning':
        return this.#writtenCalls.size > 0 ? '' : this.#pushReasoning(event.text, event.field)
      case 'signed-reasoning':
        this.#holdsCalls ||= isCallSignature(event.signed)
        return this.#writtenCalls.size > 0 ? '' : this.#pushSigned(event.signed)
      case 'call':
        this.#holdsCalls ||= event.isComplete === true
        return this.#pushCall(this.#calls.add(event), event.arguments)
      case 'search':
        return this.#pushSearch(event.step)
      case 'stop-sequence':
        // Some servers give other reasons in this field.
        if (this.#context.state.stopSequences.includes(event.sequence)) this.#stopSequence = event.sequence
        return ''
      case 'finish':
        this.#finishReason = event.reason
        return ''
      case 'usage':
        this.#usage = event.usage
        this.#charge = event.charge
        return ''
      case 'text-break':
        return this.#breakText(event.separator)
      case 'citation':
        return this.#pushCitation(toMessageCitation(event))
      case 'image':
        return this.#pushText(this.#hasText ? `\n\n${describePicture(event.url)}` : describePicture(event.url))
      case 'start':
        return ''
    }
  }

  heartbeat(): string {
    return toEvent('ping')
  }

  end(): string {
    const events = this.#endContent()
    const delta = { ...this.#stop(), ...emptyFields }
    const usage = this.#toUsage()
    return events + toEvent('message_delta', { delta, usage }) + toEvent('message_stop', { charge: this.#charge })
  }

  /** The open block stays open: a client that runs finished calls must not take it for one. */
  fail(x: FailedExchange, failure: GatewayError): string {
    return toEvent('error', toErrorBody(x, failure))
  }

  whole(events: readonly AnswerEvent[]): string {
    const content = new WholeContent()
    this.#blocks = content
    this.#holdsCalls = events.some((event) => event.kind === 'signed-reasoning' && isCallSignature(event.signed))
    this.push(events)
    this.#endContent()
    return JSON.stringify({
      ...this.#envelope(),
      content: content.blocks,
      ...this.#stop(),
      ...emptyMessageFields,
      usage: { ...this.#toUsage(), ...emptyUsageFields },
    })
  }

  /** Closes the open block, and writes what had to wait for the end. */
  #endContent(): string {
    let events = this.#close()
    for (const call of this.#calls.all) if (!this.#writtenCalls.has(call)) events += this.#openCall(call) + this.#close()
    if (this.#lateText !== '') events += this.#pushText(this.#lateText) + this.#close()
    if (this.#hasText || this.#calls.all.length > 0) return events
    this.#leadingSpace = ''
    return events + this.#pushText(toEmptyAnswerText(this.#finishReason)) + this.#close()
  }

  #toUsage(): object {
    const usage = toUsage(this.#usage, this.#context.inputEstimate)
    return this.#searches === 0
      ? usage
      : { ...usage, server_tool_use: { web_search_requests: this.#searches, web_fetch_requests: 0 } }
  }

  /** The text that follows a search is an answer of its own. */
  #pushSearch(step: HostedSearchStep): string {
    const events = this.#close()
    this.#leadingSpace = ''
    this.#hasText = false
    if (step.phase === 'start') {
      const startEvents = this.#openBlock({ type: 'search' }, toSearchUseBlock(step, this.#context.requestId, {}))
      const input = this.#delta({ type: 'input_json_delta', partial_json: JSON.stringify({ query: step.query }) })
      return events + startEvents + input + this.#close()
    }
    if (step.sources !== null) {
      this.#searches += 1
      this.#sources.push(...step.sources)
    }
    const block = toSearchResultBlock(step, this.#context.requestId, (text) => this.#context.seal(text))
    return events + this.#openBlock({ type: 'search' }, block) + this.#close()
  }

  #envelope(): object {
    const { requestId, model } = this.#context
    return { id: toMessageId(requestId), type: 'message', role: 'assistant', model }
  }

  #stop(): { stop_reason: string; stop_sequence: string | null } {
    const hasCalls = this.#calls.all.length > 0
    return toStopReason({ finishReason: this.#finishReason, stopSequence: this.#stopSequence, hasCalls })
  }

  #pushReasoning(text: string, field: ReasoningField): string {
    this.#reasoningField = field
    const events =
      this.#open?.type === 'thinking'
        ? ''
        : this.#close() + this.#openBlock({ type: 'thinking' }, { type: 'thinking', thinking: '', signature: '' })
    this.#reasoning += text
    return events + this.#delta({ type: 'thinking_delta', thinking: text })
  }

  /** What the upstream signed ends the open block, or stands for itself where its text was not shown. */
  #pushSigned(signed: SignedReasoning): string {
    if (isHidden(signed))
      return (
        this.#close() +
        this.#openBlock({ type: 'redacted' }, { type: 'redacted_thinking', data: this.#seal('', signed) }) +
        this.#close()
      )
    const events =
      this.#open?.type === 'thinking'
        ? ''
        : this.#close() + this.#openBlock({ type: 'thinking' }, { type: 'thinking', thinking: '', signature: '' })
    this.#signed = signed
    return events + this.#close()
  }

  #pushText(piece: string): string {
    const text = this.#leadingSpace + piece
    if (!this.#hasText && piece.trim() === '') {
      this.#leadingSpace = text
      return ''
    }
    const events =
      this.#open?.type === 'text'
        ? ''
        : this.#close() + this.#openBlock({ type: 'text' }, { type: 'text', text: '', citations: null })
    this.#leadingSpace = ''
    this.#hasText = true
    if (this.#sources.length > 0) this.#citedText += text
    const citations = this.#citations.map((citation) => this.#delta({ type: 'citations_delta', citation }))
    this.#citations = []
    return events + this.#delta({ type: 'text_delta', text }) + citations.join('')
  }

  #breakText(separator: string): string {
    if (separator === '') return this.#open?.type === 'text' ? this.#close() : ''
    return this.#pushEvent({ kind: 'text', text: separator })
  }

  /** It belongs to the open text, or to the next one. */
  #pushCitation(citation: JsonObject | null): string {
    if (citation === null) return ''
    if (this.#open?.type === 'text') return this.#delta({ type: 'citations_delta', citation })
    this.#citations.push(citation)
    return ''
  }

  /** The pieces of two calls may alternate. The first one is streamed, and others are written whole at the end, as those with free text are. */
  #pushCall(call: ToolCall, piece: string): string {
    if (this.#open?.type === 'tool_use' && this.#open.call === call)
      return piece === '' ? '' : this.#delta({ type: 'input_json_delta', partial_json: piece })
    // A call without a name yet cannot be opened.
    if (this.#writtenCalls.size > 0 || call.name === '' || call.isCustom || this.#holdsCalls) return ''
    return this.#close() + this.#openCall(call)
  }

  #openCall(call: ToolCall): string {
    this.#writtenCalls.add(call)
    const block = { type: 'tool_use', id: call.id, name: this.#nameOf(call), input: {}, caller }
    const startEvent = this.#openBlock({ type: 'tool_use', call }, block)
    const json = call.isCustom ? JSON.stringify({ input: call.arguments }) : call.arguments
    return json === '' ? startEvent : startEvent + this.#delta({ type: 'input_json_delta', partial_json: json })
  }

  #nameOf({ name }: ToolCall): string {
    return this.#context.state.toolNames.get(name) ?? name
  }

  #openBlock(open: OpenBlock, block: Record<string, unknown>): string {
    this.#open = open
    return this.#blocks.open(this.#index, block)
  }

  #delta(delta: JsonObject): string {
    return this.#blocks.delta(this.#index, delta)
  }

  #close(): string {
    const open = this.#open
    if (open === null) return ''
    let events = ''
    if (open.type === 'thinking') {
      events += this.#delta({ type: 'signature_delta', signature: this.#seal(this.#reasoning, this.#signed) })
      this.#reasoning = ''
      this.#signed = undefined
    }
    if (open.type === 'text' && this.#citedText !== '') {
      for (const citation of toCitations(this.#citedText, this.#sources))
        events += this.#delta({ type: 'citations_delta', citation })
      this.#citedText = ''
    }
    events += this.#blocks.close(this.#index)
    this.#open = null
    this.#index += 1
    return events
  }

  #seal(text: string, signed?: SignedReasoning): string {
    const { state, ...context } = this.#context
    return sealReasoning(
      { field: this.#reasoningField, text, ...(signed === undefined ? {} : { signed }) },
      { model: state.model, seal: (plain) => context.seal(plain) },
    )
  }
}

/** The upstream shows nothing of it. A block of thinking without a text is none of these: it keeps its signature. */
function isHidden(signed: SignedReasoning): boolean {
  return signed.value['type'] !== 'thinking' && readSignedText(signed) === ''
}
