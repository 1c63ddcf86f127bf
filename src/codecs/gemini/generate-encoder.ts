/**
 * Encodes an answer as events of `streamGenerateContent`, or as one of `generateContent`. Each event has parts, because the SDKs keep no
 * history of an answer with an event without any.
 */
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
import { parseInput } from '../shared/parse-input.ts'
import type { Reasoning } from '../shared/sealed-reasoning.ts'
import { ToolCallList } from '../shared/tool-call-list.ts'
import type { ToolCall } from '../shared/tool-call-list.ts'
import { toErrorBody } from './failures.ts'
import { toGroundingMetadata } from './grounding-metadata.ts'
import { toThoughtSignature } from './thought-containers.ts'
import { toUsageMetadata } from './usage-metadata.ts'

/** What the answer needs of the request. */
export interface GeminiState {
  /** The model id as sent, which reasoning containers are bound to. */
  readonly model: string
  /** Original names of tools whose names a chat completion has no place for. */
  readonly toolNames: ReadonlyMap<string, string>
  /** Whether thoughts are shown. */
  readonly showsThoughts: boolean
}

const finishReasons: Readonly<Record<string, string>> = { length: 'MAX_TOKENS', content_filter: 'SAFETY' }

export class GenerateEncoder implements AnswerEncoder {
  readonly #context: AnswerContext<GeminiState>
  readonly #calls: ToolCallList
  /** Thoughts for the next request, in their order; the text of the last one may grow. */
  readonly #thoughts: { field: ReasoningField; text: string; signed?: SignedReasoning }[] = []
  /** Signatures of calls, by the ids of the calls. */
  readonly #callSignatures = new Map<unknown, Reasoning>()
  /** Text so far, in which the sources of searches are cited. */
  #text = ''
  readonly #sources: SearchSource[] = []
  readonly #queries: string[] = []
  #finishReason: string | null = null
  #usage: unknown
  #charge: JsonObject | undefined
  readonly #citations: JsonObject[] = []

  constructor(context: AnswerContext<GeminiState>) {
    this.#context = context
    this.#calls = new ToolCallList(context.requestId)
  }

  start(): string {
    return ''
  }

  push(answered: readonly AnswerEvent[]): string {
    const parts = answered.flatMap((event) => this.#toParts(event))
    return parts.length === 0 ? '' : this.#toEvent({ content: { parts, role: 'model' }, index: 0 })
  }

  /** An empty line: the SDK for Python takes a comment for a part of the answer. */
  heartbeat(): string {
    return '\n'
  }

  /** Calls are written whole, when it is known that the turn has not failed. */
  end(): string {
    return this.#toEvent(this.#toCandidate(this.#toLastParts()), { ...this.#toUsageFields(), charge: this.#charge })
  }

  fail(x: FailedExchange, failure: GatewayError): string {
    return `data: ${JSON.stringify(toErrorBody(x, failure))}\n\n`
  }

  whole(events: readonly AnswerEvent[]): string {
    const parts = joinTexts(events.flatMap((event) => this.#toParts(event)))
    const last = this.#toLastParts()
    // Beside other parts an empty text has only a signature to carry.
    const rest = parts.length > 0 && isEmptyText(last[0]) ? last.slice(1) : last
    return JSON.stringify(this.#toResponse(this.#toCandidate([...parts, ...rest]), this.#toUsageFields()))
  }

  /** The parts that an event adds at once. */
  #toParts(event: AnswerEvent): readonly JsonObject[] {
    switch (event.kind) {
      case 'text':
      case 'refusal':
        this.#text += event.text
        return [{ text: event.text }]
      case 'reasoning':
        this.#addThought(event.text, event.field)
        return this.#context.state.showsThoughts ? [{ text: event.text, thought: true }] : []
      case 'signed-reasoning':
        this.#sign(event.signed)
        return []
      case 'image': {
        const comma = event.url.indexOf(',')
        const mimeType = event.url.slice('data:'.length, Math.max(event.url.indexOf(';'), 0))
        return event.url.startsWith('data:') && comma !== -1
          ? [{ inlineData: { mimeType, data: event.url.slice(comma + 1) } }]
          : [{ fileData: { fileUri: event.url } }]
      }
      case 'call':
        this.#calls.add(event)
        return []
      case 'search':
        this.#addSearch(event.step)
        return []
      case 'finish':
        this.#finishReason = event.reason
        return []
      case 'usage':
        this.#usage = event.usage
        this.#charge = event.charge
        return []
      case 'text-break':
        return event.separator === '' ? [] : this.#toParts({ kind: 'text', text: event.separator })
      case 'citation':
        if (event.annotation !== null) this.#citations.push(event.annotation)
        return []
      default:
        return []
    }
  }

  #addThought(text: string, field: ReasoningField): void {
    const last = this.#thoughts.at(-1)
    if (last === undefined || last.signed !== undefined) this.#thoughts.push({ field, text })
    else last.text += text
  }

  /** What the upstream signed ends the thought before it, or stands for itself where its text was not shown. */
  #sign(signed: SignedReasoning): void {
    const { id } = signed.value
    if (signed.field === 'call_signatures' && typeof id === 'string')
      return void this.#callSignatures.set(id, { field: 'reasoning_content', text: '', signed })
    const last = this.#thoughts.at(-1)
    if (last === undefined || last.signed !== undefined || signed.field === 'call_signatures')
      this.#thoughts.push({ field: 'reasoning_content', text: '', signed })
    else last.signed = signed
  }

  #addSearch(step: HostedSearchStep): void {
    if (step.phase === 'start') this.#queries.push(step.query)
    else this.#sources.push(...(step.sources ?? []))
  }

  /** The calls; the first one has the thoughts before it, which a client returns with it. Without a call they stand on an empty text. */
  #toLastParts(): readonly JsonObject[] {
    const endedEarly = Object.hasOwn(finishReasons, this.#finishReason ?? '')
    // The answer may have ended inside the last call.
    const calls = this.#calls.all.filter((call) => !endedEarly || isComplete(call))
    if (calls.length === 0) return [{ text: '', ...this.#toSignature(this.#thoughts) }]
    return calls.map((call, i) => {
      const ownSignature = this.#callSignatures.get(call.id)
      const thoughts = [...(i === 0 ? this.#thoughts : []), ...(ownSignature === undefined ? [] : [ownSignature])]
      const name = this.#context.state.toolNames.get(call.name) ?? call.name
      return {
        functionCall: { id: call.id, name, args: parseInput(call.arguments) },
        ...this.#toSignature(thoughts),
      }
    })
  }

  #toSignature(thoughts: readonly Reasoning[]): JsonObject {
    const { state, ...context } = this.#context
    const signature = toThoughtSignature(thoughts, { model: state.model, seal: (text) => context.seal(text) })
    return signature === '' ? {} : { thoughtSignature: signature }
  }

  #toCandidate(parts: readonly JsonObject[]): JsonObject {
    const grounding = toGroundingMetadata(this.#text, {
      sources: this.#sources,
      queries: this.#queries,
      citations: this.#citations,
    })
    return {
      content: { parts, role: 'model' },
      finishReason: finishReasons[this.#finishReason ?? ''] ?? 'STOP',
      index: 0,
      ...(grounding === null ? {} : { groundingMetadata: grounding }),
    }
  }

  #toUsageFields(): JsonObject {
    return { usageMetadata: toUsageMetadata(this.#usage, this.#context.inputEstimate) }
  }

  #toEvent(candidate: JsonObject, fields: JsonObject = {}): string {
    return `data: ${JSON.stringify(this.#toResponse(candidate, fields))}\n\n`
  }

  #toResponse(candidate: JsonObject, fields: JsonObject): JsonObject {
    const { model, requestId } = this.#context
    return { candidates: [candidate], ...fields, modelVersion: model, responseId: requestId }
  }
}

function isComplete({ arguments: text }: ToolCall): boolean {
  return !('invalid_arguments' in parseInput(text))
}

function isEmptyText(part: JsonObject | undefined): boolean {
  return part?.['text'] === '' && part['thoughtSignature'] === undefined
}

/** Texts of one kind in a row are one part. */
function joinTexts(parts: readonly JsonObject[]): readonly JsonObject[] {
  const joinedParts: Record<string, unknown>[] = []
  for (const part of parts) {
    const last = joinedParts.at(-1)
    if (typeof part['text'] === 'string' && typeof last?.['text'] === 'string' && last['thought'] === part['thought'])
      last['text'] += part['text']
    else joinedParts.push({ ...part })
  }
  return joinedParts
}
