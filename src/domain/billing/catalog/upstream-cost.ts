/** What an upstream charges the operator for a turn, by the prices of its target's `cost`. */
import type { Tokens } from './price.ts'

/** In dollars. */
export interface UpstreamCost {
  /** Of a million tokens of the prompt. */
  readonly input: number
  /** Of a million prompt tokens that the upstream read from its cache; null: the same as `input`. */
  readonly cachedInput: number | null
  /** Of a million tokens of the answer. */
  readonly output: number
  /** Of each call, or of each picture, besides the tokens. */
  readonly perCall: number
}

/** Whole nano-dollars, rounded to the nearest; null beyond the numbers that can be counted exactly. */
export function computeUpstreamCost({ input, cachedInput = 0, output }: Tokens, cost: UpstreamCost, calls = 1): number | null {
  const cachedTokens = Math.min(cachedInput, input)
  const microDollars =
    (input - cachedTokens) * cost.input + cachedTokens * (cost.cachedInput ?? cost.input) + output * cost.output
  const nanoDollars = Math.round(microDollars * 1_000 + calls * cost.perCall * 1e9)
  return Number.isSafeInteger(nanoDollars) ? nanoDollars : null
}
