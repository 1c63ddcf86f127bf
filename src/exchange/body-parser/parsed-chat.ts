/** A large request on the main thread: its analysis, and its text on demand. */
import { GatewayError } from '../../errors.ts'
import type { ApiFormatName } from '../api-format/api-format-name.ts'
import type { AnalyzedChat } from './body-parser.ts'
import type { HostedSearchOptions } from '../hosted-search.ts'
import { analysisKey } from '../request/request-analysis.ts'
import type { RequestAnalysis } from '../request/request-analysis.ts'
import { isRecord } from '../request/chat-request.ts'
import type { TextLease } from './text-lease.ts'
import { RawJson } from '../request/raw-json.ts'
import type { ByteRange, AnalysisResult } from './analyze-request.ts'
import { ownJsonBounds, parseJson } from '../../system/parse-json.ts'

/** Its getters are the class's, so a copy with other messages (`{ ...chat, messages, body }`) inherits no analysis. */
export class ParsedChat implements AnalyzedChat {
  readonly model: string
  readonly stream: boolean
  readonly includeUsage: boolean
  readonly maxTokens: number | null
  readonly choices: number
  readonly bytes: number
  readonly format?: ApiFormatName
  readonly hostedSearch?: HostedSearchOptions
  readonly translated: AnalyzedChat['translated']
  readonly #analysis: RequestAnalysis
  readonly #text: Uint8Array
  readonly #lease: TextLease
  #body: Readonly<Record<string, unknown>> | undefined

  /** @param text memory that the result's text was written to */
  constructor(
    result: AnalysisResult,
    text: ArrayBufferLike,
    { translated, lease }: { readonly translated: AnalyzedChat['translated']; readonly lease: TextLease },
  ) {
    const { chat, fields, prepared, count, hash, hasImages, mediaAddresses, violations, lastUser, opening } = result
    this.model = chat.model
    this.stream = chat.stream
    this.includeUsage = chat.includeUsage
    this.maxTokens = chat.maxTokens
    this.choices = chat.choices
    this.bytes = chat.bytes
    if (chat.format !== undefined) this.format = chat.format
    if (chat.hostedSearch !== undefined) this.hostedSearch = chat.hostedSearch
    this.translated = translated
    this.#lease = lease
    this.#text = new Uint8Array(text, 0, result.bodyBytes)
    const toRawJson = (ranges: readonly ByteRange[]): RawJson =>
      new RawJson(
        ranges.map(([from, to]) => new Uint8Array(text, from, to - from)),
        lease,
      )
    const readFields = (serialized: AnalysisResult['fields']): Readonly<Record<string, unknown>> =>
      Object.fromEntries(serialized.map(([name, value, ranges]) => [name, ranges === null ? value : toRawJson(ranges)]))
    this.#analysis = {
      fields: readFields(fields),
      prepared: Object.fromEntries(
        prepared.map(([key, parts]) => [
          key,
          parts.kind === 'refused'
            ? new GatewayError(parts.code, parts.details)
            : { fields: readFields(parts.fields), facts: parts.facts, dropped: parts.dropped },
        ]),
      ),
      count,
      hash,
      hasImages,
      mediaAddresses,
      violations,
      lastUser,
      opening,
    }
  }

  get [analysisKey](): RequestAnalysis {
    return this.#analysis
  }

  get text(): Uint8Array {
    this.#lease.assertOpen()
    return this.#text
  }

  /** Costly: parsed on the main thread at the first access. */
  get body(): Readonly<Record<string, unknown>> {
    if (this.#body === undefined) {
      const body: unknown = parseJson(Buffer.from(this.text.buffer, 0, this.text.length).toString(), ownJsonBounds)
      this.#body = isRecord(body) ? body : {}
    }
    return this.#body
  }

  dispose(): void {
    this.#lease.close()
  }

  /** Costly, like `body`. */
  get messages(): readonly unknown[] {
    const { messages } = this.body
    return Array.isArray(messages) ? messages : []
  }
}
