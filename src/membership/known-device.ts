/**
 * Known devices: a browser that has signed in to an account keeps a word that says so (OWASP, "Slow Down Online Guessing Attacks with
 * Device Cookies"). The word opens nothing. It only has tries and letters of its own, so that strangers who use up theirs do not shut the
 * owner out. It is bound to the account by a keyed hash, and nothing of it is kept here.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** One browser may be several people's. */
const accountsKept = 5
const nonceBytes = 16
const tagBytes = 16
/** Each 16 bytes in base64url. */
const looksRight = /^[\w-]{22}[\w-]{22}$/

/** For longer than people stay away; browsers keep no cookie for more than 400 days. */
export const deviceLifeSeconds = 365 * 86_400

/** `words` is what the browser sent. */
export function knowsAccount(secret: Uint8Array, words: string | null, account: string): boolean {
  return split(words).some((word) => {
    const nonce = Buffer.from(word.slice(0, 22), 'base64url')
    const tag = Buffer.from(word.slice(22), 'base64url')
    return tag.length === tagBytes && timingSafeEqual(tag, tagOf(secret, account, nonce))
  })
}

/** What the browser keeps once it has signed in to the account: what it had, and a word for this one. */
export function withAccount(
  secret: Uint8Array,
  words: string | null,
  account: string,
  random: (size: number) => Uint8Array,
): string {
  const had = split(words)
  if (knowsAccount(secret, words, account)) return had.join('.')
  const nonce = Buffer.from(random(nonceBytes))
  const word = nonce.toString('base64url') + tagOf(secret, account, nonce).toString('base64url')
  return [word, ...had].slice(0, accountsKept).join('.')
}

function split(words: string | null): string[] {
  if (words === null || words.length > 1_000) return []
  return words
    .split('.')
    .filter((word) => looksRight.test(word))
    .slice(0, accountsKept)
}

function tagOf(secret: Uint8Array, account: string, nonce: Uint8Array): Buffer {
  return createHmac('sha256', secret).update(`device\0${account}\0`).update(nonce).digest().subarray(0, tagBytes)
}
