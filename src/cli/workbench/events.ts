/** What happened in the workbench, in order and numbered, for clients that subscribe or come back after a break. */
import type { EventName, WorkbenchEvent } from './protocol.ts'
import { limits } from './protocol.ts'

export interface Subscription {
  readonly id: string
  readonly names: ReadonlySet<EventName> | null
  readonly deliver: (event: WorkbenchEvent) => void
}

/** The workbench's events in order, with the last 1,024 kept for readers that come back after a break. */
export class Events {
  readonly bootId: string
  readonly #now: () => number
  readonly #ring: WorkbenchEvent[] = []
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
    this.#ring.push(event)
    if (this.#ring.length > limits.eventRing) this.#ring.shift()
    for (const subscription of this.#subscriptions.values()) hand(subscription, event)
  }

  /** Adds a reader; what came after `after` and is still kept is what it gets first. Answers whether something is missing. */
  subscribe(subscription: Subscription, after: number | undefined): { readonly gap: boolean; readonly replay: () => void } {
    const from = after ?? this.#seq
    const kept = this.#ring.filter((event) => event.seq > from)
    const gap = from > this.#seq || kept.length < this.#seq - from
    const replay = (): void => {
      for (const event of kept) hand(subscription, event)
      // Events of the moment between the two lines cannot exist: nothing here waits.
      this.#subscriptions.set(subscription.id, subscription)
    }
    return { gap, replay }
  }

  unsubscribe(id: string): boolean {
    return this.#subscriptions.delete(id)
  }
}

function hand(subscription: Subscription, event: WorkbenchEvent): void {
  if (subscription.names === null || subscription.names.has(event.name)) subscription.deliver(event)
}
