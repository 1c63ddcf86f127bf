/**
 * Known devices: a browser that has signed in to an account keeps a token of it (OWASP, "Slow Down Online Guessing Attacks with Device
 * Cookies"). The token authenticates nothing. It gives the browser its own attempts and emails, so that strangers who use up theirs do not
 * lock the owner out. A keyed hash binds it to the account; the server stores nothing.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** Several people may share a browser. */
const maxAccounts = 5
const nonceBytes = 16
const tagBytes = 16
/** Two parts of 16 bytes in base64url. */
const tokenPattern = /^[\w-]{22}[\w-]{22}$/

/** Longer than members stay away; browsers keep no cookie for more than 400 days. */
export const knownDeviceLifetimeSeconds = 365 * 86_400

/** `tokens` is the cookie's value. */
export function isKnownDevice(secret: Uint8Array, tokens: string | null, account: string): boolean {
  return parseTokens(tokens).some((token) => {
    const nonce = Buffer.from(token.slice(0, 22), 'base64url')
    const tag = Buffer.from(token.slice(22), 'base64url')
    return tag.length === tagBytes && timingSafeEqual(tag, computeTag(secret, account, nonce))
  })
}

/** The cookie's value after signing in to the account: the previous tokens and one for this account. */
export function addAccountToken(
  secret: Uint8Array,
  tokens: string | null,
  account: string,
  random: (size: number) => Uint8Array,
): string {
  const previous = parseTokens(tokens)
  if (isKnownDevice(secret, tokens, account)) return previous.join('.')
  const nonce = Buffer.from(random(nonceBytes))
  const token = nonce.toString('base64url') + computeTag(secret, account, nonce).toString('base64url')
  return [token, ...previous].slice(0, maxAccounts).join('.')
}

function parseTokens(tokens: string | null): string[] {
  if (tokens === null || tokens.length > 1_000) return []
  return tokens
    .split('.')
    .filter((token) => tokenPattern.test(token))
    .slice(0, maxAccounts)
}

function computeTag(secret: Uint8Array, account: string, nonce: Uint8Array): Buffer {
  return createHmac('sha256', secret).update(`device\0${account}\0`).update(nonce).digest().subarray(0, tagBytes)
}
