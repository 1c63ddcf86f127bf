/** What operators see of sales: sums of the money that came and went, and lists of codes, packs and subscriptions of all members. */
import type { Pool } from './catalog/product.ts'
import type { RedeemCode } from './redeem-code.ts'
import type { Subscription } from './subscriptions/subscription.ts'

/** Money of one quarter of an hour. */
export interface SaleSum {
  readonly startsAt: number
  /** By when it was paid or returned. */
  readonly kind: 'sold' | 'returned'
  /** The plan that was sold; null: a pack. */
  readonly plan: string | null
  readonly currency: string
  /** Minor units. */
  readonly amount: number
}

export const codeStates = ['open', 'used_up', 'expired', 'revoked'] as const
export type CodeState = (typeof codeStates)[number]

/** What a list shows of a code. */
export function findCodeState({ revokedAt, expiresAt, uses, maxUses }: RedeemCode, now: number): CodeState {
  if (uses >= maxUses) return 'used_up'
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'open'
}

export interface ListedPack {
  readonly id: string
  readonly account: string
  readonly kind: string
  readonly pool: Pool
  readonly granted: number
  readonly reserved: number
  readonly settled: number
  readonly createdAt: number
  readonly expiresAt: number
}

interface ListPage {
  /** The last id of the page before. */
  readonly before?: string
  readonly limit: number
}

/** Every list is read by an index and returns at most `limit` rows. */
export interface SaleLists {
  /** Sums of what was paid and what went back from `from` to `to`, oldest first. */
  readSums(span: { readonly from: number; readonly to: number }): Promise<readonly SaleSum[]>
  /** Newest first. */
  listCodes(filter: ListPage & { readonly state?: CodeState; readonly now: number }): Promise<readonly RedeemCode[]>
  /** Newest first. */
  listPacks(page: ListPage): Promise<readonly ListedPack[]>
  /** Unspent ones that end in this span, the next one first; `before` is the one after which the page begins. */
  listEndingPacks(page: ListPage & { readonly from: number; readonly to: number }): Promise<readonly ListedPack[]>
  /** Subscriptions that have not ended, of these terms; newest first. */
  listSubscriptions(page: ListPage & { readonly terms: string; readonly isWaiting: boolean }): Promise<readonly Subscription[]>
}
