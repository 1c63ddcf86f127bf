/**
 * Splits a text into the demo upstream's tokens: one Chinese, Japanese or Korean character, up to six letters with the space before them,
 * up to three digits, or one other character. Joined they are the text. Simple and deterministic, so that anyone can check its usage
 * numbers.
 */
export function toTokens(text: string): string[] {
  return text.match(token) ?? []
}

const token = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]| ?\p{L}{1,6}| ?\p{N}{1,3}|\s{1,8}|[^]/gu
