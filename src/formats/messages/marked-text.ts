/** Texts that become the one of a chat message, with the places up to which an upstream of Anthropic's API is to cache the prompt. */
import type { JsonObject } from '../../exchange/api-format/api-format.ts'
import { breakpointsField } from '../../exchange/request/anthropic-fields.ts'
import type { CacheBreakpoint } from '../../exchange/request/anthropic-fields.ts'

export class MarkedText {
  #text = ''
  readonly #breakpoints: CacheBreakpoint[] = []

  get text(): string {
    return this.#text
  }

  add(text: string, cacheControl: unknown): void {
    this.#text += this.#text === '' ? text : `\n\n${text}`
    if (cacheControl !== undefined) this.#breakpoints.push({ end: this.#text.length, cache_control: cacheControl })
  }

  toFields(): JsonObject {
    return { content: this.#text, ...(this.#breakpoints.length === 0 ? {} : { [breakpointsField]: this.#breakpoints }) }
  }
}

/** The mark at the end of a message whose text is not split. */
export function toEndMark(text: string, cacheControl: unknown): JsonObject {
  return cacheControl === undefined ? {} : { [breakpointsField]: [{ end: text.length, cache_control: cacheControl }] }
}
