/**
 * Cuts a text into the pieces the demonstration upstream calls tokens: a Chinese, Japanese or Korean character each, up to
 * six letters with the space before them, up to three digits, or one other character. Joined again they are the text.
 * Simple and the same everywhere, so that its usage numbers can be checked by anyone.
 */
export function toTokens(text: string): string[] {
  return text.match(token) ?? []
}

const token = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]| ?\p{L}{1,6}| ?\p{N}{1,3}|\s{1,8}|[^]/gu
