/** The token of links that switch usage alerts off. It is valid for as long as the installation's secret, because emails are kept for years. */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

export function createUnsubscribeToken(secret: Uint8Array, account: string): string {
  return `${account}.${sign(secret, account)}`
}

/** The account that the token is for; undefined if it was not made here. Each account has one token, to the last bit of its text. */
export function parseUnsubscribeToken(secret: Uint8Array, token: string): string | undefined {
  const [, account = '', mac = ''] = /^(acc_\w{1,40})\.([\w-]{43})$/.exec(token) ?? []
  return timingSafeEqual(Buffer.from(mac.padEnd(43)), Buffer.from(sign(secret, account))) ? account : undefined
}

function sign(secret: Uint8Array, account: string): string {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'usage alert links', 32))
  return createHmac('sha256', key).update(account).digest('base64url')
}
