/** Boost claims, rushes and invitations. */
import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import type { BoostClaim, Boosts, RushState } from '../../../domain/billing/boost.ts'
import type { Database } from '../../database.ts'
import type { BoostClaimTable, RushTable } from '../../schema/membership-schema.ts'

/** Rushes that are open or planned; operators open only a few at a time. */
const maxRushes = 20

export function createBoostRepository({ read, write }: Database): Boosts {
  return {
    async recordClaim(award) {
      const row = await write
        .insertInto('boost_claim')
        .values({ ...toBoostClaimRow(award), rush: null, granted: 0 })
        .onConflict((conflict) => conflict.column('id').doNothing())
        .returning('id')
        .executeTakeFirst()
      return row !== undefined
    },

    async hasClaim(id) {
      return (await read.selectFrom('boost_claim').select('id').where('id', '=', id).executeTakeFirst()) !== undefined
    },

    async claimRushPack(award, rush) {
      // One statement checks the rush's state and pack count and that the claim is new, so nothing can come between.
      const { rows } = await sql<{ id: string }>`
        insert into boost_claim (id, account, kind, pool, credits, rush, at, expires_at, granted)
        select ${award.id}, ${award.account}, ${award.kind}, ${award.pool}, ${award.credits}, rush.id, ${award.at}, ${award.expiresAt}, 0
        from rush
        where rush.id = ${rush} and rush.starts_at <= ${award.at} and rush.ends_at > ${award.at}
          and (select count(*) from boost_claim as taken where taken.rush = rush.id) < rush.packs
        on conflict (id) do nothing
        returning id
      `.execute(write)
      return rows.length > 0
    },

    async listUndelivered(before, limit) {
      const rows = await read
        .selectFrom('boost_claim')
        .selectAll()
        .where('granted', '=', 0)
        .where('at', '<', before)
        .orderBy('at')
        .limit(limit)
        .execute()
      return rows.map(toBoostClaim)
    },

    async markDelivered(id) {
      await write.updateTable('boost_claim').set({ granted: 1 }).where('id', '=', id).execute()
    },

    async openRush(rush, at, { allowOverlap }) {
      // One statement checks and opens, so the same command run twice at once opens one rush.
      const { rows } = await sql<{ id: string }>`
        insert into rush (id, packs, pool, credits, pack_ms, starts_at, ends_at, opened_at)
        select ${rush.id}, ${rush.packs}, ${rush.pool}, ${rush.credits}, ${rush.packMs}, ${rush.startsAt}, ${rush.endsAt}, ${at}
        where ${allowOverlap ? 1 : 0} = 1
          or not exists (select 1 from rush as other where other.starts_at < ${rush.endsAt} and other.ends_at > ${rush.startsAt})
        returning id
      `.execute(write)
      if (rows.length > 0) return undefined
      const other = await selectRushStates(read)
        .where('starts_at', '<', rush.endsAt)
        .where('ends_at', '>', rush.startsAt)
        .orderBy('starts_at')
        .executeTakeFirstOrThrow()
      return toRush(other)
    },

    async listRushes(limit) {
      const rows = await selectRushStates(read).orderBy('starts_at', 'desc').orderBy('id', 'desc').limit(limit).execute()
      return rows.map(toRush)
    },

    async closeRush(id, at) {
      const rows = await write
        .updateTable('rush')
        // A rush that has not begun ends before it begins.
        .set({ ends_at: at, starts_at: sql<number>`case when starts_at < ${at} then starts_at else ${at - 1} end` })
        .where('id', '=', id)
        .where('ends_at', '>', at)
        .returning('id')
        .execute()
      return rows.length > 0
    },

    async listCurrentRushes(now) {
      const rows = await selectRushStates(read)
        .where('ends_at', '>', now)
        .orderBy('starts_at')
        .orderBy('id')
        .limit(maxRushes)
        .execute()
      const rushes = rows.map(toRush)
      // A sold-out rush must not be shown before one that is open, or before the next.
      const rank = ({ startsAt, remaining }: RushState): number => (startsAt > now ? 1 : remaining > 0 ? 0 : 2)
      return rushes.toSorted((one, other) => rank(one) - rank(other))
    },

    async getOrCreateInviteCode(account, fresh) {
      const existingRow = await read.selectFrom('invite_code').select('code').where('account', '=', account).executeTakeFirst()
      if (existingRow !== undefined) return existingRow.code
      await write
        .insertInto('invite_code')
        .values({ account, code: fresh })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
      const storedRow = await read.selectFrom('invite_code').select('code').where('account', '=', account).executeTakeFirst()
      return storedRow?.code
    },

    async findInviter(code) {
      return read
        .selectFrom('invite_code')
        .innerJoin('account', 'account.id', 'invite_code.account')
        .select(['invite_code.account', 'account.email'])
        .where('code', '=', code)
        .where('account.status', '=', 'active')
        .executeTakeFirst()
    },

    async recordInvite({ invited, inviter, person, inviterPerson, at }) {
      if (invited === inviter) return false
      // The accounts that invited the inviter, up the chain: none of them can be invited below it again.
      const { rows } = await sql<{ invited: string }>`
        insert into invite (invited, inviter, person, inviter_person, state, created_at)
        select ${invited}, ${inviter}, ${person}, ${inviterPerson}, 'pending', ${at}
        where ${person} <> ${inviterPerson}
          and not exists (
            with recursive above (person) as (
              select inviter_person from invite where person = ${inviterPerson}
              union
              select invite.inviter_person from invite join above on invite.person = above.person
            )
            select 1 from above where above.person = ${person}
          )
        on conflict do nothing
        returning invited
      `.execute(write)
      return rows.length > 0
    },

    async decideInvites(now, monthStart, perMonth) {
      const dueInvites = await read.selectFrom('invite').select('invited').where('state', '=', 'due').limit(100).execute()
      for (const { invited } of dueInvites) {
        await sql`
          update invite set decided_at = ${now}, state = case
            when (
              select count(*) from invite as earlier
              where earlier.inviter_person = invite.inviter_person and earlier.decided_at >= ${monthStart} and earlier.state in ('payable', 'paid')
            ) < ${perMonth} then 'payable' else 'capped' end
          where invited = ${invited} and state = 'due'
        `.execute(write)
      }
    },

    async listPayableInvites(limit) {
      const rows = await read
        .selectFrom('invite')
        .select(['invited', 'inviter', 'decided_at'])
        .where('state', '=', 'payable')
        .limit(limit)
        .execute()
      return rows.map(({ invited, inviter, decided_at: decidedAt }) => ({ invited, inviter, decidedAt: decidedAt ?? 0 }))
    },

    async markInvitePaid(invited) {
      await write
        .updateTable('invite')
        .set({ state: 'paid' })
        .where('invited', '=', invited)
        .where('state', '=', 'payable')
        .execute()
    },

    async countPaidInvites(inviterPerson, since) {
      const row = await read
        .selectFrom('invite')
        .select((select) => select.fn.countAll<number>().as('credited'))
        .where('inviter_person', '=', inviterPerson)
        .where('decided_at', '>=', since)
        .where('state', 'in', ['payable', 'paid'])
        .executeTakeFirst()
      return Number(row?.credited ?? 0)
    },
  }
}

/** Rushes with the number of packs claimed from each. */
function selectRushStates(read: Database['read']) {
  return read
    .selectFrom('rush')
    .selectAll()
    .select((select) =>
      select
        .selectFrom('boost_claim')
        .select((count) => count.fn.countAll<number>().as('taken'))
        .whereRef('boost_claim.rush', '=', 'rush.id')
        .as('taken'),
    )
}

function toRush(row: Selectable<RushTable> & { readonly taken: number | null }): RushState {
  return {
    id: row.id,
    packs: row.packs,
    pool: row.pool,
    credits: row.credits,
    packMs: row.pack_ms,
    startsAt: row.starts_at,
    endsAt: row.ends_at,
    remaining: Math.max(0, row.packs - Number(row.taken ?? 0)),
  }
}

export function toBoostClaimRow({ id, account, kind, pool, credits, at, expiresAt }: BoostClaim) {
  return { id, account, kind, pool, credits, at, expires_at: expiresAt }
}

function toBoostClaim(row: Selectable<BoostClaimTable>): BoostClaim {
  const { id, account, kind, pool, credits, at, expires_at: expiresAt } = row
  return { id, account, kind, pool, credits, at, expiresAt }
}
