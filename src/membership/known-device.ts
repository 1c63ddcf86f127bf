/**
 * Known devices: a browser that has signed in to an account keeps a token that says so (OWASP, "Slow Down Online Guessing Attacks with
 * Device Cookies"). The token opens nothing. It only has tries and letters of its own, so that strangers who use up theirs do not shut the
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

/** `tokens` is what the browser sent. */
export function knowsAccount(secret: Uint8Array, tokens: string | null, account: string): boolean {
  return split(tokens).some((token) => {
    const nonce = Buffer.from(token.slice(0, 22), 'base64url')
    const tag = Buffer.from(token.slice(22), 'base64url')
    return tag.length === tagBytes && timingSafeEqual(tag, tagOf(secret, account, nonce))
  })
}

/** What the browser keeps once it has signed in to the account: what it had, and a token for this one. */
export function withAccount(
  secret: Uint8Array,
  tokens: string | null,
  account: string,
  random: (size: number) => Uint8Array,
): string {
  const had = split(tokens)
  if (knowsAccount(secret, tokens, account)) return had.join('.')
  const nonce = Buffer.from(random(nonceBytes))
  const token = nonce.toString('base64url') + tagOf(secret, account, nonce).toString('base64url')
  return [token, ...had].slice(0, accountsKept).join('.')
}

function split(tokens: string | null): string[] {
  if (tokens === null || tokens.length > 1_000) return []
  return tokens
    .split('.')
    .filter((token) => looksRight.test(token))
    .slice(0, accountsKept)
}

function tagOf(secret: Uint8Array, account: string, nonce: Uint8Array): Buffer {
  return createHmac('sha256', secret).update(`device\0${account}\0`).update(nonce).digest().subarray(0, tagBytes)
}
