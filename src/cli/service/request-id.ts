/** The id sent as `x-svc-request-id`: `mbr_`, then 48 bits of time and 80 of chance as 26 characters that sort by time. */
import type { Context } from '../context.ts'

export function newRequestId({ now, random }: Pick<Context, 'now' | 'random'>): string {
  let value = BigInt(now())
  for (const byte of random(10)) value = (value << 8n) | BigInt(byte)
  let text = ''
  for (let index = 0; index < 26; index += 1, value >>= 5n) text = (alphabet[Number(value & 31n)] ?? '') + text
  return `mbr_${text}`
}

/** Crockford's base 32: no letter that looks like a digit. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
