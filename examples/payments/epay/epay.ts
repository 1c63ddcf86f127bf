/**
 * A payment provider for EPay (易支付), the protocol of many Chinese payment services. Its notifications are GET requests signed with MD5,
 * which prove little: like every provider it only says whom to ask about, and the service is asked what was paid.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { PaymentNotificationError, PaymentProviderError, formatDecimal, parseMoney } from 'svc-gateway'
import type {
  Checkout,
  CreatePaymentProvider,
  NotificationFacts,
  OpenedCheckout,
  PaymentFacts,
  PaymentProvider,
  PaymentProviderDeps,
  PaymentRef,
  RawNotification,
  RefundFacts,
} from 'svc-gateway'

interface EpayOptions {
  /** Address of the service, in which `submit.php` and `api.php` are. */
  readonly url: string
  /** The merchant's number. */
  readonly pid: string
  readonly key: string
  /** `alipay`, `wxpay` …; null: the member chooses on the service's page. */
  readonly type: string | null
}

export const createPaymentProvider: CreatePaymentProvider = (options, deps) => new EpayProvider(readOptions(options), deps)

class EpayProvider implements PaymentProvider {
  readonly name: string
  readonly label = { en: 'Alipay or WeChat Pay', zh: '支付宝或微信支付' }
  readonly isConfirmedByHand = false
  /** Most services have no refunds that can be repeated safely; the operator refunds on the service's site. */
  readonly canRefund = false
  readonly #options: EpayOptions
  readonly #fetch: PaymentProviderDeps['fetch']

  constructor(options: EpayOptions, { name, fetch }: PaymentProviderDeps) {
    this.name = name
    this.#options = options
    this.#fetch = fetch
  }

  /** Nothing is sent: the member's browser brings the signed order to the service. */
  async create({ order, title, money, returnUrl, notifyUrl }: Checkout): Promise<OpenedCheckout> {
    if (money.currency !== 'CNY')
      throw new PaymentProviderError('misconfigured', `EPay takes CNY, not ${money.currency}; add prices in CNY.`, 'prices')
    const { url, pid, key, type } = this.#options
    const fields = {
      pid,
      ...(type === null ? {} : { type }),
      out_trade_no: order,
      notify_url: notifyUrl,
      return_url: returnUrl,
      name: title,
      money: formatDecimal(money),
    }
    const signed = new URLSearchParams({ ...fields, sign: sign(fields, key), sign_type: 'MD5' })
    return { reference: order, url: `${url}/submit.php?${signed}`, instructions: null }
  }

  async query({ order }: PaymentRef): Promise<PaymentFacts> {
    const { url, pid, key } = this.#options
    const response = await this.#fetch(`${url}/api.php?${new URLSearchParams({ act: 'order', pid, key, out_trade_no: order })}`)
    const answer: unknown = await response.json().catch(() => null)
    if (!response.ok || typeof answer !== 'object' || answer === null)
      throw new PaymentProviderError('unavailable', `EPay answered with HTTP ${response.status} and no order.`, 'options.url')
    return readOrder(answer as Record<string, unknown>, order)
  }

  /** The protocol has no way to close an order; the gateway deals with one that is paid late. */
  async cancel(): Promise<void> {}

  async refund(): Promise<RefundFacts> {
    throw new PaymentProviderError('refused', 'Refund on the site of the EPay service.')
  }

  async readNotification({ query }: RawNotification): Promise<NotificationFacts> {
    const fields = Object.fromEntries(new URLSearchParams(query))
    const { sign: signature = '', out_trade_no: order = '', trade_no: id = '', pid } = fields
    if (!isEqual(signature, sign(fields, this.#options.key)))
      throw new PaymentNotificationError(
        'signature',
        'The notification was not signed with the key of this merchant.',
        'options.key',
      )
    if (pid !== this.#options.pid || order === '')
      throw new PaymentNotificationError(
        'malformed',
        'The notification is of another merchant, or names no order.',
        'options.pid',
      )
    return {
      id: id === '' ? null : id.slice(0, 128),
      hints: [{ kind: 'order', order: order.slice(0, 128) }],
      // Any other text makes the service send it again.
      answer: { status: 200, body: 'success' },
    }
  }
}

const notPaid: PaymentFacts = { state: 'open', money: null, payment: null, refunded: 0, dispute: 'none', subscription: null }

/** Services write numbers as numbers or as text. */
function readOrder(answer: Readonly<Record<string, unknown>>, order: string): PaymentFacts {
  const { code, msg, status, money, trade_no: payment, out_trade_no: named } = answer
  if (String(code) !== '1') {
    const reason = String(msg)
    if (/key|密钥|商户/i.test(reason))
      throw new PaymentProviderError('misconfigured', 'EPay does not accept the merchant and key.', 'options.key')
    // The order reaches the service with the member's browser: before, it is unknown there.
    return notPaid
  }
  if (String(status) !== '1') return notPaid
  const paid = parseMoney(`${String(money)} CNY`)
  if (paid === undefined || String(named) !== order || typeof payment !== 'string' || payment === '')
    throw new PaymentProviderError('unavailable', 'EPay reports a paid order without its number, its amount or its payment.')
  return { ...notPaid, state: 'paid', money: paid, payment }
}

/** The fields with a value, by name, without the signature itself, and the key at the end. */
function sign(fields: Readonly<Record<string, string>>, key: string): string {
  const text = Object.entries(fields)
    .filter(([name, value]) => name !== 'sign' && name !== 'sign_type' && value !== '')
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
  return createHash('md5').update(`${text}${key}`).digest('hex')
}

function isEqual(signature: string, expected: string): boolean {
  return /^[0-9a-f]{32}$/i.test(signature) && timingSafeEqual(Buffer.from(signature, 'hex'), Buffer.from(expected, 'hex'))
}

function readOptions({ url, pid, key, type = null }: Readonly<Record<string, unknown>>): EpayOptions {
  if (typeof url !== 'string' || !/^https:\/\/|^http:\/\/(?:localhost|127\.)/.test(url))
    throw new Error('options.url must be the https address of the EPay service')
  if (typeof pid !== 'string' || !/^\d{1,20}$/.test(pid)) throw new Error("options.pid must be the merchant's number")
  if (typeof key !== 'string' || key === '') throw new Error("options.key must be the merchant's key")
  if (type !== null && typeof type !== 'string') throw new Error('options.type must be a way to pay, as in alipay, or left out')
  return { url: url.replace(/\/+$/, ''), pid, key, type }
}
