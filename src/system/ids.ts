/**
 * Sortable ids (ULID): 26 characters of Crockford's base 32, 10 of time, 3 of a counter within the millisecond, 13 random. Ids of one
 * request so sort in the order they were created.
 */
import { randomBytes } from 'node:crypto'

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const poolBytes = 4096
const randomChars = 13

export interface Ids {
  /** `prefix` + 26 characters. */
  next(prefix: string, now: number): string
  /** Cryptographically random bytes. */
  bytes(size: number): Buffer
}

export function createIds(): Ids {
  // One system call for some 300 ids: a call for each would cost more than the rest of the id.
  let pool: Buffer = Buffer.alloc(0)
  let poolOffset = 0
  let timeText = ''
  let encodedTime = -1
  /** The newest time used, and the number of ids since; the count also distinguishes ids of earlier times. */
  let newestMs = -1
  let count = 0
  return {
    next(prefix, now) {
      if (poolOffset + randomChars > pool.length) {
        pool = randomBytes(poolBytes)
        poolOffset = 0
      }
      if (now !== encodedTime) {
        encodedTime = now
        timeText = encodeTime(now)
      }
      if (now > newestMs) {
        newestMs = now
        count = 0
      } else count++
      let id = prefix + timeText + toChar(count >> 10) + toChar(count >> 5) + toChar(count)
      for (let i = 0; i < randomChars; i++) id += toChar(pool[poolOffset + i] ?? 0)
      poolOffset += randomChars
      return id
    },
    bytes: randomBytes,
  }
}

/** Encodes the last five bits. */
function toChar(bits: number): string {
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
