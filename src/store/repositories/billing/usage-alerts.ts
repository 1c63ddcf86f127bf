/** Usage alerts: the subscribed accounts, and the alerts sent. */
import { sql } from 'kysely'
import type { Expression, ExpressionBuilder, SqlBool } from 'kysely'
import { alertLevels } from '../../../domain/billing/usage/usage-alert.ts'
import type { AlertLevel, UsageAlert, UsageAlerts } from '../../../domain/billing/usage/usage-alert.ts'
import type { Database } from '../../database.ts'
import type { Schema } from '../../schema/schema.ts'
import { accountColumns, toAccount } from '../identity/accounts.ts'

export function createUsageAlertRepository({ read, write }: Database): UsageAlerts {
  return {
    async findSubscriber(account) {
      const row = await read
        .selectFrom('usage_alert_subscription')
        .select(['language', 'time_zone'])
        .where('account', '=', account)
        .executeTakeFirst()
      return row && { language: row.language, timeZone: row.time_zone }
    },

    async subscribe(account, { language, timeZone }, at) {
      const reader = { language, time_zone: timeZone }
      await write
        .insertInto('usage_alert_subscription')
        .values({ account, ...reader, created_at: at })
        .onConflict((conflict) => conflict.column('account').doUpdateSet(reader))
        .execute()
    },

    async unsubscribe(account) {
      await write.deleteFrom('usage_alert_subscription').where('account', '=', account).execute()
    },

    async listCandidates({ since, after, limit }) {
      const rows = await read
        .selectFrom('usage_alert_subscription')
        .innerJoin('account', 'account.id', 'usage_alert_subscription.account')
        .select(accountColumns)
        // A subquery for each account is a range of the key; a join may read the sums of all accounts.
        .select((select) =>
          select
            .selectFrom('usage_sum')
            .select(sql<number | null>`sum(turns + failed)`.as('turns'))
            .whereRef('usage_sum.account', '=', 'usage_alert_subscription.account')
            .where('starts_at', '>=', since)
            .as('turns'),
        )
        .where('usage_alert_subscription.account', '>', after)
        .where('account.status', '=', 'active')
        .orderBy('usage_alert_subscription.account')
        .limit(limit)
        .execute()
      return rows.map(({ turns, ...account }) => ({ account: toAccount(account), turns: Number(turns ?? 0) }))
    },

    async record(alert, at) {
      // Almost always recorded: a read without the writer shows it.
      const existingAlert = await read.selectFrom('usage_alert').select('state').where(isAlert(alert)).executeTakeFirst()
      if (existingAlert !== undefined) return
      const { level, ...window } = alert
      for (const lower of alertLevels.filter((each) => each < level)) {
        await write
          .insertInto('usage_alert')
          .values({ ...toRow({ ...window, level: lower }), state: 'dropped', attempts: 0, due_at: at })
          .onConflict((conflict) =>
            conflict
              .columns(['account', 'pool', 'window', 'ends_at', 'level'])
              .doUpdateSet({ state: 'dropped' })
              .where('usage_alert.state', '=', 'due'),
          )
          .execute()
      }
      await write
        .insertInto('usage_alert')
        .values({ ...toRow(alert), state: 'due', attempts: 0, due_at: at })
        .onConflict((conflict) => conflict.columns(['account', 'pool', 'window', 'ends_at', 'level']).doNothing())
        .execute()
    },

    async claim(now) {
      for (;;) {
        const dueAlert = await read
          .selectFrom('usage_alert')
          .select(['account', 'pool', 'window', 'ends_at', 'level', 'attempts'])
          .where('state', '=', 'due')
          .where('due_at', '<=', now)
          .where('ends_at', '>', now)
          .orderBy('due_at')
          .limit(1)
          .executeTakeFirst()
        if (dueAlert === undefined) return undefined
        const { account, pool, window, ends_at: endsAt, attempts } = dueAlert
        const alert: UsageAlert = { account, pool, window, endsAt, level: dueAlert.level as AlertLevel }
        const claimedRow = await write
          .updateTable('usage_alert')
          .set({ state: 'sending', attempts: attempts + 1 })
          .where(isAlert(alert))
          .where('state', '=', 'due')
          .returning('attempts')
          .executeTakeFirst()
        // Otherwise another node was faster.
        if (claimedRow !== undefined) return { ...alert, attempt: claimedRow.attempts }
      }
    },

    async end(alert, state) {
      await write.updateTable('usage_alert').set({ state }).where(isAlert(alert)).where('state', '=', 'sending').execute()
    },

    async retryAt(alert, dueAt) {
      await write
        .updateTable('usage_alert')
        .set({ state: 'due', due_at: dueAt })
        .where(isAlert(alert))
        .where('state', '=', 'sending')
        .execute()
    },

    async sweep(now, forgetBefore) {
      await write
        .updateTable('usage_alert')
        .set({ state: 'dropped' })
        .where('state', '=', 'due')
        .where('ends_at', '<=', now)
        .execute()
      await write.deleteFrom('usage_alert').where('ends_at', '<', forgetBefore).execute()
    },
  }
}

function toRow({ account, pool, window, endsAt, level }: UsageAlert) {
  return { account, pool, window, ends_at: endsAt, level }
}

function isAlert(alert: UsageAlert) {
  return (where: ExpressionBuilder<Schema, 'usage_alert'>): Expression<SqlBool> => where.and(toRow(alert))
}
