/**
 * What a letter proves an address by. A *code*: six digits, good for five minutes and five tries at most, once, and only in the browser that
 * asked for it (ASVS 6.5, 6.6). A *link*: a token of 256 bits that nobody can guess, good once, in any browser, for as long as its letter
 * counts among those that may be sent (`letter-rules.ts` has why). Both are kept as hashes: the code's is keyed, because six digits alone
 * would be guessed from a plain one at once.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

export interface NewLetter {
  /** Hash of the link's token; it names the letter. */
  readonly link: Uint8Array
  /** Hash of the token that the asking browser keeps. */
  readonly browser: Uint8Array
  readonly address: string
  /** What limits count by: `mailboxOf(address)`. */
  readonly mailbox: string
  readonly network: string
  /** Asked for by a known device. */
  readonly known: boolean
  readonly codeHash: Uint8Array
  /** A password to be the account's once the code is entered. */
  readonly passwordHash: string | null
  readonly invite: string | null
  readonly at: number
}

/** A letter of the last hour, as far as limits look at it. */
export interface SentLetter {
  readonly mailbox: string
  readonly network: string
  readonly known: boolean
  readonly at: number
  /** Somebody has signed in by it. */
  readonly used: boolean
  /** Its code may be guessed so often; 0 where it has none, or none any more. */
  readonly tries: number
  readonly attempts: number
  /** The same browser's, for the same address: a new one voids its code. */
  readonly replaced: boolean
}

export type LetterVerdict =
  /** No code is in it when it has no tries. */
  { readonly kind: 'send'; readonly tries: number } | { readonly kind: 'wait'; readonly until: number }

export interface MailCodes {
  /** Judged by the letters since `since` to the mailbox or from the network, and put among them, in one step. */
  put(letter: NewLetter, since: number, judge: (recent: readonly SentLetter[]) => LetterVerdict): Promise<LetterVerdict>
  /** Uses up one try and hands out what to compare with; undefined when there is no live code or no try left. One step. */
  attempt(
    browser: Uint8Array,
    address: string,
    now: number,
  ): Promise<Pick<NewLetter, 'link' | 'codeHash' | 'passwordHash' | 'invite'> | undefined>
  /** The code was right: uses up the letter. Of any number of callers exactly one gets true. */
  consumeCode(link: Uint8Array): Promise<boolean>
  /** The letter of a link that is good, without using it up. */
  look(link: Uint8Array, since: number): Promise<Pick<NewLetter, 'address'> | undefined>
  /** Uses up the letter by its link: of any number of callers exactly one gets it. */
  consumeLink(
    link: Uint8Array,
    since: number,
  ): Promise<Pick<NewLetter, 'address' | 'browser' | 'passwordHash' | 'invite'> | undefined>
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
