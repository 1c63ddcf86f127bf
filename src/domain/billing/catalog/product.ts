/** A product: a model id that members may request. Its targets define the upstream models behind it. */

import type { LocalizedText } from '../../../errors.ts'
import type { Price } from './price.ts'
import type { UpstreamCost } from './upstream-cost.ts'

/** Which family of prices and pools a product belongs to. */
export type Tier = 'light' | 'flagship'

/** The pool a tier draws on. */
export type Pool = 'fast' | 'premium'

export const poolForTier = { light: 'fast', flagship: 'premium' } as const satisfies Record<Tier, Pool>

type Capability = 'chat' | 'tools' | 'vision' | 'search' | 'image' | 'embedding'

/** One upstream model that can serve a product. */
export interface Target {
  /** A name in the configuration's `upstreams`. */
  readonly upstream: string
  /** The upstream's own model id; never shown to a member. `null`: not mapped yet (`upstream_not_configured`). */
  readonly model: string | null
  /** Share among the targets of a product; a target of weight 0 is used only if no other can be. */
  readonly weight: number
  /** What it costs the operator; null or absent: it is not configured. */
  readonly cost?: UpstreamCost | null
}

/** Tokens of media in a prompt. A maximum bounds what a turn reserves for them, and what an upstream's report may claim. */
export interface ProductMedia {
  /** One picture; null: `limits.imageTokens`. */
  readonly imageTokens: number | null
  readonly maxImageTokens: number
  /** One page of a document. */
  readonly pageTokens: number
  readonly maxPageTokens: number
  readonly audioSecondTokens: number
  readonly maxAudioSecondTokens: number
  readonly videoSecondTokens: number
  readonly maxVideoSecondTokens: number
}

/**
 * What the usual models make of media: OpenAI, Anthropic, Gemini, Qwen. Pages are read as text and picture, sound at 32 tokens a second, video
 * at one picture a second.
 */
export const defaultProductMedia: ProductMedia = {
  imageTokens: null,
  maxImageTokens: 4_800,
  pageTokens: 1_800,
  maxPageTokens: 3_000,
  audioSecondTokens: 32,
  maxAudioSecondTokens: 50,
  videoSecondTokens: 275,
  maxVideoSecondTokens: 600,
}

export interface Product {
  readonly id: string
  readonly name: string
  /** What it is good for, in one sentence for members. */
  readonly description: LocalizedText | null
  readonly tier: Tier
  readonly capabilities: readonly Capability[]
  /** Tokens of prompt and answer together. */
  readonly contextLength: number
  /** Maximum tokens of one answer. */
  readonly maxOutputTokens: number
  /** Tokens reserved for an answer if the request sets no limit. */
  readonly defaultOutputTokens: number
  readonly media: ProductMedia
  readonly price: Price
  /** ISO date from which the product is retired, or null. */
  readonly shutdownDate: string | null
  /** Credits charged for a turn whose upstream reports no tokens, such as an image. */
  readonly flatCredits: number | null
  readonly targets: readonly Target[]
  /** For `auto`: the first rule that fits a request names the product whose targets serve it. */
  readonly rules: readonly {
    readonly when: 'images' | 'long'
    readonly longerThanTokens?: number | undefined
    readonly use: string
  }[]
}
