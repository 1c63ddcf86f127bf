/** The items of an answer, and the events of each from its beginning to its end. */
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'
import type { ToolCall } from '../shared/tool-call-list.ts'
import { CustomInputReader } from './custom-input.ts'
import { JsonEndFinder } from '../chat/json-end-finder.ts'
import { createDeltaTemplate } from './event-writer.ts'
import type { DeltaTemplate, EventType, EventWriter } from './event-writer.ts'
import type { DeclaredTool } from '../shared/tool-names.ts'
import type { SearchSource } from '../../conversation/answer-event.ts'
import { tryParseJson } from '../../system/parse-json.ts'

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

/** The place of an item: its id and its position in `output`. */
export interface ItemPlace {
  readonly id: string
  readonly index: number
}

/**
 * One item. What is added to it waits until `stream` writes it: items are streamed one after the other, while calls may arrive interleaved.
 */
export abstract class OutputItem {
  readonly place: ItemPlace
  #deltaTemplate: DeltaTemplate | null = null
  #isOpen = false
  #final: JsonObject | null = null

  constructor(place: ItemPlace) {
    this.place = place
  }

  /** More of the item may arrive after a later item has begun: some servers interleave the pieces of calls. */
  get mayContinue(): boolean {
    return false
  }

  /** If the answer ends here, a client must not act on the item. */
  get isPartial(): boolean {
    return false
  }

  /** The finished item. It stays as it was sent: a second sealing of the same reasoning would differ. */
  toFinalJson(status: ItemStatus): JsonObject {
    return (this.#final ??= this.toJson(status))
  }

  /** The events of what was added since the last call. */
  stream(events: EventWriter): string {
    return this.#open(events) + this.writeDeltas(events)
  }

  /** The events that end the item. */
  close(events: EventWriter, status: ItemStatus): string {
    const text = this.#open(events) + this.writeDeltas(events) + this.writeEnd(events)
    return text + events.write('response.output_item.done', { output_index: this.place.index, item: this.toFinalJson(status) })
  }

  #open(events: EventWriter): string {
    if (this.#isOpen) return ''
    this.#isOpen = true
    const item = events.write('response.output_item.added', { output_index: this.place.index, item: this.toEmptyJson() })
    return item + this.writeStart(events)
  }

  /** The event of a piece; none for an empty one. */
  protected writeDelta(events: EventWriter, type: EventType, delta: string, fields: object = {}): string {
    if (delta === '') return ''
    this.#deltaTemplate ??= createDeltaTemplate(type, { ...this.location, ...fields })
    return events.writeDelta(this.#deltaTemplate, delta)
  }

  /** The fields that locate an event of this item. */
  protected get location(): { readonly item_id: string; readonly output_index: number } {
    return { item_id: this.place.id, output_index: this.place.index }
  }

  protected abstract toJson(status: ItemStatus): JsonObject
  protected abstract toEmptyJson(): JsonObject

  /** An item may have no events between its beginning and its end. */
  protected writeStart(_events: EventWriter): string {
    return ''
  }

  protected writeDeltas(_events: EventWriter): string {
    return ''
  }

  protected writeEnd(_events: EventWriter): string {
    return ''
  }
}

/** A search that the service runs. */
export class WebSearchItem extends OutputItem {
  readonly #query: string
  readonly #includesSources: boolean
  /** Undefined while it runs, null if it failed. */
  #sources: readonly SearchSource[] | null | undefined

  constructor(place: ItemPlace, query: string, { includesSources }: { readonly includesSources: boolean }) {
    super(place)
    this.#query = query
    this.#includesSources = includesSources
  }

  override get isPartial(): boolean {
    return this.#sources === undefined
  }

  finish(sources: readonly SearchSource[] | null): void {
    this.#sources = sources
  }

  protected toJson(): JsonObject {
    const sources = this.#includesSources ? { sources: (this.#sources ?? []).map(({ url }) => ({ type: 'url', url })) } : {}
    const action = { type: 'search', query: this.#query, queries: [this.#query], ...sources }
    return { id: this.place.id, type: 'web_search_call', status: this.#sources === null ? 'failed' : 'completed', action }
  }

  protected toEmptyJson(): JsonObject {
    const action = { type: 'search', query: this.#query, queries: [this.#query] }
    return { id: this.place.id, type: 'web_search_call', status: 'in_progress', action }
  }

  protected override writeStart(events: EventWriter): string {
    return (
      events.write('response.web_search_call.in_progress', this.location) +
      events.write('response.web_search_call.searching', this.location)
    )
  }

  protected override writeEnd(events: EventWriter): string {
    return events.write('response.web_search_call.completed', this.location)
  }
}

/** A picture that the model has drawn. */
export class PictureItem extends OutputItem {
  readonly #data: string

  /** @param data Base64 */
  constructor(place: ItemPlace, data: string) {
    super(place)
    this.#data = data
  }

  protected toJson(): JsonObject {
    return { ...this.toEmptyJson(), status: 'completed', result: this.#data }
  }

  protected toEmptyJson(): JsonObject {
    return { id: this.place.id, type: 'image_generation_call', status: 'in_progress', result: null }
  }

  protected override writeStart(events: EventWriter): string {
    return events.write('response.image_generation_call.in_progress', this.location)
  }

  protected override writeEnd(events: EventWriter): string {
    return events.write('response.image_generation_call.completed', this.location)
  }
}

export class MessageItem extends OutputItem {
  #text = ''
  #unsent = ''
  readonly #annotations: JsonObject[] = []
  #sentAnnotations = 0
  readonly #phase: object

  constructor(place: ItemPlace, phase?: string) {
    super(place)
    this.#phase = phase === undefined ? {} : { phase }
  }

  get text(): string {
    return this.#text
  }

  addText(text: string): void {
    this.#text += text
    this.#unsent += text
  }

  addAnnotation(annotation: JsonObject): void {
    this.#annotations.push(annotation)
  }

  protected toJson(status: ItemStatus): JsonObject {
    return { id: this.place.id, type: 'message', role: 'assistant', status, content: [this.#toPart()], ...this.#phase }
  }

  protected toEmptyJson(): JsonObject {
    return { id: this.place.id, type: 'message', role: 'assistant', status: 'in_progress', content: [], ...this.#phase }
  }

  protected override writeStart(events: EventWriter): string {
    const part = { type: 'output_text', text: '', annotations: [], logprobs: [] }
    return events.write('response.content_part.added', { ...this.location, content_index: 0, part })
  }

  protected override writeDeltas(events: EventWriter): string {
    let text = this.writeDelta(events, 'response.output_text.delta', this.#unsent, { content_index: 0, logprobs: [] })
    this.#unsent = ''
    for (; this.#sentAnnotations < this.#annotations.length; this.#sentAnnotations++)
      text += events.write('response.output_text.annotation.added', {
        ...this.location,
        content_index: 0,
        annotation_index: this.#sentAnnotations,
        annotation: this.#annotations[this.#sentAnnotations],
      })
    return text
  }

  protected override writeEnd(events: EventWriter): string {
    const at = { ...this.location, content_index: 0 }
    return (
      events.write('response.output_text.done', { ...at, text: this.#text, logprobs: [] }) +
      events.write('response.content_part.done', { ...at, part: this.#toPart() })
    )
  }

  #toPart(): JsonObject {
    return { type: 'output_text', text: this.#text, annotations: this.#annotations, logprobs: [] }
  }
}

/** A call whose tool is known as soon as the call has a name. */
abstract class CallItem extends OutputItem {
  protected readonly call: ToolCall
  protected readonly tool: DeclaredTool
  /** How many pieces of the call's arguments were read. */
  #readPieces = 0
  #checkedPieces = 0
  readonly #end = new JsonEndFinder()
  /** Undefined until the arguments were looked at where they may be complete. */
  #isRecord: boolean | undefined

  constructor(place: ItemPlace, call: ToolCall, tool: DeclaredTool) {
    super(place)
    this.call = call
    this.tool = tool
  }

  override get mayContinue(): boolean {
    return !this.isComplete()
  }

  override get isPartial(): boolean {
    return !this.isComplete()
  }

  /** Nothing can follow a complete JSON object. */
  protected isComplete(): boolean {
    const { pieces } = this.call
    while (this.#checkedPieces < pieces.length) this.#end.push(pieces[this.#checkedPieces++] ?? '')
    // The text is parsed once: one that is no object at its end becomes none by what follows.
    return this.#end.isAtEnd && (this.#isRecord ??= isRecord(tryParseJson(this.call.arguments)))
  }

  protected takeArguments(): string {
    const { pieces } = this.call
    const addedText = pieces.slice(this.#readPieces).join('')
    this.#readPieces = pieces.length
    return addedText
  }

  protected toCallJson(type: string, status: ItemStatus, fields: JsonObject): JsonObject {
    const { name, namespace } = this.tool
    return {
      id: this.place.id,
      type,
      call_id: this.call.id,
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...fields,
      status,
    }
  }
}

export class FunctionCallItem extends CallItem {
  protected toJson(status: ItemStatus): JsonObject {
    return this.toCallJson('function_call', status, { arguments: this.call.arguments })
  }

  protected toEmptyJson(): JsonObject {
    return this.toCallJson('function_call', 'in_progress', { arguments: '' })
  }

  protected override writeDeltas(events: EventWriter): string {
    return this.writeDelta(events, 'response.function_call_arguments.delta', this.takeArguments())
  }

  protected override writeEnd(events: EventWriter): string {
    const { arguments: args } = this.call
    return events.write('response.function_call_arguments.done', { ...this.location, name: this.tool.name, arguments: args })
  }
}

export class CustomCallItem extends CallItem {
  readonly #reader: CustomInputReader
  #unsent = ''

  constructor(place: ItemPlace, call: ToolCall, tool: DeclaredTool) {
    super(place, call, tool)
    this.#reader = new CustomInputReader({ isRaw: call.isCustom })
  }

  protected override isComplete(): boolean {
    this.#read()
    return this.call.isComplete || this.#reader.isClosed
  }

  protected toJson(status: ItemStatus): JsonObject {
    if (status === 'completed') this.#unsent += this.#readEnd()
    else this.#read()
    return this.toCallJson('custom_tool_call', status, { input: this.#reader.input })
  }

  protected toEmptyJson(): JsonObject {
    return this.toCallJson('custom_tool_call', 'in_progress', { input: '' })
  }

  protected override writeDeltas(events: EventWriter): string {
    this.#read()
    const delta = this.#unsent
    this.#unsent = ''
    return this.writeDelta(events, 'response.custom_tool_call_input.delta', delta)
  }

  protected override writeEnd(events: EventWriter): string {
    this.#unsent += this.#readEnd()
    const rest = this.writeDeltas(events)
    return rest + events.write('response.custom_tool_call_input.done', { ...this.location, input: this.#reader.input })
  }

  #read(): void {
    this.#unsent += this.#reader.push(this.takeArguments())
  }

  #readEnd(): string {
    this.#read()
    return this.#reader.end()
  }
}

/** Has no events of its own between its beginning and its end. */
export class ToolSearchItem extends CallItem {
  protected toJson(status: ItemStatus): JsonObject {
    return { ...this.toEmptyJson(), arguments: tryParseJson(this.call.arguments) ?? {}, status }
  }

  protected toEmptyJson(): JsonObject {
    const { id } = this.place
    return { id, type: 'tool_search_call', call_id: this.call.id, execution: 'client', arguments: {}, status: 'in_progress' }
  }
}
