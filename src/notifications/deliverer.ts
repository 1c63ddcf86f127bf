/**
 * Sends the deliveries that are due, each receiver by itself, so that a slow one delays no other. A delivery is claimed before it is sent and
 * ended afterwards: a process that ends in between sends it again, under the same message id.
 */
import type { Logger } from 'pino'
import type { ClaimedDelivery, NotificationKind, Notifications } from '../domain/notification.ts'
import type { Telemetry } from '../observability/telemetry.ts'
import { formatDuration } from '../system/duration.ts'
import type { Attempt, Receiver } from './receivers/receiver.ts'
import { findNextAttempt, maxDeliveryAgeMs, orderedMs } from './retry-schedule.ts'

interface DelivererOptions {
  readonly store: Notifications
  readonly clock: { now(): number; monotonicMs(): number }
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  readonly telemetry: Pick<Telemetry, 'recordNotification'>
  /** Random number, 0 ≤ n < 1. */
  readonly random: () => number
}

const dayMs = 86_400_000
const minuteMs = 60_000
/** Longer than an attempt may take. */
const leaseMs = 2 * minuteMs
/** To one receiver at a time. */
const maxConcurrent = 4
const eventsPerDispatch = 500
/** Further deliveries are recorded as failed, and can be made again by the operator. */
const maxWaitingPerReceiver = 10_000
/** A receiver of which all attempts failed rests, so that it is not asked for each waiting delivery; the pause doubles up to a minute. */
const minPauseMs = 1_000
const maxPauseMs = minuteMs
/** A receiver that fails for this long is switched off. */
const switchOffAfterMs = dayMs
/** The last attempt begins at the end of the three days. */
const overdueMs = maxDeliveryAgeMs + 10 * minuteMs

/** What this process knows of a receiver. */
interface ReceiverWork {
  running: Promise<void> | null
  failingSince: number | null
  /** Instants of the attempts within the last minute. */
  attemptsAt: number[]
  pauseMs: number
  pausedUntil: number
}

export class Deliverer {
  readonly #options: DelivererOptions
  #receivers: readonly Receiver[] = []
  readonly #work = new Map<string, ReceiverWork>()

  constructor(options: DelivererOptions) {
    this.#options = options
  }

  setReceivers(receivers: readonly Receiver[]): void {
    this.#receivers = receivers
    for (const name of this.#work.keys()) if (!receivers.some((each) => each.name === name)) this.#work.delete(name)
  }

  /** Starts what is due; `waitUntilIdle` waits for it. */
  async run(signal: AbortSignal): Promise<void> {
    const { store, clock, log, telemetry } = this.#options
    const findReceivers = ({ kind }: { readonly kind: NotificationKind }): readonly string[] =>
      this.#receivers.filter(({ kinds }) => kinds.has(kind)).map(({ name }) => name)
    const dispatch = (): Promise<number> =>
      store.dispatch({ limit: eventsPerDispatch, maxWaiting: maxWaitingPerReceiver, findReceivers, now: clock.now() })
    while (!signal.aborted && (await dispatch()) === eventsPerDispatch);
    for (const [receiver, count] of await store.failOverdue(clock.now() - overdueMs, clock.now())) {
      log.error({ receiver, count }, 'notifications were not delivered within three days')
      telemetry.recordNotification(receiver, 'failed', count)
    }
    const states = new Map((await store.listReceivers()).map((state) => [state.name, state]))
    for (const receiver of this.#receivers) {
      const { failingSince = null, offSince = null } = states.get(receiver.name) ?? {}
      const work = this.#getWork(receiver.name)
      if (work.running !== null) continue
      work.failingSince = failingSince
      if (offSince !== null) continue
      // Also between two attempts, which are hours apart by then.
      if (failingSince !== null && clock.now() - failingSince >= switchOffAfterMs) {
        await this.#switchOff(receiver.name, 'it has failed for a day')
        continue
      }
      if (clock.now() < work.pausedUntil) continue
      work.running = this.#deliverDue(receiver, work, signal)
        .catch((error: unknown) =>
          log.error({ err: error, receiver: receiver.name }, 'notifications could not be read or recorded'),
        )
        .finally(() => (work.running = null))
    }
  }

  async waitUntilIdle(): Promise<void> {
    await Promise.all([...this.#work.values()].map(({ running }) => running))
  }

  #getWork(name: string): ReceiverWork {
    let work = this.#work.get(name)
    if (work === undefined) {
      work = { running: null, failingSince: null, attemptsAt: [], pauseMs: 0, pausedUntil: 0 }
      this.#work.set(name, work)
    }
    return work
  }

  async #deliverDue(receiver: Receiver, work: ReceiverWork, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#options
    // After a reload the next run goes on with the new settings.
    while (!signal.aborted && this.#receivers.includes(receiver)) {
      const now = clock.now()
      work.attemptsAt = work.attemptsAt.filter((at) => at > now - minuteMs && at <= now)
      const limit = Math.min(maxConcurrent, receiver.maxPerMinute - work.attemptsAt.length)
      if (limit <= 0) return
      const kinds = receiver.findAllowedKinds(now)
      const claimedDeliveries = await store.claim({
        receiver: receiver.name,
        now,
        leaseUntil: now + leaseMs,
        unblockedBefore: now - orderedMs,
        limit,
        ...(kinds === null ? {} : { kinds }),
      })
      if (claimedDeliveries.length === 0) return
      work.attemptsAt.push(...claimedDeliveries.map(() => now))
      const results = await Promise.all(claimedDeliveries.map((delivery) => this.#attempt(receiver, work, delivery, signal)))
      if (results.some((isDelivered) => isDelivered)) {
        work.pauseMs = 0
        continue
      }
      work.pauseMs = Math.min(maxPauseMs, Math.max(minPauseMs, 2 * work.pauseMs))
      work.pausedUntil = clock.now() + work.pauseMs
      return
    }
  }

  /** Returns whether it was delivered. */
  async #attempt(receiver: Receiver, work: ReceiverWork, delivery: ClaimedDelivery, signal: AbortSignal): Promise<boolean> {
    const { store, clock, log, telemetry } = this.#options
    const { event } = delivery
    const attempt = await receiver.send(event, { now: clock.now(), signal })
    const now = clock.now()
    const facts = { receiver: receiver.name, kind: event.kind, phase: event.phase, attempt: delivery.attempt }
    if (attempt.reason === null) {
      await store.end(delivery, 'delivered', attempt, now)
      telemetry.recordNotification(receiver.name, 'delivered')
      log.info(facts, 'a notification was delivered')
      await this.#recordSuccess(receiver, work, now)
      return true
    }
    // A shutdown says nothing about the receiver; the delivery is due again at once.
    if (signal.aborted) {
      await store.retryAt(delivery, now, attempt)
      return false
    }
    await this.#recordFailure(receiver, work, attempt, now)
    const { createdAt, attempt: number } = delivery
    const { retryAfterMs, status, reason } = attempt
    const dueAt = findNextAttempt({ createdAt, attempt: number, now, retryAfterMs, random: this.#options.random() })
    if (dueAt === null) {
      await store.end(delivery, 'failed', attempt, now)
      telemetry.recordNotification(receiver.name, 'failed')
      log.error({ ...facts, status, reason }, 'a notification was not delivered within three days')
    } else {
      await store.retryAt(delivery, dueAt, attempt)
      telemetry.recordNotification(receiver.name, 'retried')
    }
    return false
  }

  async #recordSuccess({ name }: Receiver, work: ReceiverWork, now: number): Promise<void> {
    if (work.failingSince === null) return
    const failedForMs = now - work.failingSince
    work.failingSince = null
    await this.#options.store.setFailingSince(name, null)
    this.#options.log.info({ receiver: name }, `a receiver takes notifications again, after ${formatDuration(failedForMs)}`)
  }

  async #recordFailure({ name }: Receiver, work: ReceiverWork, { status, reason, isGone }: Attempt, now: number): Promise<void> {
    const { store, log } = this.#options
    if (work.failingSince === null) {
      work.failingSince = now
      await store.setFailingSince(name, now)
      if (!isGone)
        log.warn({ receiver: name, status, reason }, 'a receiver takes no notifications; they are tried again for three days')
    }
    if (isGone) await this.#switchOff(name, 'it answered that it wants no more (410)')
  }

  async #switchOff(receiver: string, reason: string): Promise<void> {
    const { store, clock, log } = this.#options
    if (await store.switchOff(receiver, clock.now()))
      log.error(
        { receiver },
        `a receiver of notifications was switched off: ${reason}. Switch it on with: svc-gateway notify enable ${receiver}`,
      )
  }
}
