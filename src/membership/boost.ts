/**
 * Boosts: credits beside the plan. A member checks in once a day, is paid for invitations, and takes part in rushes; an operator may grant.
 *
 * Each boost is decided by one conditional statement that writes an *award*, and delivered by the ledger under the award's own id, which
 * may be repeated: whatever dies between the two, the next sweep delivers, and nothing is delivered twice.
 */
import type { GrantOrder } from './ledger.ts'
import type { Pool } from './product.ts'

/** The pack to be granted. Its id is made of what it is for, so that a second award is the same award. */
export type Award = GrantOrder

export interface Rush {
  /** `rush_` + 26 characters. */
  readonly id: string
  readonly packs: number
  readonly pool: Pool
  /** Of each pack. */
  readonly credits: number
  /** How long a pack lasts once it is taken. */
  readonly packMs: number
  readonly startsAt: number
  readonly endsAt: number
}

export interface RushState extends Rush {
  readonly remaining: number
}

export interface NewInvite {
  readonly invited: string
  readonly inviter: string
  /** Keyed hashes of the two persons. */
  readonly person: Uint8Array
  readonly inviterPerson: Uint8Array
  readonly at: number
}

export interface PayableInvite {
  readonly invited: string
  readonly inviter: string
  readonly decidedAt: number
}

export interface Boosts {
  /** False when there is such an award already. */
  award(award: Award): Promise<boolean>
  hasAward(id: string): Promise<boolean>
  /** Takes one pack of a rush: false when it is not open, has none left, or the award exists. One step. */
  grab(award: Award, rush: string): Promise<boolean>
  /** Awards made before `before` of which the ledger may not have been told. */
  undelivered(before: number, limit: number): Promise<readonly Award[]>
  delivered(id: string): Promise<void>

  /** Opens it, unless another one runs at any of its time and it may not stand `beside` one: then nothing happens and that one is returned. */
  openRush(rush: Rush, at: number, options: { readonly beside: boolean }): Promise<Rush | undefined>
  /** Newest first. */
  rushes(limit: number): Promise<readonly RushState[]>
  /** Ends one that is open or to come; false where there is none. */
  closeRush(id: string, at: number): Promise<boolean>
  /** Those that are not over: what is open and has packs left first, then what is to come, then what is sold out. */
  currentRushes(now: number): Promise<readonly RushState[]>

  /** The account's code; `fresh` becomes it where it has none. Undefined where `fresh` is taken: mint another. */
  inviteCode(account: string, fresh: string): Promise<string | undefined>
  inviterOf(code: string): Promise<{ readonly account: string; readonly email: string | null } | undefined>
  /** False when this person was invited before, is the inviter, or stands above the inviter in the chain of invitations. */
  recordInvite(invite: NewInvite): Promise<boolean>
  /** Decides on invites whose invited account has had its first charged turn: payable, or above the inviting person's monthly number. */
  decideInvites(now: number, monthStart: number, perMonth: number): Promise<void>
  payableInvites(limit: number): Promise<readonly PayableInvite[]>
  invitePaid(invited: string): Promise<void>
  /** How many invitations were paid since to this account and the others of its person. */
  credited(inviter: string, inviterPerson: Uint8Array, since: number): Promise<number>
}
