/**
 * Converts the chunks of a stream to the client's events, one line of JSON each. The upstream's model id becomes the product's; the usage
 * chunk is held until the end.
 */
import type { Usage } from '../../exchange/exchange.ts'
import { isRecord } from '../../exchange/request/chat-request.ts'
import { doneEvent } from '../../exchange/response-headers.ts'
import { StreamedCitations } from './citations.ts'
import { needsNoFilter, hasContentFields, filterResponse } from './response-filter.ts'
import type { FieldAllowlist } from './response-filter.ts'
import type { LearnedTemplate } from './chunk-template.ts'
import type { ChunkSink } from './stream-reader.ts'
import { toPublicUsage } from './usage.ts'

interface ClientEventsOptions {
  readonly allowlist: FieldAllowlist
  /** Whether the client requested the usage chunk. */
  readonly includeUsage: boolean
  /** Called with each event's JSON text; null if no plugin listens. */
  readonly onEvent: ((json: string) => void) | null
}

export class ClientEvents implements ChunkSink {
  readonly #options: ClientEventsOptions
  readonly #citations = new StreamedCitations()
  /** Indexes of the choices whose finish reason was sent. */
  readonly #endedChoices = new Set<unknown>()
  /** Fields that the usage chunk copies. */
  #head: Record<string, unknown> = {}
  #hasHead = false
  /** JSON text around the next chunk's text if it matches the template, and the choice whose text it is. */
  #template: { readonly prefix: string; readonly suffix: string; readonly choiceIndex: number | null } | null = null

  constructor(options: ClientEventsOptions) {
    this.#options = options
  }

  /** Takes a chunk with a list of choices. Returns an empty string if the client gets nothing. */
  consume(chunk: Record<string, unknown>): string {
    const sent = chunk['choices'] as unknown[]
    const choices = this.#withoutStrayChoices(sent, isRecord(chunk['usage']))
    if (choices.length > 0 && !this.#hasHead) {
      const { id, object, created } = chunk
      this.#head = { id, object, created, model: this.#options.allowlist.productId }
      this.#hasHead = true
    }
    const json = this.#toJson(this.#clampCitations(choices === sent ? chunk : { ...chunk, choices }, choices))
    if (json === null) return ''
    this.#options.onEvent?.(json)
    return `data: ${json}\n\n`
  }

  acceptTemplate({ index, field, probe: { chunk, placeholder } }: LearnedTemplate): boolean {
    const [prefix, suffix, ...rest] = this.#toJson(chunk)?.split(placeholder) ?? []
    if (prefix === undefined || suffix === undefined || rest.length > 0) return false
    this.#template = { prefix, suffix, choiceIndex: field === 'content' ? index : null }
    return true
  }

  consumeTemplated(value: string, escaped: string): string {
    if (this.#template === null) return ''
    const { prefix, suffix, choiceIndex } = this.#template
    if (choiceIndex !== null) this.#citations.recordText(choiceIndex, value.length)
    const json = prefix + escaped + suffix
    this.#options.onEvent?.(json)
    return `data: ${json}\n\n`
  }

  /** The last frames: usage if it was requested, then `[DONE]`. */
  buildTrailer(usage: Usage, report: Record<string, unknown> | null): string {
    if (!this.#options.includeUsage) return doneEvent
    return `data: ${JSON.stringify({ ...this.#head, choices: [], usage: toPublicUsage(report, usage) })}\n\n${doneEvent}`
  }

  /** LiteLLM puts an empty choice beside the usage, and other servers end with empty deltas: nothing may follow a choice's end. */
  #withoutStrayChoices(choices: unknown[], hasUsage: boolean): unknown[] {
    if (choices.length === 0) return choices
    const kept = choices.filter((choice) => {
      if (!isRecord(choice)) return true
      const { index, finish_reason: reason } = choice
      if (typeof reason === 'string' && reason !== '') {
        this.#endedChoices.add(index)
        return true
      }
      return !(isEmptyDelta(choice['delta'], hasUsage) && (hasUsage || this.#endedChoices.has(index)))
    })
    return kept.length === choices.length ? choices : kept
  }

  #clampCitations(chunk: Record<string, unknown>, choices: unknown[]): Record<string, unknown> {
    let checked: unknown[] | null = null
    for (const [at, choice] of choices.entries()) {
      const passed = this.#citations.process(choice)
      if (passed !== choice) (checked ??= [...choices])[at] = passed
    }
    return checked === null ? chunk : { ...chunk, choices: checked }
  }

  /** Written anew from the parsed chunk: the upstream's own text may hold a key twice, and only the last one was checked. */
  #toJson(chunk: Record<string, unknown>): string | null {
    const { allowlist } = this.#options
    if ((chunk['choices'] as unknown[]).length === 0 && !hasContentFields(chunk)) return null
    if (!needsNoFilter(chunk, allowlist)) return JSON.stringify(filterResponse(chunk, allowlist))
    return JSON.stringify(chunk['model'] === undefined ? chunk : { ...chunk, model: allowlist.productId })
  }
}

/** A delta without output. Beside a usage report that comes with every chunk, the first delta still has the role to announce. */
function isEmptyDelta(delta: unknown, hasUsage: boolean): boolean {
  if (!isRecord(delta)) return delta === undefined || delta === null
  for (const name in delta) {
    const isRole = name === 'role' && !hasUsage
    if (!isRole && delta[name] !== null && delta[name] !== '') return false
  }
  return true
}
