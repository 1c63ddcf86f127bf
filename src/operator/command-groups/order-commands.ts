/** What members buy: orders and the money for them. */
import { defineCommand } from './define-command.ts'
import type { OperatorGroup } from './define-command.ts'
import { accountOption, limitOption } from './shared-options.ts'

const orderArgument = { name: 'order', summary: { en: 'its number or id', zh: '订单号或 ID' } } as const

export const orderCommands: OperatorGroup = {
  name: 'order',
  summary: { en: 'what members buy, and the money for it', zh: '会员的购买与款项' },
  examples: [{ line: 'svc-gateway order list' }],
  commands: [
    defineCommand({
      name: 'list',
      summary: { en: 'list orders, newest first', zh: '列出订单，最新的在前' },
      examples: [{ line: 'svc-gateway order list --state paid' }],
      options: [
        accountOption,
        {
          name: 'state',
          kind: 'text',
          placeholder: 'states',
          summary: { en: 'only these, such as paid or sent,paid', zh: '只列出这些状态，如 paid 或 sent,paid' },
        },
        {
          name: 'provider',
          kind: 'text',
          placeholder: 'name',
          summary: { en: 'only of this payment provider', zh: '只列出该支付渠道的订单' },
        },
        limitOption,
        {
          name: 'before',
          kind: 'text',
          placeholder: 'order',
          summary: { en: 'only orders older than this one', zh: '只列出早于该订单的订单' },
        },
      ],
      load: async () => (await import('../commands/order/order.ts')).listOrders,
    }),
    defineCommand({
      name: 'show',
      summary: { en: 'show an order with its story', zh: '显示订单及其经过' },
      examples: [{ line: 'svc-gateway order show 2026-000123' }],
      arguments: [orderArgument],
      load: async () => (await import('../commands/order/order.ts')).showOrder,
    }),
    defineCommand({
      name: 'explain',
      summary: { en: 'say what is missing, and what cures it', zh: '说明缺少什么，以及如何解决' },
      examples: [{ line: 'svc-gateway order explain 2026-000123' }],
      arguments: [orderArgument],
      load: async () => (await import('../commands/order/order.ts')).explainOrder,
    }),
    defineCommand({
      name: 'check',
      summary: { en: 'ask the payment provider now', zh: '立即向支付渠道查询' },
      examples: [{ line: 'svc-gateway order check 2026-000123' }],
      arguments: [orderArgument],
      load: async () => (await import('../commands/order/order.ts')).checkOrder,
    }),
    defineCommand({
      name: 'confirm',
      summary: { en: 'record money that has arrived by hand', zh: '登记人工收到的款项' },
      examples: [{ line: 'svc-gateway order confirm 2026-000123 --received 12.00EUR' }],
      arguments: [orderArgument],
      options: [
        {
          name: 'received',
          kind: 'text',
          placeholder: 'amount',
          required: true,
          summary: { en: 'all that has arrived for it, such as 12.00EUR', zh: '为该订单收到的全部款项，如 12.00EUR' },
        },
        {
          name: 'reference',
          kind: 'text',
          placeholder: 'text',
          summary: { en: 'what identifies the transfer; each pays one order', zh: '标识该笔转账；每笔只能支付一个订单' },
        },
      ],
      load: async () => (await import('../commands/order/order.ts')).confirmOrder,
    }),
    defineCommand({
      name: 'cancel',
      summary: { en: 'cancel an order that is not paid', zh: '取消未付款的订单' },
      examples: [{ line: 'svc-gateway order cancel 2026-000123' }],
      arguments: [orderArgument],
      load: async () => (await import('../commands/order/order.ts')).cancelOrder,
    }),
    defineCommand({
      name: 'refund',
      summary: { en: 'return money; of a pack only for what is not spent', zh: '退款；加油包只退未使用的部分' },
      examples: [{ line: 'svc-gateway order refund 2026-000123 --reason "paid twice"' }],
      arguments: [orderArgument],
      options: [
        {
          name: 'reason',
          kind: 'text',
          placeholder: 'text',
          required: true,
          summary: { en: 'why; it is kept in the story', zh: '原因；会记录在订单经过中' },
        },
        {
          name: 'amount',
          kind: 'text',
          placeholder: 'amount',
          summary: { en: 'a part, such as 5.00EUR; default: all that can be', zh: '部分金额，如 5.00EUR；默认为可退的全部' },
        },
      ],
      load: async () => (await import('../commands/order/order.ts')).refundOrder,
    }),
  ],
}
