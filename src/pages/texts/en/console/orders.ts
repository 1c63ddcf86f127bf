/** `/operator/orders`. */
import type { OrderActor } from '../../../../domain/billing/order.ts'

export const orders = {
  lead: 'Every order with its story. Refunds are made by svc-gateway order refund.',
  none: 'There is no such order.',
  created: 'Created',
  findings: 'What is missing',
  reference: 'At the provider',
  payment: 'Payment',
  gave: 'Gave',
  actors: {
    member: 'by the member',
    operator: 'by an operator',
    notification: 'by a notification of the provider',
    return: 'when the member returned',
    sweep: 'by the service',
  } as Record<OrderActor, string>,
}
