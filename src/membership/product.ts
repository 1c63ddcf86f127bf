/** A product: a model id that members may ask for. What stands behind it upstream is its targets' business. */

import type { Price } from './price.ts'

/** Which family of prices and pools a product belongs to. */
export type Tier = 'light' | 'flagship'

/** The pool a tier draws on. */
export type Pool = 'fast' | 'premium'

export const poolOf = { light: 'fast', flagship: 'premium' } as const satisfies Record<Tier, Pool>

export type Capability = 'chat' | 'tools' | 'vision' | 'search' | 'image'

/** One place a product can be served from. */
export interface Target {
  /** A name in the configuration's `upstreams`. */
  readonly upstream: string
  /** The upstream's own model id; never shown to a member. `null`: nothing is mapped yet (`upstream_not_configured`). */
  readonly model: string | null
  /** Share among the targets of a product; a target of weight 0 is used only when the others cannot be. */
  readonly weight: number
}

export interface Product {
  readonly id: string
  readonly name: string
  readonly tier: Tier
  readonly capabilities: readonly Capability[]
  /** Tokens of prompt and answer together. */
  readonly contextLength: number
  /** Tokens one answer may have at most. */
  readonly maxOutputTokens: number
  /** Tokens reserved for an answer when the request names no cap. */
  readonly defaultOutputTokens: number
  readonly price: Price
  /** ISO date from which the product is gone, or null. */
  readonly shutdownDate: string | null
  /** Credits charged for a turn whose upstream reports no tokens at all, such as an image. */
  readonly flatCredits: number | null
  readonly targets: readonly Target[]
  /** For `auto`: the first rule that fits a request names the product whose targets serve it. */
  readonly rules: readonly {
    readonly when: 'images' | 'long'
    readonly longerThanTokens?: number | undefined
    readonly use: string
  }[]
}
