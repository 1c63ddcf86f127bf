/** The provider for Stripe in front of the stand-in, with a clock that the test moves. */
import type { Test } from 'tap'
import type { Checkout, RawNotification } from '../../../../src/domain/billing/orders/payment-provider.ts'
import { createPaymentFetch } from '../../../../src/payments/payment-fetch.ts'
import { StripeProvider } from '../../../../src/payments/stripe/stripe-provider.ts'
import { startStripeServer, stripeKey, stripeWebhookSecret } from '../../../support/servers/stripe/stripe-server.ts'
import { SimulatedClock } from '../../../support/simulated-clock.ts'

export const startMs = Date.UTC(2026, 10, 28, 12)
export const hourMs = 3_600_000
export const dayMs = 24 * hourMs

export async function openStripe(t: Test, settings: { readonly secretKey?: string; readonly automaticTax?: boolean } = {}) {
  const clock = new SimulatedClock({ now: startMs, isLive: true })
  const server = await startStripeServer(t, clock.now)
  const provider = new StripeProvider(
    { secretKey: stripeKey, webhookSecret: stripeWebhookSecret, automaticTax: false, endpoint: server.url, ...settings },
    { clock, fetch: createPaymentFetch(clock) },
  )
  return { clock, server, account: server.account, provider }
}

export function createCheckout(changes: Partial<Checkout> = {}): Checkout {
  return {
    order: 'ord_1',
    number: '2026-000001',
    account: { id: 'acc_1', email: 'mei@example.com' },
    title: 'Pro, 1 month',
    money: { amount: 900, currency: 'EUR' },
    renews: null,
    returnUrl: 'https://models.example.com/account/orders/ord_1',
    cancelUrl: 'https://models.example.com/plans',
    notifyUrl: 'https://models.example.com/payments/stripe/notify',
    language: 'en',
    expiresAt: startMs + 23 * hourMs,
    ...changes,
  }
}

export function toNotification(
  signed: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
  receivedAt: number,
): RawNotification {
  return { method: 'POST', headers: signed.headers, query: '', body: Buffer.from(signed.body), receivedAt }
}
