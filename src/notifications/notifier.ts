/**
 * Notifications of one server: it observes its node, one node of several reviews all reports and delivers. Everything that is to be
 * delivered is in the store first, so that neither a restart nor a lost node loses an event.
 */
import type { Logger } from 'pino'
import type { GatewayConfig } from '../config/config.ts'
import { memberEventKinds } from '../domain/notification.ts'
import type { Notifications } from '../domain/notification.ts'
import type { Telemetry } from '../observability/telemetry.ts'
import { Deliverer } from './deliverer.ts'
import { reviewIncidents } from './incident-rules.ts'
import { NodeObserver } from './node-observer.ts'
import type { ObservedConfig, ObserverDeps } from './node-observer.ts'
import { ReceiverConnections } from './receivers/receiver-connections.ts'
import { createReceivers } from './receivers/receiver.ts'
import type { Receiver, ReceiverDeps } from './receivers/receiver.ts'

type NotifierConfig = ObservedConfig & Pick<GatewayConfig, 'brand' | 'timeZone'>

interface NotifierDeps extends Omit<ObserverDeps, 'clock'> {
  readonly store: Notifications
  readonly clock: { now(): number; monotonicMs(): number }
  readonly ids: { next(prefix: string, now: number): string }
  readonly log: Logger
  readonly telemetry: Pick<Telemetry, 'recordNotification' | 'recordNotificationState'>
  readonly random: () => number
  readonly deliverMail: ReceiverDeps['deliverMail']
  /** How long a receiver may take; shorter in tests. */
  readonly timeoutMs?: number
}

const dayMs = 86_400_000
const maxLoggedEvents = 50_000
/** Far below the day after which an unannounced receiver is deleted. */
const announceEveryMs = 600_000

export class Notifier {
  readonly #deps: NotifierDeps
  readonly #observer: NodeObserver
  readonly #deliverer: Deliverer
  readonly #connections = new ReceiverConnections()
  /** Of this start. */
  readonly #node: string
  #config: NotifierConfig
  #receivers: readonly Receiver[] = []
  #announcedMs = -Infinity

  constructor(config: NotifierConfig, deps: NotifierDeps) {
    this.#deps = deps
    this.#node = deps.ids.next('node_', deps.clock.now())
    this.#observer = new NodeObserver(deps)
    this.#deliverer = new Deliverer(deps)
    this.#config = config
    this.#useReceivers()
  }

  /** Without receivers nothing is observed, recorded or delivered. */
  get hasReceivers(): boolean {
    return this.#receivers.length > 0
  }

  /** Deliveries that are being made end under the earlier settings. Never rejects. */
  async reconfigure(config: NotifierConfig): Promise<void> {
    this.#config = config
    this.#announcedMs = -Infinity
    this.#observer.forgetCertificates()
    this.#useReceivers()
    await this.announce()
  }

  #useReceivers(): void {
    const { deliverMail, timeoutMs } = this.#deps
    this.#receivers = createReceivers(this.#config, {
      deliverMail,
      connections: this.#connections,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    })
    this.#deliverer.setReceivers(this.#receivers)
  }

  recordLedgerCheck(mismatches: number): void {
    this.#observer.recordLedgerCheck(mismatches)
  }

  /** Announces the receivers of this configuration. Never rejects: what failed is tried again with the next observation. */
  async announce(): Promise<void> {
    await this.#announce().catch((error: unknown) =>
      this.#deps.log.error({ err: error }, 'receivers of notifications could not be recorded; it is tried again'),
    )
  }

  /** From now on events of members are recorded if a receiver wants them. */
  async #announce(): Promise<void> {
    if (!this.hasReceivers) return
    const { store, clock } = this.#deps
    await store.announceReceivers(
      this.#receivers.map(({ name, kinds }) => ({ name, wantsMemberEvents: memberEventKinds.some((kind) => kinds.has(kind)) })),
      clock.now(),
    )
    this.#announcedMs = clock.monotonicMs()
  }

  /** On each node: reports what it observes of itself. */
  async observe(): Promise<void> {
    if (!this.hasReceivers) return
    const { store, clock, host } = this.#deps
    const facts = JSON.stringify(await this.#observer.observe(this.#config))
    // Turns read the table in their transactions, so it is seldom written.
    if (clock.monotonicMs() - this.#announcedMs >= announceEveryMs) await this.#announce()
    await store.reportNode({ name: this.#node, host, seenAt: clock.now(), facts })
    await this.#recordState()
  }

  /** On one node: records which incidents began and ended. */
  async review(): Promise<void> {
    if (!this.hasReceivers) return
    const { store, clock, ids, log } = this.#deps
    const [reports, receivers, open] = await Promise.all([store.listNodes(), store.listReceivers(), store.listIncidents()])
    const now = clock.now()
    const configuredReceivers = receivers.filter(({ name }) => this.#receivers.some((each) => each.name === name))
    const { rules } = this.#config.notifications
    const { began, ended, replacedNodes } = reviewIncidents({ rules, reports, receivers: configuredReceivers, open, now })
    if (began.length + ended.length > 0) await store.recordIncidents({ began, ended }, () => ids.next('msg_', clock.now()), now)
    for (const name of replacedNodes) await store.removeNode(name)
    for (const { kind, subject, text } of began) log.warn({ kind, subject }, `an incident began: ${text}`)
    for (const { kind, subject } of ended) log.info({ kind, subject }, 'an incident is over')
    await this.#recordState()
  }

  /** For the metrics of this node, whichever node reviews and delivers. */
  async #recordState(): Promise<void> {
    const { store, telemetry } = this.#deps
    const waitingCounts = await store.countWaiting()
    const states = await store.listReceivers()
    telemetry.recordNotificationState(
      this.#receivers.map(({ name }) => ({
        name,
        waiting: waitingCounts.get(name) ?? 0,
        isOff: states.some((state) => state.name === name && state.offSince !== null),
      })),
      (await store.listIncidents()).map(({ kind }) => kind),
    )
  }

  /** On one node: starts the deliveries that are due. */
  async deliver(signal: AbortSignal): Promise<void> {
    if (this.hasReceivers) await this.#deliverer.run(signal)
  }

  /** Resolves when the deliveries that were started have ended. */
  async waitUntilIdle(): Promise<void> {
    await this.#deliverer.waitUntilIdle()
  }

  /** On one node, also without receivers: deletes the old log, and what receivers left that are no longer configured. */
  async prune(): Promise<void> {
    const now = this.#deps.clock.now()
    const before = now - this.#config.notifications.keepForDays * dayMs
    await this.#deps.store.prune({ before, maxEvents: maxLoggedEvents, unseenSince: now - dayMs })
  }

  /** Abort the signal of `deliver` first. A node that was closed is not lost. */
  async close(): Promise<void> {
    await this.waitUntilIdle()
    if (this.hasReceivers) await this.#deps.store.removeNode(this.#node).catch(() => undefined)
    await this.#connections.destroy()
  }
}
