/** Notifications of payment providers: hints only, after which the gateway asks the provider itself. */
import { isRefundedInPart } from '../../billing/orders/order.ts'
import { PaymentNotificationError } from '../../billing/orders/payment-provider.ts'
import type { NotificationAnswer, NotificationHint, RawNotification } from '../../billing/orders/payment-provider.ts'
import type { Store } from '../../store.ts'
import type { OrderChanges } from './order-changes.ts'
import type { OrderCheckDeps, OrderChecks } from './order-checks.ts'

/** Orders that one notification can name. */
const maxHints = 20
/** A further notification within this time is left to the next sweep. */
const minNotifiedPauseMs = 2_000
/** How often a provider's notifications are recorded. */
const minRecordPauseMs = 10_000

export class PaymentNotifications {
  readonly #deps: Omit<OrderCheckDeps, 'getSite'>
  readonly #changes: OrderChanges
  readonly #checks: OrderChecks
  readonly #recordedAt = new Map<string, number>()

  constructor(
    deps: Omit<OrderCheckDeps, 'getSite'>,
    { changes, checks }: { readonly changes: OrderChanges; readonly checks: OrderChecks },
  ) {
    this.#deps = deps
    this.#changes = changes
    this.#checks = checks
  }

  async receive(name: string, notification: RawNotification): Promise<NotificationAnswer> {
    const { providers } = this.#deps
    const provider = providers.get(name)
    if (provider === undefined) throw new RangeError(`there is no provider '${name}'`)
    try {
      const { hints, answer } = await provider.readNotification(notification)
      await this.#recordNotification(name, { acceptedAt: notification.receivedAt, refusedAt: null, refusal: null, setting: null })
      for (const hint of hints.slice(0, maxHints)) await this.#follow(name, hint, notification.receivedAt)
      return answer
    } catch (error) {
      if (!(error instanceof PaymentNotificationError)) throw error
      const { reason, setting } = error
      await this.#recordNotification(name, { acceptedAt: null, refusedAt: notification.receivedAt, refusal: reason, setting })
      return { status: 400, body: reason }
    }
  }

  /** A hint only: the order is asked about at once, and by the next sweep if that fails. */
  async #follow(provider: string, hint: NotificationHint, at: number): Promise<void> {
    const { orders } = this.#deps.store
    const order =
      hint.kind === 'order'
        ? await orders.find(hint.order)
        : hint.kind === 'reference'
          ? await orders.findByReference(provider, hint.reference)
          : hint.kind === 'payment'
            ? await orders.findByPayment(provider, hint.payment)
            : await orders.findByProviderSubscription(provider, hint.reference)
    // Another provider's notification proves nothing about this order.
    if (order === undefined || order.provider !== provider) return
    if (order.state === 'refunded' && order.providerSubscription === null && !isRefundedInPart(order)) return
    await this.#changes.apply(order.id, 'notification', (stored) => ({
      order: { ...stored, notifiedAt: at, nextCheckAt: this.#deps.clock.now() },
      steps: stored.notifiedAt === null ? [{ at, kind: 'notified', by: 'notification', facts: { provider } }] : [],
    }))
    if (order.checkedAt === null || order.checkedAt + minNotifiedPauseMs <= at) await this.#checks.check(order.id, 'notification')
  }

  /** Bounded, because anyone can send what is refused. */
  async #recordNotification(provider: string, record: Parameters<Store['orders']['recordNotification']>[1]): Promise<void> {
    const key = `${provider} ${record.refusal ?? ''}`
    const now = this.#deps.clock.now()
    const last = this.#recordedAt.get(key)
    if (last !== undefined && last <= now && now < last + minRecordPauseMs) return
    this.#recordedAt.set(key, now)
    await this.#deps.store.orders.recordNotification(provider, record)
  }
}
