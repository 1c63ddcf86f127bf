/** The receivers of notifications, as servers have announced them, and which of them fail. */
import type { Notifications } from '../../../domain/notification.ts'
import type { Database } from '../../database.ts'

export type ReceiverMethods = 'announceReceivers' | 'listReceivers' | 'setFailingSince' | 'switchOff' | 'switchOn'

export function createReceiverRepository({ read, write, transact }: Database): Pick<Notifications, ReceiverMethods> {
  return {
    async announceReceivers(receivers, now) {
      for (const { name, wantsMemberEvents } of receivers) {
        const row = { wants_member_events: wantsMemberEvents ? 1 : 0, seen_at: now }
        await write
          .insertInto('notification_receiver')
          .values({ name, ...row })
          .onConflict((conflict) => conflict.column('name').doUpdateSet(row))
          .execute()
      }
    },

    async listReceivers() {
      const rows = await read
        .selectFrom('notification_receiver')
        .select(['name', 'failing_since', 'off_since'])
        .orderBy('name')
        .execute()
      return rows.map(({ name, failing_since: failingSince, off_since: offSince }) => ({ name, failingSince, offSince }))
    },

    async setFailingSince(receiver, since) {
      await write
        .updateTable('notification_receiver')
        .set({ failing_since: since })
        .where('name', '=', receiver)
        .where('failing_since', since === null ? 'is not' : 'is', null)
        .execute()
    },

    async switchOff(receiver, at) {
      const { numUpdatedRows } = await write
        .updateTable('notification_receiver')
        .set({ off_since: at })
        .where('name', '=', receiver)
        .where('off_since', 'is', null)
        .executeTakeFirstOrThrow()
      return numUpdatedRows > 0n
    },

    switchOn(receiver, now) {
      return transact(async (transaction) => {
        const { numUpdatedRows } = await transaction
          .updateTable('notification_receiver')
          .set({ off_since: null, failing_since: null })
          .where('name', '=', receiver)
          .where('off_since', 'is not', null)
          .executeTakeFirstOrThrow()
        if (numUpdatedRows === 0n) return false
        await transaction
          .updateTable('notification_delivery')
          .set({ due_at: now })
          .where('receiver', '=', receiver)
          .where('state', '=', 'waiting')
          .execute()
        return true
      })
    },
  }
}
