/** An order as the store returns it, for tests of what shows it. */
import { unpaidOrder } from '../../../src/domain/billing/orders/order.ts'
import type { Order } from '../../../src/domain/billing/orders/order.ts'
import { createPlan } from '../gateway/test-plans.ts'

export const orderDay = Date.UTC(2026, 10, 24, 7, 24)

export function createTestOrder(change: Partial<Order> = {}): Order {
  return {
    ...unpaidOrder,
    id: `ord_${'1'.padStart(26, '0')}`,
    number: '2026-000123',
    account: `acc_${'1'.padStart(26, '0')}`,
    requestId: 'request-1',
    item: {
      kind: 'plan',
      terms: { id: 'pro@1', version: 1, plan: createPlan('pro', 1_000_000, { name: 'Pro' }) },
      interval: 'month',
    },
    event: 'first',
    price: { amount: 1200, currency: 'EUR' },
    credit: 0,
    formerSubscription: null,
    due: { amount: 1200, currency: 'EUR' },
    provider: 'demo',
    language: 'en',
    reference: 'demo_1',
    providerSubscription: null,
    renews: false,
    url: 'http://127.0.0.1/payments/demo/pay',
    state: 'sent',
    createdAt: orderDay,
    expiresAt: orderDay + 23 * 3_600_000,
    sentAt: orderDay,
    nextCheckAt: orderDay + 20_000,
    checkedAt: null,
    buyer: [],
    version: 1,
    ...change,
  }
}

/** The same after it was paid and delivered. */
export function createGrantedOrder(change: Partial<Order> = {}): Order {
  return createTestOrder({
    state: 'granted',
    payment: 'pay_1',
    paid: { amount: 1200, currency: 'EUR' },
    paidAt: orderDay,
    grantedAt: orderDay,
    nextCheckAt: null,
    ...change,
  })
}
