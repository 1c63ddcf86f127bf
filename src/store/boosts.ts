/** Boost awards, rushes and invitations on SQL. */
import { sql } from 'kysely'
import type { RawBuilder, Selectable } from 'kysely'
import type { Award, Boosts, RushState } from '../membership/boost.ts'
import type { Database } from './database.ts'
import type { BoostClaimTable, RushTable } from './membership-schema.ts'

/** Rushes that are open or to come; more than a few at once nobody opens. */
const rushesLooked = 20

export function boostsIn({ read, write }: Database): Boosts {
  return {
    async award(award) {
      const row = await write
        .insertInto('boost_claim')
        .values({ ...toRow(award), rush: null, granted: 0 })
        .onConflict((conflict) => conflict.column('id').doNothing())
        .returning('id')
        .executeTakeFirst()
      return row !== undefined
    },

    async hasAward(id) {
      return (await read.selectFrom('boost_claim').select('id').where('id', '=', id).executeTakeFirst()) !== undefined
    },

    async grab(award, rush) {
      // The rush's state, its number and the award's being new are one statement's business: nothing can come between.
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

    async undelivered(before, limit) {
      const rows = await read
        .selectFrom('boost_claim')
        .selectAll()
        .where('granted', '=', 0)
        .where('at', '<', before)
        .orderBy('at')
        .limit(limit)
        .execute()
      return rows.map(toAward)
    },

    async delivered(id) {
      await write.updateTable('boost_claim').set({ granted: 1 }).where('id', '=', id).execute()
    },

    async openRush(rush, at, { beside }) {
      // Looking and opening are one statement: the same command given twice at once opens one.
      const { rows } = await sql<{ id: string }>`
        insert into rush (id, packs, pool, credits, pack_ms, starts_at, ends_at, opened_at)
        select ${rush.id}, ${rush.packs}, ${rush.pool}, ${rush.credits}, ${rush.packMs}, ${rush.startsAt}, ${rush.endsAt}, ${at}
        where ${beside ? 1 : 0} = 1
          or not exists (select 1 from rush as other where other.starts_at < ${rush.endsAt} and other.ends_at > ${rush.startsAt})
        returning id
      `.execute(write)
      if (rows.length > 0) return undefined
      const other = await rushStates(read)
        .where('starts_at', '<', rush.endsAt)
        .where('ends_at', '>', rush.startsAt)
        .orderBy('starts_at')
        .executeTakeFirstOrThrow()
      return toRush(other)
    },

    async rushes(limit) {
      const rows = await rushStates(read).orderBy('starts_at', 'desc').orderBy('id', 'desc').limit(limit).execute()
      return rows.map(toRush)
    },

    async closeRush(id, at) {
      const rows = await write
        .updateTable('rush')
        // One that had not begun is over before it begins.
        .set({ ends_at: at, starts_at: sql<number>`case when starts_at < ${at} then starts_at else ${at - 1} end` })
        .where('id', '=', id)
        .where('ends_at', '>', at)
        .returning('id')
        .execute()
      return rows.length > 0
    },

    async currentRushes(now) {
      const rows = await rushStates(read)
        .where('ends_at', '>', now)
        .orderBy('starts_at')
        .orderBy('id')
        .limit(rushesLooked)
        .execute()
      const rushes = rows.map(toRush)
      // One that is sold out must not stand before one that is open beside it, or before the next.
      const rank = ({ startsAt, remaining }: RushState): number => (startsAt > now ? 1 : remaining > 0 ? 0 : 2)
      return rushes.toSorted((one, other) => rank(one) - rank(other))
    },

    async inviteCode(account, fresh) {
      const known = await read.selectFrom('invite_code').select('code').where('account', '=', account).executeTakeFirst()
      if (known !== undefined) return known.code
      await write
        .insertInto('invite_code')
        .values({ account, code: fresh })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
      const made = await read.selectFrom('invite_code').select('code').where('account', '=', account).executeTakeFirst()
      return made?.code
    },

    async inviterOf(code) {
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
      // The chain upwards: who invited the inviter, who invited them, and so on. Whoever stands in it cannot come in again below.
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
      const due = await read.selectFrom('invite').select('invited').where('state', '=', 'due').limit(100).execute()
      for (const { invited } of due) {
        await sql`
          update invite set decided_at = ${now}, state = case
            when (
              select count(*) from invite as earlier
              where earlier.inviter in (${accountsBeside(sql`invite.inviter`)}) and earlier.inviter_person = invite.inviter_person
                and earlier.decided_at >= ${monthStart} and earlier.state in ('payable', 'paid')
            ) < ${perMonth} then 'payable' else 'capped' end
          where invited = ${invited} and state = 'due'
        `.execute(write)
      }
    },

    async payableInvites(limit) {
      const rows = await read
        .selectFrom('invite')
        .select(['invited', 'inviter', 'decided_at'])
        .where('state', '=', 'payable')
        .limit(limit)
        .execute()
      return rows.map(({ invited, inviter, decided_at: decidedAt }) => ({ invited, inviter, decidedAt: decidedAt ?? 0 }))
    },

    async invitePaid(invited) {
      await write
        .updateTable('invite')
        .set({ state: 'paid' })
        .where('invited', '=', invited)
        .where('state', '=', 'payable')
        .execute()
    },

    async credited(inviter, inviterPerson, since) {
      const row = await read
        .selectFrom('invite')
        .select((select) => select.fn.countAll<number>().as('credited'))
        .where(sql<boolean>`inviter in (${accountsBeside(sql`${inviter}`)})`)
        .where('inviter_person', '=', inviterPerson)
        .where('decided_at', '>=', since)
        .where('state', 'in', ['payable', 'paid'])
        .executeTakeFirst()
      return Number(row?.credited ?? 0)
    },
  }
}

/**
 * An account and all that may be the same person's by their addresses, each to be found by its index. Whether they are is what the keyed
 * hash of the person says.
 */
function accountsBeside(account: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select ${account}
    union
    select other.id from account as mine join account as other on other.mailbox = mine.mailbox where mine.id = ${account}
  `
}

/** Rushes with the number of packs that were taken of each. */
function rushStates(read: Database['read']) {
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

function toRow({ id, account, kind, pool, credits, at, expiresAt }: Award) {
  return { id, account, kind, pool, credits, at, expires_at: expiresAt }
}

function toAward(row: Selectable<BoostClaimTable>): Award {
  const { id, account, kind, pool, credits, at, expires_at: expiresAt } = row
  return { id, account, kind, pool, credits, at, expiresAt }
}
