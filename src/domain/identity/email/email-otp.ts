/**
 * The two proofs in a verification email. A *code*: six digits, valid for five minutes, at most five attempts, once, and only in the
 * browser that requested it (ASVS 6.5, 6.6). A *link*: a token of 256 bits, valid once, in any browser, for as long as its email counts
 * towards the send limits (`email-send-limits.ts` explains why). Both are stored as hashes. The code's hash is keyed, because six digits
 * could be recovered from a plain hash at once.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

export interface NewEmailVerification {
  /** Hash of the link's token; it identifies the email. */
  readonly link: Uint8Array
  /** Hash of the token that the requesting browser keeps. */
  readonly browser: Uint8Array
  readonly address: string
  /** The subject of the limits: `toMailbox(address)`. */
  readonly mailbox: string
  readonly network: string
  /** Requested by a known device. */
  readonly known: boolean
  readonly codeHash: Uint8Array
  /** A password to be set once the code is entered. */
  readonly passwordHash: string | null
  readonly invite: string | null
  readonly at: number
}

/** An email of the last hour, as the limits see it. */
export interface SentVerificationEmail {
  readonly mailbox: string
  readonly network: string
  readonly known: boolean
  readonly at: number
  /** A person has signed in with it. */
  readonly used: boolean
  /** Attempts that its code allows; 0 if it has no code or none any more. */
  readonly tries: number
  readonly attempts: number
  /** The same browser requested a newer code for the same address, which voids this one. */
  readonly replaced: boolean
}

export type SendVerdict =
  /** Without tries the email contains no code. */
  { readonly kind: 'send'; readonly tries: number } | { readonly kind: 'wait'; readonly until: number }

export interface EmailVerifications {
  /** Checks the emails sent since `since` to the mailbox or from the network, and adds this one, in one transaction. */
  createIfAllowed(
    verification: NewEmailVerification,
    since: number,
    judge: (recent: readonly SentVerificationEmail[]) => SendVerdict,
  ): Promise<SendVerdict>
  setPasswordHash(link: Uint8Array, passwordHash: string): Promise<void>
  /** Deletes an email that will not be sent. */
  discard(link: Uint8Array): Promise<void>
  /** Uses one attempt and returns what to compare with; undefined if there is no live code or no attempt left. Atomic. */
  useCodeAttempt(
    browser: Uint8Array,
    address: string,
    now: number,
  ): Promise<Pick<NewEmailVerification, 'link' | 'codeHash' | 'passwordHash' | 'invite'> | undefined>
  /** Consumes the email after a right code. Exactly one of several callers gets true. */
  consumeCode(link: Uint8Array): Promise<boolean>
  /** The email of a valid link, without consuming it. */
  findByLink(link: Uint8Array, since: number): Promise<Pick<NewEmailVerification, 'address'> | undefined>
  /** Consumes the email by its link. Exactly one of several callers gets it. */
  consumeLink(
    link: Uint8Array,
    since: number,
  ): Promise<Pick<NewEmailVerification, 'address' | 'browser' | 'passwordHash' | 'invite'> | undefined>
  sweep(at: number): Promise<void>
}

export const codeLifetimeMs = 5 * 60_000
export const maxCodeAttempts = 5
export const resendAfterMs = 60_000

/** Six digits, uniformly distributed. */
export function mintEmailCode(random: (size: number) => Uint8Array): string {
  for (;;) {
    const [a = 0, b = 0, c = 0] = random(3)
    const value = (a << 16) | (b << 8) | c
    // 16 000 000 is the largest multiple of a million below 2^24: larger numbers would favour the first codes.
    if (value < 16_000_000) return String(value % 1_000_000).padStart(6, '0')
  }
}

/** Bound to the address and the browser: the same digits for another one have another hash. */
export function hashEmailCode(secret: Uint8Array, browser: Uint8Array, address: string, code: string): Buffer {
  return createHmac('sha256', secret).update('mail-code\0').update(browser).update(`\0${address}\0${code}`).digest()
}

export function isSameHash(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
