/** Where boosts are given: one a day, one a rush, and both sides of an invitation. A person counts once, whatever aliases they have. */
import { createHmac } from 'node:crypto'
import type { Account } from './account.ts'
import type { Award, Boosts, Rush, RushState } from './boost.ts'
import type { Ledger, Pack, PackKind } from './ledger.ts'
import { personOf } from './mail-address.ts'
import type { Calendar } from './period.ts'
import type { Pool } from './product.ts'

export interface BoostAmount {
  readonly pool: Pool
  readonly credits: number
  readonly days: number
}

export interface BoostRules {
  readonly checkin: BoostAmount
  readonly invite: BoostAmount & { readonly perMonth: number }
}

export interface BoostParts {
  readonly boosts: Boosts
  readonly ledger: Pick<Ledger, 'grant'>
  readonly calendar: Calendar
  readonly clock: { now(): number }
  readonly ids: { bytes(size: number): Uint8Array }
  readonly secret: Uint8Array
  readonly rules: BoostRules
  readonly mergeAliases: boolean
}

export interface BoostStatus {
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
/** An award this old whose delivery is not noted has lost its process. */
const lostAfterMs = 10_000
const atOnce = 100
/** Ten letters of 31: about 50 bits, and nothing that looks like something else. */
const inviteLetters = 'abcdefghjkmnpqrstuvwxyz23456789'
const inviteLength = 10

export class BoostDesk {
  readonly #parts: BoostParts

  constructor(parts: BoostParts) {
    this.#parts = parts
  }

  async status(account: Account): Promise<BoostStatus> {
    const { boosts, calendar, clock, rules } = this.#parts
    const now = clock.now()
    const { day, month } = calendar.at(now)
    const done = await boosts.hasAward(this.#checkinId(account, day.start))
    const { rush, taken } = await this.#rushFor(account, now)
    return {
      checkin: { available: !done, nextAt: done ? day.end : now, amount: rules.checkin },
      invite: {
        code: await this.#inviteCode(account.id),
        credited: await boosts.credited(account.id, this.#person(account), month.start),
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

  /** Once a day a person; undefined when it is done already. */
  async checkIn(account: Account): Promise<Pack | undefined> {
    const { boosts, calendar, clock, rules } = this.#parts
    const at = clock.now()
    const { pool, credits, days } = rules.checkin
    const id = this.#checkinId(account, calendar.at(at).day.start)
    const award: Award = { id, account: account.id, kind: 'checkin', pool, credits, at, expiresAt: at + days * dayMs }
    return (await boosts.award(award)) ? this.#deliver(award) : undefined
  }

  /** One a person, as long as there are any; undefined otherwise. */
  async grabRush(account: Account): Promise<Pack | undefined> {
    const { boosts, clock } = this.#parts
    const at = clock.now()
    const { rush } = await this.#rushFor(account, at)
    // Looked at first, because most who come to a rush come too late; what counts is the statement below.
    if (rush === undefined || rush.startsAt > at || rush.remaining === 0) return undefined
    const { id: rushId, pool, credits, packMs } = rush
    const id = this.#rushId(account, rushId)
    const award: Award = { id, account: account.id, kind: 'rush', pool, credits, at, expiresAt: at + packMs }
    return (await boosts.grab(award, rushId)) ? this.#deliver(award) : undefined
  }

  /** Pays both sides of each invitation whose invited account has had its first charged turn. Returns how many were paid. */
  async payInvites(): Promise<number> {
    const { boosts, ledger, calendar, clock, rules } = this.#parts
    const now = clock.now()
    const { pool, credits, days, perMonth } = rules.invite
    await boosts.decideInvites(now, calendar.at(now).month.start, perMonth)
    const payable = await boosts.payableInvites(atOnce)
    await eachByItself(payable, async ({ invited, inviter, decidedAt }) => {
      for (const [account, side] of [
        [inviter, 'inviter'],
        [invited, 'invited'],
      ] as const) {
        const id = this.#packId('invite', `${invited}\0${side}`)
        // The same id twice is one pack: paying again after a crash pays nobody twice.
        await ledger.grant({ id, account, kind: 'invite', pool, credits, at: decidedAt, expiresAt: decidedAt + days * dayMs })
      }
      await boosts.invitePaid(invited)
    })
    return payable.length
  }

  /** Delivers awards whose process died before it could. Returns how many. */
  async deliverLost(): Promise<number> {
    const { boosts, clock } = this.#parts
    const lost = await boosts.undelivered(clock.now() - lostAfterMs, atOnce)
    await eachByItself(lost, (award) => this.#deliver(award))
    return lost.length
  }

  async #deliver(award: Award): Promise<Pack> {
    const { boosts, ledger } = this.#parts
    const pack = await ledger.grant(award)
    await boosts.delivered(award.id)
    return pack
  }

  /** The first of those at hand; one that the person has a pack of stands before no other that is open. */
  async #rushFor(account: Account, now: number): Promise<{ readonly rush: RushState | undefined; readonly taken: boolean }> {
    const { boosts } = this.#parts
    const rushes = await boosts.currentRushes(now)
    for (const rush of rushes) {
      if (rush.startsAt > now || rush.remaining === 0) break
      if (!(await boosts.hasAward(this.#rushId(account, rush.id)))) return { rush, taken: false }
    }
    const [rush] = rushes
    return { rush, taken: rush !== undefined && (await boosts.hasAward(this.#rushId(account, rush.id))) }
  }

  #checkinId(account: Account, dayStart: number): string {
    return this.#packId('checkin', `${dayStart}\0${this.#person(account).toString('hex')}`)
  }

  #rushId(account: Account, rush: string): string {
    return this.#packId('rush', `${rush}\0${this.#person(account).toString('hex')}`)
  }

  #person({ id, email }: Account): Buffer {
    const { secret, mergeAliases } = this.#parts
    return personOf(secret, email ?? id, mergeAliases)
  }

  /** Members see pack ids: they are made of what they are for, and tell nothing of it. */
  #packId(kind: PackKind, what: string): string {
    return `pack_${createHmac('sha256', this.#parts.secret).update(`pack\0${kind}\0${what}`).digest('hex').slice(0, 26)}`
  }

  async #inviteCode(account: string): Promise<string> {
    const { boosts } = this.#parts
    for (;;) {
      const code = await boosts.inviteCode(account, this.#mintInviteCode())
      if (code !== undefined) return code
    }
  }

  #mintInviteCode(): string {
    let code = ''
    while (code.length < inviteLength) {
      for (const byte of this.#parts.ids.bytes(inviteLength)) {
        // 248 = 8 × 31: bytes above would favour the first letters.
        if (byte < 248 && code.length < inviteLength) code += inviteLetters[byte % inviteLetters.length] ?? ''
      }
    }
    return code
  }
}

/** All of them, though one cannot be done and stands before the others each time; throws what went wrong with the first that could not. */
async function eachByItself<Item>(items: readonly Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
  const faults: unknown[] = []
  for (const item of items) await work(item).catch((error: unknown) => faults.push(error))
  if (faults.length > 0) throw faults[0]
}

/**
 * Opens a rush: `packs` packs for whoever comes first. Returns the one that is in its way where two at once were not asked for: a command
 * given twice would else promise everything twice. @throws RangeError with a sentence for the operator
 */
export async function openRush(
  boosts: Pick<Boosts, 'openRush'>,
  rush: Rush,
  now: number,
  options: { readonly beside: boolean } = { beside: false },
): Promise<Rush | undefined> {
  if (!Number.isSafeInteger(rush.packs) || rush.packs < 1) throw new RangeError('A rush needs at least one pack.')
  if (!Number.isSafeInteger(rush.credits) || rush.credits < 1) throw new RangeError('A pack needs at least one credit.')
  if (rush.endsAt <= rush.startsAt) throw new RangeError('A rush must end after it starts.')
  if (rush.endsAt <= now) throw new RangeError('A rush must end in the future.')
  if (rush.packMs < 1) throw new RangeError('A pack must last for some time.')
  return boosts.openRush(rush, now, options)
}
