/** What tokens cost. One credit is a millionth of a dollar; every amount is a whole number of credits. */

export interface Price {
  /** List price in nano-dollars a token (0.14 $ a million tokens = 140). */
  readonly input: number
  readonly output: number
  /** Whole percent off the list price. */
  readonly discountPercent: number
}

export interface Tokens {
  readonly input: number
  readonly output: number
}

/** A nano-dollar is a thousandth of a credit, and the discount counts in hundredths. */
const unitsPerCredit = 1000 * 100

/** The price of a turn in credits: tokens × list price × (1 − discount), rounded up to the next whole credit. */
export function creditsFor(tokens: Tokens, price: Price): number {
  const nanoDollars = tokens.input * price.input + tokens.output * price.output
  return Math.ceil((nanoDollars * (100 - price.discountPercent)) / unitsPerCredit)
}

/** How many output tokens `credits` still pay for after `input` tokens; 0 when not even the input is covered. */
export function affordableOutput(credits: number, input: number, price: Price): number {
  const share = 100 - price.discountPercent
  if (price.output * share === 0) return Number.MAX_SAFE_INTEGER
  const left = credits * unitsPerCredit - input * price.input * share
  return left <= 0 ? 0 : Math.floor(left / (price.output * share))
}
