/** Targets that an operator has taken out. */
import type { Selectable } from 'kysely'
import type { TakenOutTarget, TakenOutTargets } from '../../domain/taken-out-target.ts'
import type { Database } from '../database.ts'
import type { TakenOutTargetTable } from '../schema/operator-schema.ts'

export function createTakenOutTargetRepository({ read, write, transact }: Database): TakenOutTargets {
  return {
    async list(now) {
      const rows = await read.selectFrom('taken_out_target').selectAll().where('ends_at', '>', now).orderBy('target').execute()
      return rows.map(toTakenOutTarget)
    },

    takeOut({ target, takenOutAt, until, reason }, mayTakeOut) {
      return transact(async (transaction) => {
        const rows = await transaction.selectFrom('taken_out_target').selectAll().where('ends_at', '>', takenOutAt).execute()
        const others = rows.filter((row) => row.target !== target)
        if (!mayTakeOut(new Set(others.map((other) => other.target)))) return undefined
        const values = { taken_out_at: takenOutAt, ends_at: until, reason }
        await transaction
          .insertInto('taken_out_target')
          .values({ target, ...values })
          .onConflict((conflict) => conflict.column('target').doUpdateSet(values))
          .execute()
        const before = rows.find((row) => row.target === target)
        return { before: before === undefined ? null : toTakenOutTarget(before) }
      })
    },

    async bringBack(target, now) {
      const row = await write.deleteFrom('taken_out_target').where('target', '=', target).returningAll().executeTakeFirst()
      return row === undefined || row.ends_at <= now ? undefined : toTakenOutTarget(row)
    },

    async sweep(now) {
      await write.deleteFrom('taken_out_target').where('ends_at', '<=', now).execute()
    },
  }
}

function toTakenOutTarget(row: Selectable<TakenOutTargetTable>): TakenOutTarget {
  return { target: row.target, takenOutAt: row.taken_out_at, until: row.ends_at, reason: row.reason }
}
