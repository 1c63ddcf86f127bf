/**
 * Mail codes: six digits that prove an address. A code is good for five minutes and five tries, once, and only in the browser that asked
 * for it (ASVS 6.5, 6.6). It is kept as a keyed hash, because six digits alone would be guessed from a plain one at once.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

export interface NewMailCode {
  /** Hash of the word that the asking browser keeps. */
  readonly browser: Uint8Array
  readonly address: string
  readonly codeHash: Uint8Array
  /** A password to be the account's once the code is entered. */
  readonly passwordHash: string | null
  readonly createdAt: number
  readonly expiresAt: number
}

export interface MailCodes {
  /** The same browser's earlier code for the address is void from then on. */
  put(code: NewMailCode): Promise<void>
  /** Uses up one try and hands out the hash to compare with; undefined when there is no live code or no try left. One step. */
  attempt(browser: Uint8Array, address: string, now: number, tries: number): Promise<Uint8Array | undefined>
  /** Uses up the code: of any number of callers exactly one gets it. */
  consume(
    browser: Uint8Array,
    address: string,
    codeHash: Uint8Array,
    now: number,
  ): Promise<{ readonly passwordHash: string | null } | undefined>
  sweep(at: number): Promise<void>
}

export const codeLifeMs = 5 * 60_000
export const codeTries = 5
export const resendAfterMs = 60_000

/** Six digits, each number equally likely. */
export function mintMailCode(random: (size: number) => Uint8Array): string {
  for (;;) {
    const [a = 0, b = 0, c = 0] = random(3)
    const value = (a << 16) | (b << 8) | c
    // 16 000 000 is the largest multiple of a million below 2^24: numbers above it would favour the first codes.
    if (value < 16_000_000) return String(value % 1_000_000).padStart(6, '0')
  }
}

/** Bound to the address and the browser: the same digits for another are another code. */
export function hashMailCode(secret: Uint8Array, browser: Uint8Array, address: string, code: string): Buffer {
  return createHmac('sha256', secret).update('mail-code\0').update(browser).update(`\0${address}\0${code}`).digest()
}

export function sameHash(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
