/**
 * Reads one answer of the model within a turn with hosted searches. Calls of the search are taken out, and so are finish reason and usage,
 * which only the last answer of the turn passes on.
 */
import { isObject } from '../../formats/shared/fields.ts'
import { ToolCallList } from '../../codecs/shared/tool-call-list.ts'
import type { ToolCall } from '../../codecs/shared/tool-call-list.ts'
import { hostedSearchFunction } from '../../exchange/hosted-search.ts'
import type { AnswerEvent, AnswerUsage, ReasoningField } from '../../conversation/answer-event.ts'
import type { GatewayError } from '../../errors.ts'
import type { AnswerEncoder, FailedExchange } from '../../exchange/api-format/api-format.ts'

type ReasoningEvent = Extract<AnswerEvent, { kind: 'reasoning' }>

export interface ModelAnswer {
  readonly text: string
  readonly reasoning: ReasoningEvent | null
  readonly searches: readonly ToolCall[]
  /** Tools that the client runs were called. */
  readonly hasOtherCalls: boolean
  /** What passes of a whole answer; empty for a stream. */
  readonly events: readonly AnswerEvent[]
  /** The events that end the answer. */
  readonly ending: readonly AnswerEvent[]
  readonly usage: AnswerUsage | null
}

/** Writes what passes of one answer with the encoder of the turn. */
export class StepReader implements AnswerEncoder {
  readonly #outer: AnswerEncoder
  readonly #calls: ToolCallList
  readonly #passedCalls = new Set<ToolCall>()
  #text = ''
  #reasoning = ''
  #reasoningField: ReasoningField = 'reasoning_content'
  #whole: readonly AnswerEvent[] = []
  readonly #ending: AnswerEvent[] = []
  #usage: AnswerUsage | null = null

  constructor(requestId: string, outer: AnswerEncoder) {
    this.#outer = outer
    this.#calls = new ToolCallList(requestId)
  }

  start(): string {
    return this.#outer.start()
  }

  push(answered: readonly AnswerEvent[]): string {
    const passedEvents = this.#read(answered)
    return passedEvents.length === 0 ? '' : this.#outer.push(passedEvents)
  }

  heartbeat(): string {
    return this.#outer.heartbeat()
  }

  /** The turn may go on. */
  end(): string {
    return ''
  }

  fail(x: FailedExchange, failure: GatewayError): string {
    return this.#outer.fail(x, failure)
  }

  /** The turn may go on. */
  whole(events: readonly AnswerEvent[]): string {
    this.#whole = this.#read(events)
    return ''
  }

  /** The answer, which has ended. */
  finish(): ModelAnswer {
    const searches = this.#searches
    return {
      text: this.#text,
      reasoning: this.#reasoning === '' ? null : { kind: 'reasoning', text: this.#reasoning, field: this.#reasoningField },
      searches,
      hasOtherCalls: searches.length < this.#calls.all.length,
      events: this.#whole,
      ending: this.#ending,
      usage: this.#usage,
    }
  }

  get #searches(): readonly ToolCall[] {
    return this.#calls.all.filter(({ name }) => name === hostedSearchFunction)
  }

  #read(answered: readonly AnswerEvent[]): readonly AnswerEvent[] {
    return answered.flatMap((event) => this.#readEvent(event) ?? [])
  }

  /** The event for the client; null for one of a search, and for what only the last answer of the turn passes on. */
  #readEvent(event: AnswerEvent): AnswerEvent | null {
    switch (event.kind) {
      case 'text':
      case 'refusal':
        this.#text += event.text
        return event
      case 'reasoning':
        this.#reasoningField = event.field
        this.#reasoning += event.text
        return event
      case 'call':
        return this.#readCall(event)
      case 'stop-sequence':
      case 'finish':
        this.#ending.push(event)
        return null
      case 'usage':
        this.#usage = event.usage
        return null
      default:
        return event
    }
  }

  /** The piece for the client: none of a search, and none before the call has a name. */
  #readCall(piece: Extract<AnswerEvent, { kind: 'call' }>): AnswerEvent | null {
    const call = this.#calls.add(piece)
    const { position: index, id, name } = call
    if (name === '' || name === hostedSearchFunction) return null
    if (this.#passedCalls.has(call)) return { ...piece, index }
    this.#passedCalls.add(call)
    return { ...piece, index, id, name, arguments: call.arguments }
  }
}

/** The sum of two usage objects, with their details. */
export function addUsage(a: AnswerUsage | null, b: AnswerUsage | null): AnswerUsage | null {
  if (a === null || b === null) return a ?? b
  const sum: Record<string, unknown> = { ...a, ...b }
  for (const [name, value] of Object.entries(b)) {
    const other = a[name]
    if (typeof value === 'number' && typeof other === 'number') sum[name] = value + other
    else if (isObject(value) && isObject(other)) sum[name] = addUsage(other, value)
  }
  return sum
}
