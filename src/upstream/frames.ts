/**
 * The frames that a streamed answer becomes for the client: each event one line of JSON. What need not differ leaves as it came; the
 * upstream's model id becomes the product's, the usage chunk is held back for the end.
 */
import type { Usage } from '../exchange/exchange.ts'
import { endMark } from '../exchange/stream.ts'
import { StreamedCitations } from './citations.ts'
import { isFitToShow, saysMore, shown } from './shown.ts'
import type { View } from './shown.ts'
import type { Likeness } from './likeness.ts'
import type { ChunkTaker } from './stream-reader.ts'
import { shownUsage } from './usage.ts'

export interface FramesOptions {
  readonly view: View
  /** Whether the client asked for the usage chunk. */
  readonly includeUsage: boolean
  /** Told each event's JSON text; null when nobody listens. */
  readonly onEvent: ((json: string) => void) | null
}

export class Frames implements ChunkTaker {
  readonly #options: FramesOptions
  readonly #citations = new StreamedCitations()
  /** `"model":"<upstream's id>"` as its events spell it, and what stands there instead. */
  #model: { readonly id: string; readonly theirs: string; readonly ours: string } | null = null
  /** What the usage chunk is made after. */
  #head: Record<string, unknown> = {}
  #hasHead = false
  /** What stands around the words of the next chunk, if it is like the last, and of which choice's text they are. */
  #around: { readonly before: string; readonly after: string; readonly textOf: number | null } | null = null

  constructor(options: FramesOptions) {
    this.#options = options
  }

  /** A chunk with a list of choices, and the text it was parsed from. Empty where it says nothing to the client. */
  take(chunk: Record<string, unknown>, text: string): string {
    const choices = chunk['choices'] as unknown[]
    if (choices.length > 0 && !this.#hasHead) {
      const { id, object, created } = chunk
      this.#head = { id, object, created, model: this.#options.view.productId }
      this.#hasHead = true
    }
    const checked = this.#checked(chunk, choices)
    // Where the citations were changed, the text is not what the chunk says any more.
    const json = this.#jsonOf(checked, checked === chunk ? text : null)
    if (json === null) return ''
    this.#options.onEvent?.(json)
    return `data: ${json}\n\n`
  }

  expect({ index, key, marked: { chunk, text, mark } }: Likeness): boolean {
    const [before, after, ...more] = this.#jsonOf(chunk, text)?.split(mark) ?? []
    if (before === undefined || after === undefined || more.length > 0) return false
    this.#around = { before, after, textOf: key === 'content' ? index : null }
    return true
  }

  more(words: string, written: string): string {
    if (this.#around === null) return ''
    const { before, after, textOf } = this.#around
    if (textOf !== null) this.#citations.passed(textOf, words.length)
    const json = before + written + after
    this.#options.onEvent?.(json)
    return `data: ${json}\n\n`
  }

  /** The last frames: usage if it was asked for, once; then the end mark. */
  tail(usage: Usage, report: Record<string, unknown> | null): string {
    if (!this.#options.includeUsage) return endMark
    return `data: ${JSON.stringify({ ...this.#head, choices: [], usage: shownUsage(report, usage) })}\n\n${endMark}`
  }

  #checked(chunk: Record<string, unknown>, choices: unknown[]): Record<string, unknown> {
    let checked: unknown[] | null = null
    for (const [at, choice] of choices.entries()) {
      const passed = this.#citations.pass(choice)
      if (passed !== choice) (checked ??= [...choices])[at] = passed
    }
    return checked === null ? chunk : { ...chunk, choices: checked }
  }

  #jsonOf(chunk: Record<string, unknown>, text: string | null): string | null {
    const { view } = this.#options
    if ((chunk['choices'] as unknown[]).length === 0 && !saysMore(chunk)) return null
    const asItCame = text !== null && !text.includes('\n') && isFitToShow(chunk, view) ? this.#renamed(chunk, text) : null
    return asItCame ?? JSON.stringify(shown(chunk, view))
  }

  /** The text with the model id replaced in place; null where that cannot be done safely. A quote inside a string is escaped, so the needle can only be a key. */
  #renamed(chunk: Record<string, unknown>, text: string): string | null {
    const { model } = chunk
    if (model === undefined) return text.includes('"model"') ? null : text
    if (typeof model !== 'string') return null
    if (this.#model?.id !== model) this.#learn(model, text)
    if (this.#model === null) return null
    const { theirs, ours } = this.#model
    const at = text.indexOf(theirs)
    if (at === -1 || text.indexOf('"model"') !== at || text.includes('"model"', at + theirs.length)) return null
    return text.slice(0, at) + ours + text.slice(at + theirs.length)
  }

  #learn(model: string, text: string): void {
    const id = JSON.stringify(model)
    const colon = [':', ': '].find((colon) => text.includes(`"model"${colon}${id}`))
    const ours = JSON.stringify(this.#options.view.productId)
    this.#model = colon === undefined ? null : { id: model, theirs: `"model"${colon}${id}`, ours: `"model"${colon}${ours}` }
  }
}
