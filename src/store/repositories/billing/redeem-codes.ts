/** Codes that members redeem. */
import { sql } from 'kysely'
import type { Kysely, Selectable } from 'kysely'
import type { CodeGift, CodeRefusal, NewRedeemCode, RedeemCode, RedeemCodes } from '../../../domain/billing/redeem-code.ts'
import { findCodeRefusal } from '../../../domain/billing/redeem-code.ts'
import type { Database } from '../../database.ts'
import type { RedeemCodeTable } from '../../schema/sale-schema.ts'
import type { Schema } from '../../schema/schema.ts'
import { toBoostClaimRow } from './boosts.ts'
import { toPlanTerms } from './plan-terms.ts'
import { lockEntitlement, writeChange } from './subscriptions.ts'

/** Rows of one statement; SQLite bounds the values of a statement. */
const rowsPerInsert = 500

export function createRedeemCodeRepository({ read, write, transact }: Database): RedeemCodes {
  return {
    create: (codes) =>
      transact(async (transaction) => {
        for (let start = 0; start < codes.length; start += rowsPerInsert)
          await transaction
            .insertInto('redeem_code')
            .values(codes.slice(start, start + rowsPerInsert).map(toRow))
            .execute()
      }),

    async findByHash(hash, account) {
      const row = await selectCodes(read).where('redeem_code.hash', '=', hash).executeTakeFirst()
      if (row === undefined) return undefined
      return { code: toCode(row), isRedeemed: await isRedeemed(read, row.id, account) }
    },

    async list({ batch, prefix, after, limit }) {
      let query = selectCodes(read).orderBy('redeem_code.id').limit(limit)
      if (batch !== undefined) query = query.where('batch', '=', batch)
      if (prefix !== undefined) query = query.where('prefix', '=', prefix)
      if (after !== undefined) query = query.where('redeem_code.id', '>', after)
      return (await query.execute()).map(toCode)
    },

    async find(id) {
      const row = await selectCodes(read).where('redeem_code.id', '=', id).executeTakeFirst()
      return row && toCode(row)
    },

    async listRedemptions(code, limit) {
      return read.selectFrom('redemption').selectAll().where('code', '=', code).orderBy('at').orderBy('id').limit(limit).execute()
    },

    async revoke({ id, batch, prefix }, at) {
      let query = write
        .updateTable('redeem_code')
        .set({ revoked_at: at })
        .where('revoked_at', 'is', null)
        .whereRef('uses', '<', 'max_uses')
      if (id !== undefined) query = query.where('id', '=', id)
      if (batch !== undefined) query = query.where('batch', '=', batch)
      if (prefix !== undefined) query = query.where('prefix', '=', prefix)
      return (await query.returning('id').execute()).length
    },

    redeem: ({ hash, account, redemption, now }, decide) =>
      transact(async (transaction) => {
        const refuse = (reason: CodeRefusal) => ({ kind: 'refused', reason }) as const
        // Written before it is read, so that of concurrent transactions one waits or repeats.
        const row = await transaction
          .updateTable('redeem_code')
          .set((set) => ({ uses: set.ref('uses') }))
          .where('hash', '=', hash)
          .returning('id')
          .executeTakeFirst()
        if (row === undefined) return refuse('unknown')
        const code = toCode(await selectCodes(transaction).where('redeem_code.id', '=', row.id).executeTakeFirstOrThrow())
        if (await isRedeemed(transaction, code.id, account)) return refuse('redeemed_before')
        const refusal = findCodeRefusal(code, now)
        if (refusal !== null) return refuse(refusal)
        const entitlement = await lockEntitlement(transaction, account)
        if (entitlement === undefined || entitlement.isDeleted) return refuse('unknown')
        const effect = decide(code, entitlement)
        if (effect === null) return refuse('never_begins')
        await transaction
          .updateTable('redeem_code')
          .set({ uses: sql<number>`uses + 1` })
          .where('id', '=', code.id)
          .execute()
        if (effect.kind === 'plan') await writeChange(transaction, account, entitlement, effect.change)
        else
          await transaction
            .insertInto('boost_claim')
            .values({ ...toBoostClaimRow(effect.claim), rush: null, granted: 0 })
            .execute()
        const gift =
          effect.kind === 'plan'
            ? { subscription: effect.subscription.id, pack: null }
            : { subscription: null, pack: effect.claim.id }
        await transaction
          .insertInto('redemption')
          .values({ id: redemption, code: code.id, account, at: now, ...gift })
          .execute()
        return { kind: 'redeemed', code: { ...code, uses: code.uses + 1 }, effect } as const
      }),
  }
}

async function isRedeemed(db: Kysely<Schema>, code: string, account: string): Promise<boolean> {
  const row = await db
    .selectFrom('redemption')
    .select('id')
    .where('code', '=', code)
    .where('account', '=', account)
    .executeTakeFirst()
  return row !== undefined
}

export function selectCodes(db: Kysely<Schema>) {
  return db
    .selectFrom('redeem_code')
    .leftJoin('plan_terms', 'plan_terms.id', 'redeem_code.terms')
    .selectAll('redeem_code')
    .select(['plan_terms.plan', 'plan_terms.content'])
}

export function toCode(
  row: Selectable<RedeemCodeTable> & { readonly plan: string | null; readonly content: string | null },
): RedeemCode {
  return {
    id: row.id,
    prefix: row.prefix,
    batch: row.batch,
    gift: toGift(row),
    maxUses: row.max_uses,
    uses: row.uses,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  }
}

function toGift({ terms, span, pool, credits, days, plan, content }: Parameters<typeof toCode>[0]): CodeGift {
  if (terms !== null && span !== null && plan !== null && content !== null)
    return { kind: 'plan', terms: toPlanTerms({ id: terms, plan, content }), span }
  return { kind: 'credits', pool: pool ?? 'fast', credits: credits ?? 0, days: days ?? 1 }
}

function toRow({ id, hash, prefix, batch, gift, maxUses, createdAt, expiresAt }: NewRedeemCode): RedeemCodeTable {
  const plan = gift.kind === 'plan' ? { terms: gift.terms.id, span: gift.span } : { terms: null, span: null }
  const pack =
    gift.kind === 'credits'
      ? { pool: gift.pool, credits: gift.credits, days: gift.days }
      : { pool: null, credits: null, days: null }
  const uses = { max_uses: maxUses, uses: 0 }
  const times = { created_at: createdAt, expires_at: expiresAt, revoked_at: null }
  return { id, hash, prefix, batch, ...plan, ...pack, ...uses, ...times }
}
