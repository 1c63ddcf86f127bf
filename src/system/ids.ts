/** Ids: 26 characters of Crockford's base 32, 10 of time and 16 of chance, so that they sort by when they were made (ULID). */
import { randomBytes } from 'node:crypto'

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const poolBytes = 4096
const chanceBytes = 16

export interface Ids {
  /** `prefix` + 26 characters. */
  next(prefix: string, now: number): string
  /** Unpredictable bytes for secrets. */
  bytes(size: number): Buffer
}

export function createIds(): Ids {
  // One call to the system for 256 ids: asking it for each costs more than all the rest of an id.
  let pool: Buffer = Buffer.alloc(0)
  let used = 0
  let timeText = ''
  let timeOf = -1
  return {
    next(prefix, now) {
      if (used + chanceBytes > pool.length) {
        pool = randomBytes(poolBytes)
        used = 0
      }
      if (now !== timeOf) {
        timeOf = now
        timeText = encodeTime(now)
      }
      let id = prefix + timeText
      for (let i = 0; i < chanceBytes; i++) id += alphabet[(pool[used + i] ?? 0) & 31]
      used += chanceBytes
      return id
    },
    bytes: randomBytes,
  }
}

function encodeTime(now: number): string {
  let text = ''
  let rest = now
  for (let i = 0; i < 10; i++) {
    text = alphabet[rest % 32] + text
    rest = Math.floor(rest / 32)
  }
  return text
}
