/**
 * The most tokens a text can be, without a tokeniser: one pass over its characters.
 *
 * Byte-level tokenisers never make more tokens than bytes, so a token a byte is what everything costs that is not named here. Ordinary
 * writing is named, or the hold of an honest long prompt would be five times its price. What is named was measured on random and on
 * ordinary text with o200k, cl100k, DeepSeek V3, Qwen 3, Llama 3, Gemma 3, Llama 2 and Mistral; the worst of them is the figure.
 */

/** Counted in twelfths of a token, so that sums stay whole numbers. */
const token = 12

/**
 * For each small letter those that may follow it at two thirds of the price: pairs that every one of those tokenisers has as one token.
 * Two neighbours that could be merged never both stand alone in what byte-pair encoding leaves, so of three such letters there are two
 * tokens at most, whatever the word.
 */
const pairs = [
  'abcdefghijklmnoprstuvwxyz',
  'abcdefghilmnoprstuy',
  'abcdefghiklmnopqrstuvxyz',
  'abcdefhiklmnoprstuvwxyz',
  'abcdefghijklmnpqrstuvwxyz',
  'abcdefgilmnoprstuwxy',
  'abcdeghilnoprstuyz',
  'acdefhilmnoprstuwy',
  'abcdefghijklmnopqrstuvwxyz',
  'adeijkosu',
  'abceghiklmnorstuvwy',
  'abcdegijlmnoprstuvy',
  'abcdefgiklmnopqrstuvxy',
  'abcdefghilmnoprstuvxy',
  'abcdefghijklmnoprstuvwxyz',
  'abcdefghiklmnoprstuvwxy',
  'alpqstu',
  'abcdefghilmnoprstuvwxyz',
  'abcdefghiklmnopqrstuvwyz',
  'abcdefghiklmnoprstuvwxyz',
  'abcdefghijklmnoprstuvwxyz',
  'abcdefilmoprstvy',
  'abcdehilmnoprstwxy',
  'abcdefilpstxy',
  'acdegklmnoprsty',
  'abdehikmnostuwyz',
] as const

const space = 0x20
const smallA = 0x61
/** What went before, as far as it matters: an ASCII character, or one of these two. */
const severalSpaces = 128
const other = 129

/** What an ASCII character costs after what went before it. */
const costs = costsOfPairs()

/** Tokens that this text makes at most. */
export function mostTokens(text: string): number {
  let cost = 0
  let before = other
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 128) {
      cost += costs[before * 128 + code] ?? token
      before = code === space && (before === space || before === severalSpaces) ? severalSpaces : code
    } else {
      cost += costOf(code)
      before = other
    }
  }
  return Math.ceil(cost / token)
}

function costsOfPairs(): Uint8Array {
  const costs = new Uint8Array(130 * 128).fill(token)
  for (const before of [space, severalSpaces]) costs[before * 128 + space] = token / 4
  // A word takes the one blank before it into its first token, which has been paid for with the blank.
  for (let letter = smallA; letter < smallA + 26; letter++) costs[space * 128 + letter] = 0
  for (const [nth, seconds] of pairs.entries())
    for (const second of seconds) costs[(smallA + nth) * 128 + second.charCodeAt(0)] = (token * 2) / 3
  return costs
}

/** What a UTF-16 unit above ASCII costs: its UTF-8 bytes, unless it is of a script that all those tokenisers know by letter. */
function costOf(code: number): number {
  if (code < 0x800) {
    if (code >= 0x410 && code < 0x450) return (token * 5) / 4
    if ((code >= 0xc0 && code < 0x100) || (code >= 0x627 && code < 0x64b)) return (token * 3) / 2
    return token * 2
  }
  if (code >= 0x3041 && code < 0x30f4) return token * 2
  // Half of a pair: four bytes between the two of them.
  if (code >= 0xd800 && code < 0xe000) return token * 2
  return token * 3
}
