/** The tables of notifications, as Kysely types. Instants are milliseconds, flags 0 or 1. */
import type { Generated } from 'kysely'
import type { DeliveryState, IncidentKind, NotificationKind, NotificationPhase } from '../../domain/notification.ts'

export interface NotificationSchema {
  readonly notification_receiver: NotificationReceiverTable
  readonly notification_node: NotificationNodeTable
  readonly notification_incident: NotificationIncidentTable
  readonly notification_event: NotificationEventTable
  readonly notification_delivery: NotificationDeliveryTable
}

interface NotificationReceiverTable {
  name: string
  wants_member_events: number
  /** When a node last announced it. */
  seen_at: number
  failing_since: number | null
  off_since: number | null
}

interface NotificationNodeTable {
  name: string
  host: string
  seen_at: number
  /** JSON. */
  facts: string
}

/** An incident that is not over. */
interface NotificationIncidentTable {
  kind: IncidentKind
  subject: string
  text: string
  began_at: number
}

/** Written by triggers and by the ledger too. */
interface NotificationEventTable {
  id: Generated<number>
  message_id: string
  kind: NotificationKind
  phase: NotificationPhase
  account: string | null
  subject: string | null
  /** JSON. */
  detail: string
  at: number
  /** Whether its deliveries exist. */
  is_dispatched: number
}

interface NotificationDeliveryTable {
  id: Generated<number>
  event: number
  receiver: string
  kind: NotificationKind
  /** Deliveries with the same value are made in order. */
  ordering: string
  state: DeliveryState
  attempts: number
  created_at: number
  /** When the next attempt is due; during an attempt, when its claim ends. */
  due_at: number
  ended_at: number | null
  status: number | null
  reason: string | null
}
