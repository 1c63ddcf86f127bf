/** Values that later steps need of a large request, computed in advance. */
import type { MediaItem } from '../../conversation/media/media-item.ts'
import type { LocalizedText } from '../../errors.ts'
import type { PreparedRequest } from './prepared-parts.ts'

/** Key of a request's analysis. It is no field of `ChatRequest`, so that the plugin API does not contain it. */
export const analysisKey = Symbol('analysis')

/** The analysis of a large request; undefined for a small one, which is examined directly. */
export function getAnalysis(chat: object): RequestAnalysis | undefined {
  return (chat as { readonly [analysisKey]?: RequestAnalysis })[analysisKey]
}

/** What later steps need of a large request, computed by the parser's worker so that the main thread need not parse it. */
export interface RequestAnalysis {
  readonly fields: Readonly<Record<string, unknown>>
  /** Its messages and tools in the forms of the product's targets. */
  readonly prepared: PreparedRequest
  readonly count: PromptCount
  readonly hash: string
  readonly hasImages: boolean
  /** Addresses in its parts (`media-addresses.ts`). */
  readonly mediaAddresses: readonly string[]
  readonly violations: FieldViolations
  /** The last message of the role `user` without its images; undefined if there is none. */
  readonly lastUser: unknown
  /** `getConversationOpening`. */
  readonly opening: string
}

/** Counts of a prompt, before the tokens per picture, page and second are known. */
export interface PromptCount {
  readonly media: MediaItem[]
  /** Characters of the request that are files or their addresses. */
  mediaBytes: number
  /** Maximum tokens of the request, without media. */
  maxTextTokens: number
  /** Likely tokens of messages and tools, without media; a fraction. */
  likelyTextTokens: number
}

/** Parts of a request that choose or buy. */
export interface FieldViolations {
  /** Names of fields of the body. */
  readonly fields: readonly string[]
  readonly tool: FieldViolation | null
  readonly part: FieldViolation | null
  /** Values that make a model server do more than answer; `param` is the field of the body. */
  readonly values: readonly FieldViolation[]
}

export interface FieldViolation {
  readonly detail: LocalizedText
  readonly param: string
}
