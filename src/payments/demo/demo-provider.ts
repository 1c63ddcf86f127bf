/**
 * The provider for demonstrations (`PAYMENTS=demo`): a page of its own (`src/pages/views/demo-payment.ts`) stands for the bank, and no money
 * moves. Like a real provider it signs its notifications and sends them over HTTP.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { PaymentNotificationError, PaymentProviderError } from '../../domain/billing/orders/payment-provider.ts'
import type {
  Checkout,
  NotificationFacts,
  OpenedCheckout,
  PaymentFacts,
  PaymentProvider,
  PaymentRef,
  RawNotification,
  RefundFacts,
} from '../../domain/billing/orders/payment-provider.ts'
import type { Money } from '../../domain/billing/money.ts'
import type { Clock } from '../../system/clock.ts'
import { tryParseJson } from '../../system/parse-json.ts'
import { DemoPayments } from './demo-payments.ts'
import type { DemoChoice, DemoPayment } from './demo-payments.ts'

/** How long a payment is pending that was chosen to come late. */
export const lateMs = 60_000
/** Age of a notification at most, as other providers have it. */
const toleranceMs = 300_000
const signatureHeader = 'demo-signature'

interface DemoOptions {
  readonly folder: string
  readonly clock: Clock
  readonly secret: Uint8Array
  readonly fetch: typeof globalThis.fetch
}

export class DemoProvider implements PaymentProvider {
  readonly name = 'demo'
  readonly label = { en: 'Demonstration (no money moves)', zh: '演示（不会实际扣款）' }
  readonly isConfirmedByHand = false
  readonly canRefund = true
  readonly #payments: DemoPayments
  readonly #clock: Clock
  readonly #key: Buffer
  readonly #fetch: typeof globalThis.fetch

  constructor({ folder, clock, secret, fetch }: DemoOptions) {
    this.#payments = new DemoPayments(folder)
    this.#clock = clock
    this.#key = createHmac('sha256', secret).update('notifications of demonstration payments').digest()
    this.#fetch = fetch
  }

  async create(checkout: Checkout): Promise<OpenedCheckout> {
    const { order, title, money, returnUrl, cancelUrl, notifyUrl, expiresAt } = checkout
    if (!this.#payments.create({ order, title, money, returnUrl, cancelUrl, notifyUrl, expiresAt }, this.#clock.now()))
      throw new PaymentProviderError('refused', 'The demonstration has too many payments; it forgets them after 30 days.')
    return { reference: order, url: new URL(`/payments/demo/${order}`, returnUrl).href, instructions: null }
  }

  async query({ reference }: Pick<PaymentRef, 'reference'>): Promise<PaymentFacts> {
    const payment = this.find(reference)
    if (payment === undefined) throw new PaymentProviderError('refused', 'The demonstration has no such payment.')
    return this.#describe(payment)
  }

  async cancel({ reference }: PaymentRef): Promise<void> {
    this.#payments.choose(reference, 'cancel', this.#clock.now())
  }

  async refund({ reference }: PaymentRef, { amount }: Money, refundId: string): Promise<RefundFacts> {
    const { state, refunded, money } = await this.query({ reference })
    if (state !== 'paid' || money === null) throw new PaymentProviderError('refused', 'Only what was paid can be refunded.')
    if (this.#payments.hasRefund(reference, refundId)) return { state: 'done', reference: refundId }
    if (refunded + amount > money.amount) throw new PaymentProviderError('refused', 'More would be refunded than was paid.')
    this.#payments.refund(reference, refundId, amount)
    return { state: 'done', reference: refundId }
  }

  async readNotification({ headers, body, receivedAt }: RawNotification): Promise<NotificationFacts> {
    const [, at = '', signature = ''] = /^t=(\d{1,15}),v1=([0-9a-f]{64})$/.exec(headers[signatureHeader] ?? '') ?? []
    const expectedSignature = this.#sign(at, body)
    if (!timingSafeEqual(Buffer.from(signature.padEnd(64, '0'), 'hex'), expectedSignature))
      throw new PaymentNotificationError('signature', 'The demonstration did not sign this notification.')
    if (receivedAt - Number(at) > toleranceMs)
      throw new PaymentNotificationError('stale', 'This notification of the demonstration is older than five minutes.')
    const content = tryParseJson(body.toString('utf8')) as { readonly order?: unknown } | null | undefined
    const order = content?.order
    return {
      id: `${at}-${signature.slice(0, 16)}`,
      hints: typeof order === 'string' ? [{ kind: 'order', order }] : [],
      answer: { status: 200, body: 'ok' },
    }
  }

  readonly diagnose = {
    listEndpoints: async () => null,
    signTestNotification: async () => this.#createNotification('{"test":true}'),
  }

  find(reference: string): DemoPayment | undefined {
    return this.#payments.find(reference)
  }

  /** What a payment has become; the page of the demonstration shows it. */
  #describe({ order, money, expiresAt, choice, chosenAt, refunded }: DemoPayment): PaymentFacts {
    const now = this.#clock.now()
    const unpaidFacts = { money: null, payment: null, refunded: 0, dispute: 'none', subscription: null } as const
    if (choice === null) return { state: now < expiresAt ? 'open' : 'closed', ...unpaidFacts }
    if (choice === 'cancel') return { state: 'closed', ...unpaidFacts }
    if (choice === 'fail') return { state: 'closed', ...unpaidFacts, reason: 'the card was declined (demonstration)' }
    const paidFacts = { ...unpaidFacts, money, payment: `demo_${order}`, refunded }
    return { ...paidFacts, state: choice === 'late' && now < chosenAt + lateMs ? 'pending' : 'paid' }
  }

  /** What the visitor of the page chose; the first choice counts. Resolves when the notification was sent, or could not be. */
  async choose(reference: string, choice: DemoChoice): Promise<void> {
    const now = this.#clock.now()
    const payment = this.find(reference)
    if (payment === undefined || now >= payment.expiresAt || !this.#payments.choose(reference, choice, now)) return
    if (choice === 'late') this.#clock.after(lateMs, () => void this.#notify(reference)).unref()
    // A lost notification is what `lose` is for; the others may get lost too.
    if (choice === 'pay' || choice === 'fail') await this.#notify(reference)
  }

  async #notify(reference: string): Promise<void> {
    const payment = this.find(reference)
    if (payment === undefined) return
    const { method, headers, body } = this.#createNotification(JSON.stringify({ order: payment.order }))
    await this.#fetch(payment.notifyUrl, { method, headers, body: new Uint8Array(body) }).catch(() => undefined)
  }

  #createNotification(text: string): RawNotification {
    const now = this.#clock.now()
    const body = Buffer.from(text)
    const signature = this.#sign(String(now), body).toString('hex')
    const headers = { 'content-type': 'application/json', [signatureHeader]: `t=${now},v1=${signature}` }
    return { method: 'POST', headers, query: '', body, receivedAt: now }
  }

  #sign(at: string, body: Buffer): Buffer {
    return createHmac('sha256', this.#key).update(`${at}.`).update(body).digest()
  }
}
