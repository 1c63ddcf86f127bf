/** An item of reasoning in an answer. */
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import type { SignedReasoning } from '../../conversation/answer-event.ts'
import type { Reasoning } from '../shared/sealed-reasoning.ts'
import type { EventWriter } from './event-writer.ts'
import { OutputItem } from './output-items.ts'
import type { ItemPlace, ItemStatus } from './output-items.ts'

type Seal = (reasoning: Pick<Reasoning, 'text' | 'signed'>) => string

/** Reasoning is one part of the summary, which clients show, and the container, which they return. Hidden reasoning has no summary. */
export class ReasoningItem extends OutputItem {
  readonly #seal: Seal
  #text = ''
  #unsent = ''
  #signed: SignedReasoning | undefined

  constructor(place: ItemPlace, seal: Seal) {
    super(place)
    this.#seal = seal
  }

  get isSigned(): boolean {
    return this.#signed !== undefined
  }

  addText(text: string): void {
    this.#text += text
    this.#unsent += text
  }

  sign(signed: SignedReasoning): void {
    this.#signed = signed
  }

  protected toJson(status: ItemStatus): JsonObject {
    const signedField = this.#signed === undefined ? {} : { signed: this.#signed }
    return {
      id: this.place.id,
      type: 'reasoning',
      summary: this.#text === '' ? [] : [{ type: 'summary_text', text: this.#text }],
      encrypted_content: this.#seal({ text: this.#text, ...signedField }),
      status,
    }
  }

  protected toEmptyJson(): JsonObject {
    return { id: this.place.id, type: 'reasoning', summary: [], status: 'in_progress' }
  }

  protected override writeStart(events: EventWriter): string {
    if (this.#text === '') return ''
    const part = { type: 'summary_text', text: '' }
    return events.write('response.reasoning_summary_part.added', { ...this.location, summary_index: 0, part })
  }

  protected override writeDeltas(events: EventWriter): string {
    const delta = this.#unsent
    this.#unsent = ''
    return this.writeDelta(events, 'response.reasoning_summary_text.delta', delta, { summary_index: 0 })
  }

  protected override writeEnd(events: EventWriter): string {
    if (this.#text === '') return ''
    const at = { ...this.location, summary_index: 0 }
    const text = this.#text
    return (
      events.write('response.reasoning_summary_text.done', { ...at, text }) +
      events.write('response.reasoning_summary_part.done', { ...at, part: { type: 'summary_text', text } })
    )
  }
}
