/** `/operator/orders`. */
import type { OrderActor } from '../../../../domain/billing/orders/order.ts'

export const orders = {
  lead: 'Every order with its story; a refund is made from the page of the order.',
  none: 'There is no such order.',
  created: 'Created',
  when: 'Money',
  whens: { paid: 'was paid', returned: 'went back' },
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
  refund: {
    open: 'Refund',
    title: 'Refund order {number}?',
    back: 'The member gets back',
    most: 'at most {amount}',
    taken: 'What is taken',
    endsPlan: 'The plan of this order ends at once, also when a part is refunded. What was used stays used.',
    keepsPlan: 'No plan ends.',
    takesNothing: 'Nothing; nothing is granted now.',
    takesCredits: '{credits} unspent credits ({pool}); a part of the money takes the same share of the pack.',
    way: 'How',
    byProvider: 'The payment provider returns the money.',
    byHand: 'The refund is only recorded: send the money to the member yourself.',
    amount: 'Amount in {currency}',
    amountHint: 'A smaller amount refunds a part.',
    noAmount: 'Enter an amount such as 5.00, in {currency}.',
    failed:
      'The payment provider refused the refund, so nothing was refunded; what was locked is the member’s again. The story of the order says why.',
    byCommand: 'Refunds: svc-gateway order refund, because no payment provider is configured now.',
  },
  notices: {
    refunded: 'The refund was made.',
    refunded_by_hand: 'The refund is recorded. Send the money to the member yourself.',
    refund_started:
      'The refund has begun, and the payment provider has given no final answer yet. It is asked until it does; nothing needs to be sent again.',
    refund_again: 'This refund was sent before. It was made once.',
  },
}
