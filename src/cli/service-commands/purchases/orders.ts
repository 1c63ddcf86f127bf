/** `svc orders`: the latest orders of the account; with a number the story of one, which can be asked about or cancelled. */
import type { cancelOrder, checkOrder, listOrders, showOrder } from '../../../api/membership/orders.ts'
import type { ResponseOf } from '../../../api/endpoint.ts'
import type { CommandHandler } from '../../command.ts'
import type { Context } from '../../context.ts'
import { createUsageFailure } from '../../failure.ts'
import { formatTimestamp, withZone } from '../../terminal/amounts.ts'
import { drawTable } from '../../terminal/draw-table.ts'
import { sanitizeLine, sanitizeText } from '../../terminal/sanitize-text.ts'
import { fetchAccount, formatAccountLine } from '../client/account.ts'
import { describeMissing, formatOrderAmount, formatOrderState } from '../client/order-text.ts'
import type { ExplainedOrder, ShownOrder } from '../client/order-text.ts'
import { callEndpoint, printAnswer } from '../client/service-client.ts'
import type { DeepPartial } from '../client/service-client.ts'
import { requireCredential, readSite } from '../client/site.ts'
import type { Credential, Site } from '../client/site.ts'

export const run: CommandHandler = async (context, args, options) => {
  const site = readSite(context)
  const credential = requireCredential(context, site, 'session')
  const number = args.getText('number')
  const [isCheck, isCancel] = [options.getFlag('check'), options.getFlag('cancel')]
  if (number === undefined && (isCheck || isCancel))
    throw createUsageFailure({ en: 'Name the order: svc orders <number> --check', zh: '请指明订单：svc orders <订单号> --check' })
  if (number !== undefined) {
    const orderAnswer = await readOrder(context, {
      site,
      credential,
      number,
      action: isCancel ? 'cancel' : isCheck ? 'check' : null,
    })
    return printAnswer(context, site, orderAnswer, (answer) => formatOrder(context, answer))
  }
  const account = await fetchAccount(context, site, credential)
  const { answer } = await callEndpoint<typeof listOrders>(context, site, {
    method: 'GET',
    path: '/api/membership/orders',
    credential,
  })
  printAnswer(context, site, { ...answer, account }, ({ data = [], renewal }) =>
    [
      formatAccountLine(context, account, credential),
      ...formatRenewal(context, renewal ?? undefined),
      '',
      data.length === 0 ? context.localize({ en: 'No orders yet.', zh: '还没有订单。' }) : drawOrders(context, data),
    ].join('\n'),
  )
}

interface OrderQuestion {
  readonly site: Site
  readonly credential: Credential
  readonly number: string
  readonly action: 'check' | 'cancel' | null
}

async function readOrder(context: Context, { site, credential, number, action }: OrderQuestion): Promise<ExplainedOrder> {
  const path = `/api/membership/orders/${encodeURIComponent(number)}`
  if (action === null) {
    const request = { method: 'GET', path: path as '/api/membership/orders/{id}', credential } as const
    return (await callEndpoint<typeof showOrder>(context, site, request)).answer
  }
  if (action === 'check') {
    const request = { method: 'POST', path: `${path}/check` as '/api/membership/orders/{id}/check', credential } as const
    return (await callEndpoint<typeof checkOrder>(context, site, request)).answer
  }
  const request = { method: 'POST', path: `${path}/cancel` as '/api/membership/orders/{id}/cancel', credential } as const
  return (await callEndpoint<typeof cancelOrder>(context, site, request)).answer
}

function drawOrders(context: Context, orders: readonly ShownOrder[]): string {
  const { localize } = context
  return drawTable(context, orders, [
    { heading: localize({ en: 'ORDER', zh: '订单' }), cell: ({ number }) => sanitizeLine(number ?? '') },
    { heading: localize({ en: 'ITEM', zh: '内容' }), cell: ({ item }) => sanitizeLine(item?.title ?? '') },
    { heading: localize({ en: 'AMOUNT', zh: '金额' }), align: 'right', cell: formatOrderAmount },
    { heading: localize({ en: 'STATE', zh: '状态' }), cell: (order) => formatOrderState(context, order) },
    {
      heading: withZone(localize({ en: 'ORDERED', zh: '下单时间' })),
      cell: ({ created_at: at }) => formatTimestamp(context, at),
      drop: 1,
    },
  ])
}

type Renewal = NonNullable<DeepPartial<ResponseOf<typeof listOrders>>['renewal']>

function formatRenewal(context: Context, renewal: Renewal | undefined): readonly string[] {
  if (renewal === undefined) return []
  const [plan, end] = [sanitizeLine(renewal.name ?? ''), formatTimestamp(context, renewal.ends_at)]
  const line =
    renewal.renews === true
      ? { en: `${plan} renews by itself on ${end}.`, zh: `${plan} 将于 ${end} 自动续费。` }
      : { en: `${plan} ends on ${end} and does not renew by itself.`, zh: `${plan} 将于 ${end} 结束，不会自动续费。` }
  return [context.localize(line)]
}

function formatOrder(context: Context, explained: ExplainedOrder): string {
  const { localize } = context
  const { order = {}, steps = [] } = explained
  const missingAmount = describeMissing(context, explained)
  const { pay_url: address, instructions, receipt_url: receipt } = order
  const title = sanitizeLine(order.item?.title ?? '')
  return [
    `${sanitizeLine(order.number ?? '')} · ${title} · ${formatOrderAmount(order)} · ${formatOrderState(context, order)}`,
    ...(missingAmount === undefined ? [] : [missingAmount]),
    ...(address == null ? [] : [localize({ en: `Pay at: ${sanitizeLine(address)}`, zh: `付款地址：${sanitizeLine(address)}` })]),
    ...(instructions == null ? [] : [sanitizeText(instructions)]),
    ...(receipt == null ? [] : [localize({ en: `Receipt: ${sanitizeLine(receipt)}`, zh: `收据：${sanitizeLine(receipt)}` })]),
    '',
    ...steps.map(({ at, kind = '' }) => `${formatTimestamp(context, at)}  ${sanitizeLine(kind.replaceAll('_', ' '))}`),
  ].join('\n')
}
