/** Payment by hand: the member reads how to transfer the money, and the operator confirms what has arrived. */
import { formatPrice } from '../domain/billing/money.ts'
import { PaymentNotificationError, PaymentProviderError } from '../domain/billing/orders/payment-provider.ts'
import type {
  Checkout,
  OpenedCheckout,
  PaymentFacts,
  PaymentProvider,
  RefundFacts,
} from '../domain/billing/orders/payment-provider.ts'

interface Instructions {
  readonly en: string
  readonly zh: string | null
}

export class ManualProvider implements PaymentProvider {
  readonly name = 'manual'
  readonly label = { en: 'Bank transfer', zh: '银行转账' }
  readonly isConfirmedByHand = true
  readonly canRefund = false
  readonly #instructions: Instructions

  constructor(instructions: Instructions) {
    this.#instructions = instructions
  }

  /** The reference is the order's number, which the member copies. */
  async create({ number, money, language }: Checkout): Promise<OpenedCheckout> {
    const text = this.#instructions[language] ?? this.#instructions.en
    const instructions = text.replaceAll('{reference}', () => number).replaceAll('{amount}', () => formatPrice(money, language))
    return { reference: number, url: null, instructions }
  }

  /** Money that has arrived is seen by `order confirm` alone. */
  async query(): Promise<PaymentFacts> {
    return { state: 'open', money: null, payment: null, refunded: 0, dispute: 'none', subscription: null }
  }

  async cancel(): Promise<void> {}

  async refund(): Promise<RefundFacts> {
    throw new PaymentProviderError('refused', 'Money that was paid by hand is sent back by hand.')
  }

  async readNotification(): Promise<never> {
    throw new PaymentNotificationError('malformed', 'Payments by hand send no notifications.')
  }
}
