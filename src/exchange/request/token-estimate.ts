/**
 * Likely tokens of a text, without a tokenizer: one pass over its characters, with a cost for each pair of neighbours.
 *
 * The costs are a least-squares fit to the mean of o200k, Qwen 3 and DeepSeek V3 on English prose, source code and Chinese text. Scripts
 * that were not in the fit have rounded figures. `bench/prompt-estimate.ts` measures the error.
 */

import { isMergeablePair } from './token-upper-bound.ts'

/** Costs are 64ths of a token, so that sums are integers. */
const unitsPerToken = 64

const space = 0x20
/** The previous character: an ASCII character, or this. */
const nonAscii = 128

/** Cost of a character by its class and the class of the one before; `other` is any class without an entry. */
const costs: Readonly<Record<Class, Partial<Record<Class, number>> & { readonly other: number }>> = {
  lower: { lower: 33, upper: 20, digit: 34, space: 27, other: 69 },
  upper: { lower: 53, upper: 13, space: 6, other: 63 },
  digit: { digit: 31, other: 120 },
  space: { space: 4, lineEnd: 41, other: 33 },
  lineEnd: { lineEnd: 23, other: 50 },
  punctuation: { punctuation: 28, space: 22, other: 13 },
}
/** A lower-case letter after one with which tokenizers usually have it in a token; such letters make up most words. */
const mergedLetterCost = 3
const repeatedPunctuationCost = 7

const hanCost = 36
/** Added for the first character of a Han text, which is often short among other text. */
const hanStartCost = 80
const widePunctuationCost = 36
const letterCost = 17
const kanaOrHangulCost = 48
const indicOrThaiCost = 38
const surrogateCost = 45

type Class = 'lower' | 'upper' | 'digit' | 'space' | 'lineEnd' | 'punctuation'

/** Cost of an ASCII character after the previous one. */
const pairCosts = buildPairCosts()

/** Likely tokens of this text; a fraction, so that many short texts add up. */
export function estimateTokens(text: string): number {
  let cost = 0
  let previous = space
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 128) {
      cost += pairCosts[previous * 128 + code] ?? unitsPerToken
      previous = code
    } else {
      cost += getCost(code, previous)
      previous = nonAscii
    }
  }
  return cost / unitsPerToken
}

function buildPairCosts(): Uint8Array {
  const pairCosts = new Uint8Array(129 * 128)
  for (let previous = 0; previous <= nonAscii; previous++)
    for (let code = 0; code < 128; code++) pairCosts[previous * 128 + code] = computePairCost(previous, code)
  return pairCosts
}

function computePairCost(previous: number, code: number): number {
  const current = classify(code)
  if (previous === nonAscii) return costs[current].other
  if (isMergeablePair(previous, code)) return mergedLetterCost
  if (current === 'punctuation' && previous === code) return repeatedPunctuationCost
  return costs[current][classify(previous)] ?? costs[current].other
}

function classify(code: number): Class {
  if (code >= 0x61 && code <= 0x7a) return 'lower'
  if (code >= 0x41 && code <= 0x5a) return 'upper'
  if (code >= 0x30 && code <= 0x39) return 'digit'
  if (code === space) return 'space'
  if (code === 0x0a || code === 0x0d || code === 0x09) return 'lineEnd'
  return 'punctuation'
}

function getCost(code: number, previous: number): number {
  // Latin with accents, Greek, Cyrillic, Hebrew, Arabic.
  if (code < 0x900) return letterCost
  if (code < 0xe80) return indicOrThaiCost
  if (code >= 0x4e00 && code < 0xa000) return previous === nonAscii ? hanCost : hanCost + hanStartCost
  if ((code >= 0x3040 && code < 0x3100) || (code >= 0xac00 && code < 0xd7a4)) return kanaOrHangulCost
  if ((code >= 0x3000 && code < 0x3040) || code >= 0xff00) return widePunctuationCost
  if (code >= 0xd800 && code < 0xe000) return surrogateCost
  return unitsPerToken
}
