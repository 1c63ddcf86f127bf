/**
 * Upper bound of the tokens of a text, without a tokenizer: one pass over its characters.
 *
 * A byte-level tokenizer never makes more tokens than bytes, so the default is one token per byte. Ordinary writing is listed here, or the
 * hold of an honest long prompt would be five times its price. The figures were measured on random and ordinary text with o200k, cl100k,
 * DeepSeek V3, Qwen 3, Llama 3, Gemma 3, Llama 2 and Mistral; the worst of them is used.
 */

/** Costs are twelfths of a token, so that sums are integers. */
const unitsPerToken = 12

/**
 * For each lower-case letter the letters that may follow at two thirds of the price: pairs that every one of those tokenizers has as one
 * token. Byte-pair encoding never leaves two adjacent mergeable tokens, so three such letters are at most two tokens, whatever the word.
 */
const mergeablePairs = [
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
const lowercaseA = 0x61
/** The previous character: an ASCII character, or one of these two. */
const multipleSpaces = 128
const nonAscii = 129

/** Cost of an ASCII character after the previous one. */
const pairCosts = buildPairCosts()

/** Maximum tokens of this text. */
export function countMaxTokens(text: string): number {
  let cost = 0
  let previous = nonAscii
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 128) {
      cost += pairCosts[previous * 128 + code] ?? unitsPerToken
      previous = code === space && (previous === space || previous === multipleSpaces) ? multipleSpaces : code
    } else {
      cost += getCost(code)
      previous = nonAscii
    }
  }
  return Math.ceil(cost / unitsPerToken)
}

/** Whether the known tokenizers have these two characters as one token: two lower-case letters of `mergeablePairs`. */
export function isMergeablePair(first: number, second: number): boolean {
  return mergeablePairs[first - lowercaseA]?.includes(String.fromCharCode(second)) === true
}

function buildPairCosts(): Uint8Array {
  const pairCosts = new Uint8Array(130 * 128).fill(unitsPerToken)
  for (const previous of [space, multipleSpaces]) pairCosts[previous * 128 + space] = unitsPerToken / 4
  // The first token of a word includes the space before it, whose cost covers the letter.
  for (let letter = lowercaseA; letter < lowercaseA + 26; letter++) pairCosts[space * 128 + letter] = 0
  for (const [index, followers] of mergeablePairs.entries())
    for (const follower of followers) pairCosts[(lowercaseA + index) * 128 + follower.charCodeAt(0)] = (unitsPerToken * 2) / 3
  return pairCosts
}

/** Cost of a UTF-16 unit above ASCII: its UTF-8 bytes, unless all those tokenizers have letters of its script. */
function getCost(code: number): number {
  if (code < 0x800) {
    if (code >= 0x410 && code < 0x450) return (unitsPerToken * 5) / 4
    if ((code >= 0xc0 && code < 0x100) || (code >= 0x627 && code < 0x64b)) return (unitsPerToken * 3) / 2
    return unitsPerToken * 2
  }
  if (code >= 0x3041 && code < 0x30f4) return unitsPerToken * 2
  // Half of a surrogate pair: the pair is four bytes.
  if (code >= 0xd800 && code < 0xe000) return unitsPerToken * 2
  return unitsPerToken * 3
}
