/** The workbench's numbered events, for clients that subscribe or reconnect. */
import type { EventName, WorkbenchEvent } from './protocol/protocol.ts'
import { limits } from './protocol/protocol.ts'

interface Subscription {
  readonly id: string
  readonly names: ReadonlySet<EventName> | null
  readonly deliver: (event: WorkbenchEvent) => void
}

/** Stores the last 1,024 events in order for readers that reconnect. */
export class EventLog {
  readonly bootId: string
  readonly #now: () => number
  readonly #recentEvents: WorkbenchEvent[] = []
  readonly #subscriptions = new Map<string, Subscription>()
  #seq = 0

  constructor(bootId: string, now: () => number) {
    this.bootId = bootId
    this.#now = now
  }

  get seq(): number {
    return this.#seq
  }

  emit(name: EventName, data: Readonly<Record<string, unknown>>): void {
    this.#seq += 1
    const event = { seq: this.#seq, bootId: this.bootId, name, at: this.#now(), data }
    this.#recentEvents.push(event)
    if (this.#recentEvents.length > limits.eventRing) this.#recentEvents.shift()
    for (const subscription of this.#subscriptions.values()) deliverIfWanted(subscription, event)
  }

  /** Adds a reader; it first receives the stored events after `after`. Returns whether some are missing. */
  subscribe(subscription: Subscription, after: number | undefined): { readonly gap: boolean; readonly replay: () => void } {
    const from = after ?? this.#seq
    const missedEvents = this.#recentEvents.filter((event) => event.seq > from)
    const gap = from > this.#seq || missedEvents.length < this.#seq - from
    const replay = (): void => {
      for (const event of missedEvents) deliverIfWanted(subscription, event)
      // No event can occur between the two lines, because nothing here is asynchronous.
      this.#subscriptions.set(subscription.id, subscription)
    }
    return { gap, replay }
  }

  unsubscribe(id: string): boolean {
    return this.#subscriptions.delete(id)
  }
}

function deliverIfWanted(subscription: Subscription, event: WorkbenchEvent): void {
  if (subscription.names === null || subscription.names.has(event.name)) subscription.deliver(event)
}
