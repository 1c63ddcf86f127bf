/**
 * Ids: 26 characters of Crockford's base 32, so that they sort by when they were made (ULID): 10 of time, 3 that count those of one
 * millisecond, 13 of chance. Whoever lists by them, newest first, lists what one request made in its order.
 */
import { randomBytes } from 'node:crypto'

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const poolBytes = 4096
const chanceBytes = 13

export interface Ids {
  /** `prefix` + 26 characters. */
  next(prefix: string, now: number): string
  /** Unpredictable bytes for secrets. */
  bytes(size: number): Buffer
}

export function createIds(): Ids {
  // One call to the system for some 300 ids: asking it for each costs more than all the rest of an id.
  let pool: Buffer = Buffer.alloc(0)
  let used = 0
  let timeText = ''
  let timeOf = -1
  /** The latest time that was given, and how many ids were made since: also for earlier ones, which may come in between. */
  let newest = -1
  let count = 0
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
      if (now > newest) {
        newest = now
        count = 0
      } else count++
      let id = prefix + timeText + letter(count >> 10) + letter(count >> 5) + letter(count)
      for (let i = 0; i < chanceBytes; i++) id += letter(pool[used + i] ?? 0)
      used += chanceBytes
      return id
    },
    bytes: randomBytes,
  }
}

/** Of its last five bits. */
function letter(bits: number): string {
  return alphabet[bits & 31] ?? ''
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
