/** Token prices. One credit is a millionth of a dollar; every amount is a whole number of credits. */

export interface Price {
  /** List price in nano-dollars a token (0.14 $ a million tokens = 140). */
  readonly input: number
  /** List price of prompt tokens that the upstream read from its cache, at most `input`; absent: the same as `input`. */
  readonly cachedInput?: number
  readonly output: number
  /** Whole percent off the list price. */
  readonly discountPercent: number
}

export interface Tokens {
  readonly input: number
  /** The part of `input` that the upstream read from its cache; default 0. */
  readonly cachedInput?: number
  readonly output: number
}

/** A nano-dollar is a thousandth of a credit, and the discount counts in hundredths. */
const unitsPerCredit = 1000 * 100

/** The price of a turn in credits: tokens × list price × (1 − discount), rounded up to the next whole credit. */
export function computeCredits(tokens: Tokens, price: Price): number {
  const { input, cachedInput = 0, output } = tokens
  const cachedTokens = Math.min(cachedInput, input)
  const nanoDollars =
    (input - cachedTokens) * price.input + cachedTokens * (price.cachedInput ?? price.input) + output * price.output
  return Math.ceil((nanoDollars * (100 - price.discountPercent)) / unitsPerCredit)
}

/** How many output tokens `credits` pay for after `input` tokens; 0 if they do not cover the input. */
export function computeAffordableOutputTokens(credits: number, input: number, price: Price): number {
  const share = 100 - price.discountPercent
  if (price.output * share === 0) return Number.MAX_SAFE_INTEGER
  const remainingUnits = credits * unitsPerCredit - input * price.input * share
  return remainingUnits <= 0 ? 0 : Math.floor(remainingUnits / (price.output * share))
}

interface TurnSize {
  readonly inputTokens: number
  /** Of each choice. */
  readonly outputTokens: number
  readonly choices: number
}

/** The price of a whole turn. Each choice of a product with a flat price costs at least that price. */
export function computeTurnPrice(
  product: { readonly price: Price; readonly flatCredits: number | null },
  { inputTokens, outputTokens, choices }: TurnSize,
): number {
  const tokens = computeCredits({ input: inputTokens, output: outputTokens * choices }, product.price)
  return Math.max(tokens, (product.flatCredits ?? 0) * choices)
}
