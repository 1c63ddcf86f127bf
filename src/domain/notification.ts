/**
 * Notifications: what is reported to operators and to programs, and the port of the outbox from which it is delivered. An incident is
 * reported when it begins and once more when it is over. An event about a member is reported to programs alone.
 */

/** What may go wrong with the service, and ends some time. */
export const incidentKinds = [
  'upstream_down',
  'refusals_high',
  'mail_failing',
  'disk_low',
  'ledger_mismatch',
  'backup_failed',
  'backup_old',
  'certificate_ending',
  'node_lost',
  'objective_burning',
  'receiver_off',
] as const
export type IncidentKind = (typeof incidentKinds)[number]

/** What happens to a member's account. */
export const memberEventKinds = ['account_created', 'plan_changed', 'pool_level'] as const
export type MemberEventKind = (typeof memberEventKinds)[number]

/** `test` is sent by the operator's command alone. */
export type NotificationKind = IncidentKind | MemberEventKind | 'test'

export type NotificationPhase = 'once' | 'began' | 'ended'

/** Something that is wrong at present, as a node observes it. */
export interface Condition {
  readonly kind: IncidentKind
  /** What it is about: a target, a disk, a node. Together with the kind it identifies the incident. */
  readonly subject: string
  /** A sentence for the operator. */
  readonly text: string
}

export interface Incident extends Condition {
  readonly beganAt: number
}

export interface NotificationEvent {
  /** The same at each attempt and for each receiver. */
  readonly messageId: string
  readonly kind: NotificationKind
  readonly phase: NotificationPhase
  /** Null: the event is about the service. */
  readonly account: string | null
  /** Of an incident. */
  readonly subject: string | null
  readonly detail: Readonly<Record<string, string | number | null>>
  readonly at: number
}

export type DeliveryState = 'waiting' | 'delivered' | 'failed'

export interface ClaimedDelivery {
  readonly id: number
  readonly receiver: string
  readonly event: NotificationEvent
  /** The number of this attempt, from 1 on. */
  readonly attempt: number
  /** When the first attempt was due; the attempts end some time after. */
  readonly createdAt: number
}

/** A row of the delivery log. */
export interface DeliveryRecord {
  readonly id: number
  readonly receiver: string
  readonly messageId: string
  readonly kind: NotificationKind
  readonly phase: NotificationPhase
  readonly account: string | null
  readonly subject: string | null
  readonly state: DeliveryState
  readonly attempts: number
  readonly createdAt: number
  /** Of a waiting one: when the next attempt is due. */
  readonly dueAt: number
  readonly endedAt: number | null
  /** HTTP status of the last answer. */
  readonly status: number | null
  /** Why the last attempt failed. */
  readonly reason: string | null
}

/** How an attempt ended. `reason` never contains an address or a secret. */
export interface AttemptResult {
  readonly status: number | null
  readonly reason: string | null
}

export interface ReceiverState {
  readonly name: string
  /** Since when no delivery has succeeded; null if the last one did. */
  readonly failingSince: number | null
  /** Since when it gets nothing, until the operator switches it on again. */
  readonly offSince: number | null
}

/** What a node last reported of itself. */
export interface NodeReport {
  /** New for every start. */
  readonly name: string
  readonly host: string
  readonly seenAt: number
  /** JSON. */
  readonly facts: string
}

export interface DeliveryFilter {
  readonly receiver?: string
  readonly state?: DeliveryState
}

export interface Notifications {
  /** Announces the receivers of this node's configuration; a new one starts switched on. `wantsMemberEvents`: such events are recorded. */
  announceReceivers(
    receivers: readonly { readonly name: string; readonly wantsMemberEvents: boolean }[],
    now: number,
  ): Promise<void>
  listReceivers(): Promise<readonly ReceiverState[]>
  setFailingSince(receiver: string, since: number | null): Promise<void>
  /** False if it was off already. */
  switchOff(receiver: string, at: number): Promise<boolean>
  /** Makes its waiting deliveries due at once. False if it was on. */
  switchOn(receiver: string, now: number): Promise<boolean>

  reportNode(report: NodeReport): Promise<void>
  listNodes(): Promise<readonly NodeReport[]>
  removeNode(name: string): Promise<void>

  listIncidents(): Promise<readonly Incident[]>
  /** Records beginnings and ends together with their events, which get these ids. What is recorded already changes nothing. */
  recordIncidents(
    changes: { readonly began: readonly Condition[]; readonly ended: readonly Incident[] },
    nextMessageId: () => string,
    at: number,
  ): Promise<void>

  /**
   * Creates the deliveries of new events, at most of `limit` events; those beyond `maxWaiting` of a receiver have failed at once. Returns the
   * number of events.
   */
  dispatch(options: {
    readonly limit: number
    readonly maxWaiting: number
    readonly findReceivers: (event: Pick<NotificationEvent, 'kind' | 'phase'>) => readonly string[]
    readonly now: number
  }): Promise<number>
  /**
   * Claims due deliveries of a receiver until `leaseUntil`, oldest first. A delivery waits for the earlier ones about the same account or
   * incident, unless those were created before `unblockedBefore`. `kinds`: only these.
   */
  claim(query: {
    readonly receiver: string
    readonly now: number
    readonly leaseUntil: number
    readonly unblockedBefore: number
    readonly limit: number
    readonly kinds?: readonly NotificationKind[]
  }): Promise<readonly ClaimedDelivery[]>
  /** Ends a delivery that this caller has claimed. */
  end(claimed: ClaimedDelivery, state: 'delivered' | 'failed', result: AttemptResult, at: number): Promise<void>
  retryAt(claimed: ClaimedDelivery, dueAt: number, result: AttemptResult): Promise<void>
  /** Ends waiting deliveries that were created before `createdBefore`. Returns their number by receiver. */
  failOverdue(createdBefore: number, at: number): Promise<ReadonlyMap<string, number>>
  countWaiting(): Promise<ReadonlyMap<string, number>>

  /** The delivery log, newest first. */
  list(query: DeliveryFilter & { readonly limit: number }): Promise<readonly DeliveryRecord[]>
  /** Makes deliveries wait again as if they were new. Returns their number. */
  redeliver(which: DeliveryFilter | { readonly ids: readonly number[] }, now: number): Promise<number>
  /**
   * Deletes the log before `before` and beyond `maxEvents` events, and receivers and nodes that no node has announced since `unseenSince`
   * with what waits for them.
   */
  prune(bounds: { readonly before: number; readonly maxEvents: number; readonly unseenSince: number }): Promise<void>
}
