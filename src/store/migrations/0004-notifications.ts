/**
 * Notifications: incidents, events and their deliveries. Triggers record what happens to accounts, in the transaction and in whichever
 * process it happens, and only where a receiver wants it.
 */
import { sql } from 'kysely'
import type { Migration } from './migration.ts'

export const notifications: Migration = {
  name: '0004-notifications',
  readableBy: '0001-initial',
  async up(db, { database, whole, id, serial, tableEnd, after }) {
    for (const statement of [
      `create table notification_receiver (
        name ${id} not null primary key,
        wants_member_events ${whole} not null check (wants_member_events in (0, 1)),
        seen_at ${whole} not null,
        failing_since ${whole},
        off_since ${whole}
      ) ${tableEnd}`,
      `create table notification_node (
        name ${id} not null primary key,
        host text not null,
        seen_at ${whole} not null,
        facts text not null
      ) ${tableEnd}`,
      `create table notification_incident (
        kind text not null,
        subject ${id} not null,
        text text not null,
        began_at ${whole} not null,
        constraint notification_incident_key primary key (kind, subject)
      ) ${tableEnd}`,
      `create table notification_event (
        id ${serial},
        message_id text not null unique,
        kind text not null,
        phase text not null check (phase in ('once', 'began', 'ended')),
        account ${id},
        subject text,
        detail text not null,
        at ${whole} not null,
        is_dispatched ${whole} not null check (is_dispatched in (0, 1))
      ) ${tableEnd}`,
      'create index notification_event_new on notification_event (id) where is_dispatched = 0',
      'create index notification_event_account on notification_event (account) where account is not null',
      `create table notification_delivery (
        id ${serial},
        event ${whole} not null references notification_event (id),
        receiver ${id} not null,
        kind text not null,
        ordering ${id} not null,
        state text not null check (state in ('waiting', 'delivered', 'failed')),
        attempts ${whole} not null,
        created_at ${whole} not null,
        due_at ${whole} not null,
        ended_at ${whole},
        status ${whole},
        reason text,
        constraint notification_delivery_once unique (event, receiver)
      ) ${tableEnd}`,
      `create index notification_delivery_order on notification_delivery (receiver, ordering, id) where state = 'waiting'`,
      `create index notification_delivery_waiting on notification_delivery (receiver, id) where state = 'waiting'`,
    ])
      await sql.raw(statement).execute(db)

    const values =
      database === 'sqlite'
        ? { messageId: 'lower(hex(randomblob(16)))', now: `cast(unixepoch('subsec') * 1000 as integer)` }
        : {
            messageId: `replace(gen_random_uuid()::text, '-', '')`,
            now: '(extract(epoch from clock_timestamp()) * 1000)::bigint',
          }
    const insertEvent = (kind: string, detail: string) =>
      sql.raw(`insert into notification_event (message_id, kind, phase, account, detail, at, is_dispatched)
        select ${values.messageId}, '${kind}', 'once', new.id, ${detail}, ${values.now}, 0
        where exists (select 1 from notification_receiver where wants_member_events = 1)`)
    const toJson = (fields: string) => (database === 'sqlite' ? `json_object(${fields})` : `(json_build_object(${fields}))::text`)
    await after('account_created', 'account', 'insert', null, insertEvent('account_created', toJson(`'plan', new.plan`))).execute(
      db,
    )
    await after(
      'account_plan_changed',
      'account',
      { update: ['plan'] },
      sql`old.plan <> new.plan`,
      insertEvent('plan_changed', toJson(`'from', old.plan, 'to', new.plan, 'until', new.plan_until`)),
    ).execute(db)
  },
}
