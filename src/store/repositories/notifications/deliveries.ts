/** The outbox: events, and their delivery to each receiver. */
import { sql } from 'kysely'
import type { ExpressionBuilder, Kysely, Selectable } from 'kysely'
import type { DeliveryFilter, Notifications, NotificationEvent } from '../../../domain/notification.ts'
import { ownJsonBounds, parseJson } from '../../../system/parse-json.ts'
import type { Database } from '../../database.ts'
import type { Schema } from '../../schema/schema.ts'
import type { IncidentMethods } from './incidents.ts'
import type { ReceiverMethods } from './receivers.ts'

/** Changes of one statement or transaction: a write on SQLite makes all others wait. */
const maxPerStatement = 500

export function createDeliveryRepository({
  read,
  write,
  transact,
}: Database): Omit<Notifications, ReceiverMethods | IncidentMethods> {
  return {
    async dispatch({ limit, maxWaiting, findReceivers, now }) {
      const isNew = await read.selectFrom('notification_event').select('id').where('is_dispatched', '=', 0).limit(1).execute()
      if (isNew.length === 0) return 0
      return transact(async (transaction) => {
        const events = await transaction
          .selectFrom('notification_event')
          .selectAll()
          .where('is_dispatched', '=', 0)
          .orderBy('id')
          .limit(limit)
          .execute()
        const waitingCounts = new Map(await readWaiting(transaction))
        const rows = events.flatMap((event) =>
          findReceivers(event).map((receiver) => {
            const count = waitingCounts.get(receiver) ?? 0
            const isFull = count >= maxWaiting
            if (!isFull) waitingCounts.set(receiver, count + 1)
            return {
              event: event.id,
              receiver,
              kind: event.kind,
              ordering: event.account ?? `${event.kind}:${event.subject ?? ''}`,
              state: isFull ? ('failed' as const) : ('waiting' as const),
              attempts: 0,
              created_at: now,
              due_at: now,
              ended_at: isFull ? now : null,
              reason: isFull ? 'too many deliveries were waiting' : null,
            }
          }),
        )
        for (let start = 0; start < rows.length; start += maxPerStatement)
          await transaction
            .insertInto('notification_delivery')
            .values(rows.slice(start, start + maxPerStatement))
            .onConflict((conflict) => conflict.columns(['event', 'receiver']).doNothing())
            .execute()
        if (events.length > 0)
          await transaction
            .updateTable('notification_event')
            .set({ is_dispatched: 1 })
            .where(
              'id',
              'in',
              events.map(({ id }) => id),
            )
            .execute()
        return events.length
      })
    },

    async claim({ receiver, now, leaseUntil, unblockedBefore, limit, kinds }) {
      const isDue = (where: ExpressionBuilder<Schema, 'notification_delivery'>) =>
        where.and([
          where('receiver', '=', receiver),
          where('state', '=', 'waiting'),
          where('due_at', '<=', now),
          ...(kinds === undefined ? [] : [where('kind', 'in', [...kinds])]),
          sql<boolean>`not exists (
            select 1 from notification_delivery as earlier
            where earlier.receiver = notification_delivery.receiver and earlier.ordering = notification_delivery.ordering
              and earlier.state = 'waiting' and earlier.id < notification_delivery.id and earlier.created_at > ${unblockedBefore})`,
        ])
      if (kinds?.length === 0) return []
      const dueRows = await read
        .selectFrom('notification_delivery')
        .select('id')
        .where(isDue)
        .orderBy('id')
        .limit(limit)
        .execute()
      if (dueRows.length === 0) return []
      const claimedDeliveries = await write
        .updateTable('notification_delivery')
        .set((set) => ({ attempts: set('attempts', '+', 1), due_at: leaseUntil }))
        .where(
          'id',
          'in',
          dueRows.map(({ id }) => id),
        )
        .where('state', '=', 'waiting')
        .where('due_at', '<=', now)
        .returning(['id', 'event', 'attempts', 'created_at'])
        .execute()
      if (claimedDeliveries.length === 0) return []
      const events = await read
        .selectFrom('notification_event')
        .selectAll()
        .where(
          'id',
          'in',
          claimedDeliveries.map(({ event }) => event),
        )
        .execute()
      const byId = new Map(events.map((event) => [event.id, toEvent(event)]))
      return claimedDeliveries
        .toSorted((one, other) => one.id - other.id)
        .flatMap(({ id, event: eventId, attempts: attempt, created_at: createdAt }) => {
          const event = byId.get(eventId)
          return event === undefined ? [] : [{ id, receiver, event, attempt, createdAt }]
        })
    },

    async end({ id, attempt }, state, { status, reason }, at) {
      await write
        .updateTable('notification_delivery')
        .set({ state, status, reason, ended_at: at })
        .where('id', '=', id)
        .where('state', '=', 'waiting')
        // The number of attempts shows whether the claim is still this caller's; a delivery that succeeded has succeeded.
        .$if(state === 'failed', (update) => update.where('attempts', '=', attempt))
        .execute()
    },

    async retryAt({ id, attempt }, dueAt, { status, reason }) {
      await write
        .updateTable('notification_delivery')
        .set({ due_at: dueAt, status, reason })
        .where('id', '=', id)
        .where('state', '=', 'waiting')
        .where('attempts', '=', attempt)
        .execute()
    },

    async failOverdue(createdBefore, at) {
      const isOverdue = (where: ExpressionBuilder<Schema, 'notification_delivery'>) =>
        where.and([where('state', '=', 'waiting'), where('created_at', '<', createdBefore)])
      // Almost always none: a read without the writer shows it.
      const some = await read.selectFrom('notification_delivery').select('id').where(isOverdue).limit(1).execute()
      const rows =
        some.length === 0
          ? []
          : await write
              .updateTable('notification_delivery')
              .set({ state: 'failed', ended_at: at })
              .where(isOverdue)
              .returning('receiver')
              .execute()
      return rows.reduce(
        (counts, { receiver }) => counts.set(receiver, (counts.get(receiver) ?? 0) + 1),
        new Map<string, number>(),
      )
    },

    countWaiting: () => readWaiting(read),

    async list({ limit, ...filter }) {
      const rows = await read
        .selectFrom('notification_delivery')
        .innerJoin('notification_event', 'notification_event.id', 'notification_delivery.event')
        .select([
          'notification_delivery.id',
          'receiver',
          'message_id',
          'notification_event.kind',
          'phase',
          'account',
          'subject',
          'state',
          'attempts',
          'created_at',
          'due_at',
          'ended_at',
          'status',
          'reason',
        ])
        .where((where) => where.and(toConditions(where, filter)))
        .orderBy('notification_delivery.id', 'desc')
        .limit(limit)
        .execute()
      return rows.map(({ message_id: messageId, created_at: createdAt, due_at: dueAt, ended_at: endedAt, ...row }) => ({
        ...row,
        messageId,
        createdAt,
        dueAt,
        endedAt,
      }))
    },

    async redeliver(which, now) {
      if ('ids' in which && which.ids.length === 0) return 0
      const { numUpdatedRows } = await write
        .updateTable('notification_delivery')
        .set({ state: 'waiting', attempts: 0, created_at: now, due_at: now, ended_at: null, status: null, reason: null })
        .where((where) => where.and('ids' in which ? [where('id', 'in', [...which.ids])] : toConditions(where, which)))
        .executeTakeFirstOrThrow()
      return Number(numUpdatedRows)
    },

    async prune({ before, maxEvents, unseenSince }) {
      const unseenReceivers = read.selectFrom('notification_receiver').select('name').where('seen_at', '<', unseenSince)
      const names = (await unseenReceivers.execute()).map(({ name }) => name)
      if (names.length > 0)
        await transact(async (transaction) => {
          await transaction
            .updateTable('notification_delivery')
            .set({ state: 'failed', reason: 'the receiver is no longer configured', ended_at: unseenSince })
            .where('receiver', 'in', names)
            .where('state', '=', 'waiting')
            .execute()
          await transaction.deleteFrom('notification_receiver').where('name', 'in', names).execute()
        })
      await write.deleteFrom('notification_node').where('seen_at', '<', unseenSince).execute()
      while ((await deleteOldEvents(before, maxEvents)) === maxPerStatement);
    },
  }

  /** Returns how many were deleted. Those with a waiting delivery stay. */
  function deleteOldEvents(before: number, maxEvents: number): Promise<number> {
    return transact(async (transaction) => {
      const excess = transaction.selectFrom('notification_event').select('id').orderBy('id', 'desc').offset(maxEvents).limit(1)
      const old = await transaction
        .selectFrom('notification_event')
        .select('id')
        .where((where) => where.or([where('at', '<', before), where('id', '<=', excess)]))
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('notification_delivery')
                .select('notification_delivery.id')
                .whereRef('notification_delivery.event', '=', 'notification_event.id')
                .where('state', '=', 'waiting'),
            ),
          ),
        )
        .orderBy('id')
        .limit(maxPerStatement)
        .execute()
      const ids = old.map(({ id }) => id)
      if (ids.length === 0) return 0
      await transaction.deleteFrom('notification_delivery').where('event', 'in', ids).execute()
      await transaction.deleteFrom('notification_event').where('id', 'in', ids).execute()
      return ids.length
    })
  }
}

async function readWaiting(db: Kysely<Schema>): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('notification_delivery')
    .select(['receiver', (select) => select.fn.countAll<number>().as('count')])
    .where('state', '=', 'waiting')
    .groupBy('receiver')
    .execute()
  return new Map(rows.map(({ receiver, count }) => [receiver, Number(count)]))
}

function toConditions(where: ExpressionBuilder<Schema, 'notification_delivery'>, { receiver, state }: DeliveryFilter) {
  return [
    ...(receiver === undefined ? [] : [where('receiver', '=', receiver)]),
    ...(state === undefined ? [] : [where('state', '=', state)]),
  ]
}

function toEvent(row: Selectable<Schema['notification_event']>): NotificationEvent {
  const { message_id: messageId, kind, phase, account, subject, at } = row
  const detail = parseJson(row.detail, ownJsonBounds) as NotificationEvent['detail']
  return { messageId, kind, phase, account, subject, detail, at }
}
