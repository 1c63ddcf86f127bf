/**
 * Tokens of links in emails that work without a sign-in: they switch usage alerts off, or cancel a renewal. They are valid for as long as the
 * installation's secret, because emails are kept for years, and each is good for its purpose alone.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

/** They also derive the key, so that a released one never changes. */
type Purpose = 'usage alert links' | 'renewal links'

export const createUnsubscribeToken = (secret: Uint8Array, account: string): string =>
  create('usage alert links', secret, account)
export const createRenewalToken = (secret: Uint8Array, account: string): string => create('renewal links', secret, account)

/** The account that the token is for; undefined if it was not made here. Each account has one token, to the last bit of its text. */
export const parseUnsubscribeToken = (secret: Uint8Array, token: string): string | undefined =>
  parse('usage alert links', secret, token)
/** The same of a token that cancels a renewal. */
export const parseRenewalToken = (secret: Uint8Array, token: string): string | undefined => parse('renewal links', secret, token)

function create(purpose: Purpose, secret: Uint8Array, account: string): string {
  return `${account}.${sign(purpose, secret, account)}`
}

function parse(purpose: Purpose, secret: Uint8Array, token: string): string | undefined {
  const [, account = '', mac = ''] = /^(acc_\w{1,40})\.([\w-]{43})$/.exec(token) ?? []
  return timingSafeEqual(Buffer.from(mac.padEnd(43)), Buffer.from(sign(purpose, secret, account))) ? account : undefined
}

function sign(purpose: Purpose, secret: Uint8Array, account: string): string {
  const key = Buffer.from(hkdfSync('sha256', secret, '', purpose, 32))
  return createHmac('sha256', key).update(account).digest('base64url')
}
