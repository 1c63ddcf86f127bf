/** Notifications: receivers, reports of nodes, incidents, events and their deliveries. */
import { sql } from 'kysely'
import type { ExpressionBuilder, Kysely, Selectable } from 'kysely'
import type { Condition, DeliveryFilter, Notifications, NotificationEvent } from '../../domain/notification.ts'
import { ownJsonBounds, parseJson } from '../../system/parse-json.ts'
import type { Database } from '../database.ts'
import type { Schema } from '../schema/schema.ts'

/** Changes of one statement or transaction: a write on SQLite makes all others wait. */
const maxPerStatement = 500

export function createNotificationRepository(database: Database): Notifications {
  return { ...createReceiverStore(database), ...createIncidentStore(database), ...createDeliveryStore(database) }
}

type ReceiverMethods = 'announceReceivers' | 'listReceivers' | 'setFailingSince' | 'switchOff' | 'switchOn'

function createReceiverStore({ read, write, transact }: Database): Pick<Notifications, ReceiverMethods> {
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

type IncidentMethods = 'reportNode' | 'listNodes' | 'removeNode' | 'listIncidents' | 'recordIncidents'

function createIncidentStore({ read, write, transact }: Database): Pick<Notifications, IncidentMethods> {
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
          const inserted = await transaction
            .insertInto('notification_incident')
            .values({ kind, subject, text, began_at: at })
            .onConflict((conflict) => conflict.columns(['kind', 'subject']).doNothing())
            .returning('kind')
            .executeTakeFirst()
          if (inserted === undefined) return
          await insertIncidentEvent(transaction, { condition, phase: 'began', messageId: nextMessageId(), at, detail: {} })
        })
      for (const incident of ended)
        await transact(async (transaction) => {
          const deleted = await transaction
            .deleteFrom('notification_incident')
            .where('kind', '=', incident.kind)
            .where('subject', '=', incident.subject)
            .returning('began_at')
            .executeTakeFirst()
          if (deleted === undefined) return
          const detail = { beganAt: deleted.began_at }
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

function createDeliveryStore({ read, write, transact }: Database): Omit<Notifications, ReceiverMethods | IncidentMethods> {
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
        const waiting = new Map(await readWaiting(transaction))
        const rows = events.flatMap((event) =>
          findReceivers(event).map((receiver) => {
            const count = waiting.get(receiver) ?? 0
            const isFull = count >= maxWaiting
            if (!isFull) waiting.set(receiver, count + 1)
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
      const due = await read.selectFrom('notification_delivery').select('id').where(isDue).orderBy('id').limit(limit).execute()
      if (due.length === 0) return []
      const claimed = await write
        .updateTable('notification_delivery')
        .set((set) => ({ attempts: set('attempts', '+', 1), due_at: leaseUntil }))
        .where(
          'id',
          'in',
          due.map(({ id }) => id),
        )
        .where('state', '=', 'waiting')
        .where('due_at', '<=', now)
        .returning(['id', 'event', 'attempts', 'created_at'])
        .execute()
      if (claimed.length === 0) return []
      const events = await read
        .selectFrom('notification_event')
        .selectAll()
        .where(
          'id',
          'in',
          claimed.map(({ event }) => event),
        )
        .execute()
      const byId = new Map(events.map((event) => [event.id, toEvent(event)]))
      return claimed
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
      const gone = read.selectFrom('notification_receiver').select('name').where('seen_at', '<', unseenSince)
      const names = (await gone.execute()).map(({ name }) => name)
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
