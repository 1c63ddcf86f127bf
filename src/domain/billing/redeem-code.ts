/**
 * Codes that a member redeems for a plan or for credits. Twenty characters: nineteen random ones (95 bits) and a check character, which
 * distinguishes a typing error from a wrong code. Only a hash and the first characters are stored.
 */
import { hash } from 'node:crypto'
import type { PlanTerms } from './subscriptions/terms.ts'
import type { Pool } from './catalog/product.ts'
import type { BoostClaim } from './boost.ts'
import type { Entitlement, EntitlementChange, Subscription } from './subscriptions/subscription.ts'

/** What a code gives. */
export type CodeGift =
  | { readonly kind: 'plan'; readonly terms: PlanTerms; readonly span: string }
  | { readonly kind: 'credits'; readonly pool: Pool; readonly credits: number; readonly days: number }

export interface RedeemCode {
  /** `code_` + 26 characters. */
  readonly id: string
  /** The first characters, by which it is found. */
  readonly prefix: string
  readonly batch: string | null
  readonly gift: CodeGift
  /** How many accounts can redeem it. */
  readonly maxUses: number
  readonly uses: number
  readonly createdAt: number
  /** Until when it can be redeemed; null: no end. */
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}

export interface NewRedeemCode extends Omit<RedeemCode, 'uses' | 'revokedAt'> {
  readonly hash: Uint8Array
}

/** Why a code gives nothing. `never_begins`: the account has a plan without an end that is as high. */
export type CodeRefusal = 'unknown' | 'revoked' | 'expired' | 'used_up' | 'redeemed_before' | 'never_begins'

export interface Redemption {
  readonly id: string
  readonly code: string
  readonly account: string
  readonly at: number
  /** The subscription or the pack that it gave. */
  readonly subscription: string | null
  readonly pack: string | null
}

/** What a redemption writes: a change of the account's subscriptions, or a claim of a pack that is delivered afterwards. */
export type RedemptionEffect =
  | { readonly kind: 'plan'; readonly change: EntitlementChange; readonly subscription: Subscription }
  | { readonly kind: 'credits'; readonly claim: BoostClaim }

export interface CodeFilter {
  readonly batch?: string
  readonly prefix?: string
  readonly after?: string
  readonly limit: number
}

export interface RedeemCodes {
  /** All or none of them. */
  create(codes: readonly NewRedeemCode[]): Promise<void>
  /** By the hash of the whole code; with the account's redemption of it. */
  findByHash(hash: Uint8Array, account: string): Promise<{ readonly code: RedeemCode; readonly isRedeemed: boolean } | undefined>
  /** Oldest first. */
  list(filter: CodeFilter): Promise<readonly RedeemCode[]>
  find(id: string): Promise<RedeemCode | undefined>
  listRedemptions(code: string, limit: number): Promise<readonly Redemption[]>
  /** Revokes those that are not used up; what was redeemed stays. Returns how many. */
  revoke(filter: { readonly id?: string; readonly batch?: string; readonly prefix?: string }, at: number): Promise<number>
  /**
   * Redeems a code once for an account, in one transaction with its effect. `decide` may run again after a conflict, and refuses by returning
   * null.
   */
  redeem(
    order: { readonly hash: Uint8Array; readonly account: string; readonly redemption: string; readonly now: number },
    decide: (code: RedeemCode, entitlement: Entitlement) => RedemptionEffect | null,
  ): Promise<{ readonly kind: 'redeemed'; readonly code: RedeemCode; readonly effect: RedemptionEffect } | CodeRefused>
}

export interface CodeRefused {
  readonly kind: 'refused'
  readonly reason: CodeRefusal
}

/** Why no account can redeem it; null where one can. */
export function findCodeRefusal({ revokedAt, expiresAt, uses, maxUses }: RedeemCode, now: number): CodeRefusal | null {
  if (revokedAt !== null) return 'revoked'
  if (uses >= maxUses) return 'used_up'
  return expiresAt !== null && expiresAt <= now ? 'expired' : null
}

/** Without I, L, O and U, which are misread or misheard. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const length = 20
export const codePrefixLength = 4

export function mintCode(randomBytes: (size: number) => Uint8Array): string {
  const digits = [...randomBytes(length - 1)].map((byte) => byte % 32)
  return [...digits, timesX(sumDigits(digits))].map((digit) => alphabet[digit] ?? '').join('')
}

/** In groups of five, as it is printed and read aloud. */
export function formatCode(code: string): string {
  return code.replaceAll(/.{5}(?=.)/g, '$&-')
}

/**
 * The code in capitals without separators. `malformed`: another length or other characters; `mistyped`: the check character shows one wrong
 * character or two that changed places.
 */
export function parseCode(
  text: string,
): { readonly kind: 'code'; readonly code: string } | { readonly kind: 'malformed' | 'mistyped' } {
  const code = text
    .toUpperCase()
    .replaceAll(/[\s\u2010-\u2015_.-]/g, '')
    .replaceAll(/[IL]/g, '1')
    .replaceAll('O', '0')
  const digits = [...code].map((character) => alphabet.indexOf(character))
  if (digits.length !== length || digits.includes(-1)) return { kind: 'malformed' }
  const isRight = digits.at(-1) === timesX(sumDigits(digits.slice(0, -1)))
  return isRight ? { kind: 'code', code } : { kind: 'mistyped' }
}

export function hashCode(code: string): Buffer {
  return hash('sha256', `code\0${code}`, 'buffer')
}

/** Each place has a weight of its own in the field of 32 elements, so no single error and no exchange of two places goes unnoticed. */
function sumDigits(digits: readonly number[]): number {
  return digits.reduce((sum, digit) => timesX(sum) ^ digit, 0)
}

/** Multiplies by x in GF(2⁵), modulo x⁵ + x² + 1. */
function timesX(element: number): number {
  const product = element << 1
  return product >= 32 ? product ^ 0b100101 : product
}
