/** Grants boosts: one a day, one per rush, and both sides of an invitation. A person counts once, whatever aliases they use. */
import { createHmac } from 'node:crypto'
import type { Account } from '../identity/account.ts'
import type { AvailableBoost, BoostClaim, Boosts, Rush, RushState } from '../billing/boost.ts'
import type { Ledger, Pack, PackKind } from '../billing/ledger.ts'
import type { Calendar } from '../billing/period.ts'
import type { Pool } from '../billing/catalog/product.ts'
import type { Mailboxes } from './mailboxes.ts'

interface BoostAmount {
  readonly pool: Pool
  readonly credits: number
  readonly days: number
}

export interface BoostRules {
  readonly checkin: BoostAmount
  readonly invite: BoostAmount & { readonly perMonth: number }
}

interface BoostDeps {
  readonly boosts: Boosts
  readonly ledger: Pick<Ledger, 'grant'>
  readonly calendar: Calendar
  readonly clock: { now(): number }
  readonly ids: { bytes(size: number): Uint8Array }
  readonly secret: Uint8Array
  readonly rules: BoostRules
  readonly mailboxes: Pick<Mailboxes, 'hashPerson'>
}

interface BoostStatus {
  readonly checkin: { readonly available: boolean; readonly nextAt: number; readonly amount: BoostAmount }
  readonly invite: {
    readonly code: string
    readonly credited: number
    readonly limit: number
    readonly amount: BoostAmount
  }
  readonly rush: (RushState & { readonly active: boolean; readonly taken: boolean }) | null
}

const dayMs = 86_400_000
/** After this time an undelivered claim belongs to a process that died. */
const deliveryTimeoutMs = 10_000
const batchSize = 100
/** Ten characters of 31: about 50 bits, without characters that look alike. */
const inviteAlphabet = 'abcdefghjkmnpqrstuvwxyz23456789'
const inviteLength = 10

export class BoostService {
  readonly #deps: BoostDeps

  constructor(deps: BoostDeps) {
    this.#deps = deps
  }

  async status(account: Account): Promise<BoostStatus> {
    const { boosts, calendar, clock, rules } = this.#deps
    const now = clock.now()
    const { day, month } = calendar.getPeriods(now)
    const isClaimed = await boosts.hasClaim(this.#getCheckinId(account, day.start))
    const { rush, taken } = await this.#findRush(account, now)
    return {
      checkin: { available: !isClaimed, nextAt: isClaimed ? day.end : now, amount: rules.checkin },
      invite: {
        code: await this.#getInviteCode(account.id),
        credited: await boosts.countPaidInvites(this.#hashPerson(account), month.start),
        limit: rules.invite.perMonth,
        amount: rules.invite,
      },
      rush:
        rush === undefined
          ? null
          : {
              ...rush,
              active: rush.startsAt <= now && rush.remaining > 0,
              taken,
            },
    }
  }

  /** The boosts that this member can take now. An invitation is none: it pays after the invited member's first turn. */
  async listAvailable(account: Account): Promise<readonly AvailableBoost[]> {
    const { boosts, calendar, clock, rules } = this.#deps
    const now = clock.now()
    const available: AvailableBoost[] = []
    if (!(await boosts.hasClaim(this.#getCheckinId(account, calendar.getPeriods(now).day.start))))
      available.push({ kind: 'checkin', pool: rules.checkin.pool, credits: rules.checkin.credits })
    const { rush, taken } = await this.#findRush(account, now)
    if (rush !== undefined && !taken && rush.startsAt <= now && rush.remaining > 0)
      available.push({ kind: 'rush', pool: rush.pool, credits: rush.credits })
    return available
  }

  /** Once a day per person; undefined if already done. */
  async checkIn(account: Account): Promise<Pack | undefined> {
    const { boosts, calendar, clock, rules } = this.#deps
    const at = clock.now()
    const { pool, credits, days } = rules.checkin
    const id = this.#getCheckinId(account, calendar.getPeriods(at).day.start)
    const claim: BoostClaim = { id, account: account.id, kind: 'checkin', pool, credits, at, expiresAt: at + days * dayMs }
    return (await boosts.recordClaim(claim)) ? this.deliver(claim) : undefined
  }

  /** One per person while there are any; undefined otherwise. */
  async grabRush(account: Account): Promise<Pack | undefined> {
    const { boosts, clock } = this.#deps
    const at = clock.now()
    const { rush } = await this.#findRush(account, at)
    // A cheap check first, because most requests in a rush come too late; the conditional statement below decides.
    if (rush === undefined || rush.startsAt > at || rush.remaining === 0) return undefined
    const { id: rushId, pool, credits, packMs } = rush
    const id = this.#getRushId(account, rushId)
    const claim: BoostClaim = { id, account: account.id, kind: 'rush', pool, credits, at, expiresAt: at + packMs }
    return (await boosts.claimRushPack(claim, rushId)) ? this.deliver(claim) : undefined
  }

  /** Pays both sides of each invitation whose invited account has had its first charged turn. Returns how many were paid. */
  async payInvites(): Promise<number> {
    const { boosts, ledger, calendar, clock, rules } = this.#deps
    const now = clock.now()
    const { pool, credits, days, perMonth } = rules.invite
    await boosts.decideInvites(now, calendar.getPeriods(now).month.start, perMonth)
    const payableInvites = await boosts.listPayableInvites(batchSize)
    await runEach(payableInvites, async ({ invited, inviter, decidedAt }) => {
      for (const [account, side] of [
        [inviter, 'inviter'],
        [invited, 'invited'],
      ] as const) {
        const id = this.#derivePackId('invite', `${invited}\0${side}`)
        // The same id twice is one pack: paying again after a crash pays once.
        await ledger.grant({ id, account, kind: 'invite', pool, credits, at: decidedAt, expiresAt: decidedAt + days * dayMs })
      }
      await boosts.markInvitePaid(invited)
    })
    return payableInvites.length
  }

  /** Delivers the claims of processes that died before they could. Returns how many. */
  async deliverOverdue(): Promise<number> {
    const { boosts, clock } = this.#deps
    const overdue = await boosts.listUndelivered(clock.now() - deliveryTimeoutMs, batchSize)
    await runEach(overdue, (claim) => this.deliver(claim))
    return overdue.length
  }

  /** Grants the pack of a recorded claim; again is once. */
  async deliver(claim: BoostClaim): Promise<Pack> {
    return deliverClaim(this.#deps, claim)
  }

  /** The first current rush; one that the person has a pack of does not hide another open one. */
  async #findRush(account: Account, now: number): Promise<{ readonly rush: RushState | undefined; readonly taken: boolean }> {
    const { boosts } = this.#deps
    const rushes = await boosts.listCurrentRushes(now)
    for (const rush of rushes) {
      if (rush.startsAt > now || rush.remaining === 0) break
      if (!(await boosts.hasClaim(this.#getRushId(account, rush.id)))) return { rush, taken: false }
    }
    const [rush] = rushes
    return { rush, taken: rush !== undefined && (await boosts.hasClaim(this.#getRushId(account, rush.id))) }
  }

  #getCheckinId(account: Account, dayStart: number): string {
    return this.#derivePackId('checkin', `${dayStart}\0${this.#hashPerson(account).toString('hex')}`)
  }

  #getRushId(account: Account, rush: string): string {
    return this.#derivePackId('rush', `${rush}\0${this.#hashPerson(account).toString('hex')}`)
  }

  #hashPerson({ id, email }: Account): Buffer {
    return this.#deps.mailboxes.hashPerson(email ?? id)
  }

  /** Members see pack ids: a keyed hash, so that the id reveals nothing of its reason. */
  #derivePackId(kind: PackKind, subject: string): string {
    return `pack_${createHmac('sha256', this.#deps.secret).update(`pack\0${kind}\0${subject}`).digest('hex').slice(0, 26)}`
  }

  async #getInviteCode(account: string): Promise<string> {
    const { boosts } = this.#deps
    for (;;) {
      const code = await boosts.getOrCreateInviteCode(account, this.#mintInviteCode())
      if (code !== undefined) return code
    }
  }

  #mintInviteCode(): string {
    let code = ''
    while (code.length < inviteLength) {
      for (const byte of this.#deps.ids.bytes(inviteLength)) {
        // 248 = 8 × 31: larger bytes would favour the first letters.
        if (byte < 248 && code.length < inviteLength) code += inviteAlphabet[byte % inviteAlphabet.length] ?? ''
      }
    }
    return code
  }
}

/** Grants the pack of a recorded claim; again is once. */
export async function deliverClaim({ boosts, ledger }: Pick<BoostDeps, 'boosts' | 'ledger'>, claim: BoostClaim): Promise<Pack> {
  const pack = await ledger.grant(claim)
  await boosts.markDelivered(claim.id)
  return pack
}

/** Works through all items even if one fails every time; throws the first error at the end. */
async function runEach<Item>(items: readonly Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
  const errors: unknown[] = []
  for (const item of items) await work(item).catch((error: unknown) => errors.push(error))
  if (errors.length > 0) throw errors[0]
}

/**
 * Opens a rush of `packs` packs, first come first served. Returns the overlapping one if overlap is not allowed: a command given twice would
 * otherwise promise everything twice. @throws RangeError with a sentence for the operator
 */
export async function openRush(
  boosts: Pick<Boosts, 'openRush'>,
  rush: Rush,
  now: number,
  options: { readonly allowOverlap: boolean } = { allowOverlap: false },
): Promise<Rush | undefined> {
  if (!Number.isSafeInteger(rush.packs) || rush.packs < 1) throw new RangeError('A rush needs at least one pack.')
  if (!Number.isSafeInteger(rush.credits) || rush.credits < 1) throw new RangeError('A pack needs at least one credit.')
  if (rush.endsAt <= rush.startsAt) throw new RangeError('A rush must end after it starts.')
  if (rush.endsAt <= now) throw new RangeError('A rush must end in the future.')
  if (rush.packMs < 1) throw new RangeError('A pack must last for some time.')
  return boosts.openRush(rush, now, options)
}
