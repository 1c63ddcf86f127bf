/**
 * Boosts: credits in addition to the plan. Sources: a daily check-in, an invitation, a rush, a grant by the operator.
 *
 * One conditional statement records each boost as a claim. The ledger then grants the pack under the claim's own id, which makes the grant
 * repeatable: if the process dies between the two steps, the next sweep delivers the pack, and no pack is delivered twice.
 */
import type { GrantOrder } from './ledger.ts'
import type { Pool } from './catalog/product.ts'

/** The pack to grant. Its id is derived from its reason, so that a second claim for the same reason has the same id. */
export type BoostClaim = GrantOrder

/** A boost that a member can take now. */
export interface AvailableBoost {
  readonly kind: 'checkin' | 'rush'
  readonly pool: Pool
  readonly credits: number
}

export interface Rush {
  /** `rush_` + 26 characters. */
  readonly id: string
  readonly packs: number
  readonly pool: Pool
  /** Credits of each pack. */
  readonly credits: number
  /** Lifetime of a pack from the moment it is claimed. */
  readonly packMs: number
  readonly startsAt: number
  readonly endsAt: number
}

export interface RushState extends Rush {
  readonly remaining: number
}

interface NewInvite {
  readonly invited: string
  readonly inviter: string
  /** Keyed hashes of the two people. */
  readonly person: Uint8Array
  readonly inviterPerson: Uint8Array
  readonly at: number
}

interface PayableInvite {
  readonly invited: string
  readonly inviter: string
  readonly decidedAt: number
}

export interface Boosts {
  /** False if the claim exists already. */
  recordClaim(award: BoostClaim): Promise<boolean>
  hasClaim(id: string): Promise<boolean>
  /** Takes one pack of a rush, atomically. False if the rush is not open, is sold out, or the claim exists. */
  claimRushPack(claim: BoostClaim, rush: string): Promise<boolean>
  /** Claims made before `before` that may not have reached the ledger. */
  listUndelivered(before: number, limit: number): Promise<readonly BoostClaim[]>
  markDelivered(id: string): Promise<void>

  /** Opens a rush. If another one overlaps and `allowOverlap` is false, opens nothing and returns the other one. */
  openRush(rush: Rush, at: number, options: { readonly allowOverlap: boolean }): Promise<Rush | undefined>
  /** Newest first. */
  listRushes(limit: number): Promise<readonly RushState[]>
  /** Ends an open or upcoming rush; false if there is none. */
  closeRush(id: string, at: number): Promise<boolean>
  /** Rushes that are not over: open ones with packs left first, then upcoming ones, then sold-out ones. */
  listCurrentRushes(now: number): Promise<readonly RushState[]>

  /** Returns the account's code, or stores `newCode` if it has none. Undefined if `newCode` is taken: mint another. */
  getOrCreateInviteCode(account: string, newCode: string): Promise<string | undefined>
  findInviter(code: string): Promise<{ readonly account: string; readonly email: string | null } | undefined>
  /** False if this person was invited before, is the inviter, or is an ancestor of the inviter in the chain of invitations. */
  recordInvite(invite: NewInvite): Promise<boolean>
  /** Decides the invites whose invited account has had its first charged turn: payable, or over the inviter's monthly limit. */
  decideInvites(now: number, monthStart: number, perMonth: number): Promise<void>
  listPayableInvites(limit: number): Promise<readonly PayableInvite[]>
  markInvitePaid(invited: string): Promise<void>
  /** Counts the invitations paid since then to all accounts of this person, deleted ones included. */
  countPaidInvites(inviterPerson: Uint8Array, since: number): Promise<number>
}
