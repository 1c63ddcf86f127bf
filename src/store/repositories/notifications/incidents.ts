/** What nodes report of themselves, and the incidents that are open. Their beginnings and ends are events to be delivered. */
import type { Kysely } from 'kysely'
import type { Condition, Notifications, NotificationEvent } from '../../../domain/notification.ts'
import type { Database } from '../../database.ts'
import type { Schema } from '../../schema/schema.ts'

export type IncidentMethods = 'reportNode' | 'listNodes' | 'removeNode' | 'listIncidents' | 'recordIncidents'

export function createIncidentRepository({ read, write, transact }: Database): Pick<Notifications, IncidentMethods> {
  return {
    async reportNode({ name, host, seenAt, facts }) {
      const row = { host, seen_at: seenAt, facts }
      await write
        .insertInto('notification_node')
        .values({ name, ...row })
        .onConflict((conflict) => conflict.column('name').doUpdateSet(row))
        .execute()
    },

    async listNodes() {
      const rows = await read.selectFrom('notification_node').selectAll().orderBy('name').execute()
      return rows.map(({ seen_at: seenAt, ...node }) => ({ ...node, seenAt }))
    },

    async removeNode(name) {
      await write.deleteFrom('notification_node').where('name', '=', name).execute()
    },

    async listIncidents() {
      const rows = await read.selectFrom('notification_incident').selectAll().orderBy('began_at').execute()
      return rows.map(({ began_at: beganAt, ...incident }) => ({ ...incident, beganAt }))
    },

    async recordIncidents({ began, ended }, nextMessageId, at) {
      // A transaction each: on SQLite every other write waits for it.
      for (const condition of began)
        await transact(async (transaction) => {
          const { kind, subject, text } = condition
          const insertedRow = await transaction
            .insertInto('notification_incident')
            .values({ kind, subject, text, began_at: at })
            .onConflict((conflict) => conflict.columns(['kind', 'subject']).doNothing())
            .returning('kind')
            .executeTakeFirst()
          if (insertedRow === undefined) return
          await insertIncidentEvent(transaction, { condition, phase: 'began', messageId: nextMessageId(), at, detail: {} })
        })
      for (const incident of ended)
        await transact(async (transaction) => {
          const deletedIncident = await transaction
            .deleteFrom('notification_incident')
            .where('kind', '=', incident.kind)
            .where('subject', '=', incident.subject)
            .returning('began_at')
            .executeTakeFirst()
          if (deletedIncident === undefined) return
          const detail = { beganAt: deletedIncident.began_at }
          await insertIncidentEvent(transaction, { condition: incident, phase: 'ended', messageId: nextMessageId(), at, detail })
        })
    },
  }
}

interface IncidentEvent {
  readonly condition: Condition
  readonly phase: 'began' | 'ended'
  readonly messageId: string
  readonly at: number
  readonly detail: NotificationEvent['detail']
}

async function insertIncidentEvent(
  db: Kysely<Schema>,
  { condition, phase, messageId, at, detail }: IncidentEvent,
): Promise<void> {
  const { kind, subject, text } = condition
  await db
    .insertInto('notification_event')
    .values({
      message_id: messageId,
      kind,
      phase,
      account: null,
      subject,
      detail: JSON.stringify({ text, ...detail }),
      at,
      is_dispatched: 0,
    })
    .execute()
}
