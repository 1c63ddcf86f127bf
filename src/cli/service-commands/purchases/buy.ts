/** `svc buy`: shows what a purchase does and costs, prints where it is paid, and waits until it is in the account. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ResponseOf } from '../../../api/endpoint.ts'
import type { checkOrder, createOrder, listOffers, quoteOrder, showOrder } from '../../../api/membership/orders.ts'
import type { CommandHandler } from '../../command.ts'
import type { ParsedValues } from '../../../command-table/parsed-values.ts'
import type { Context } from '../../context.ts'
import { CommandFailure, createUsageFailure } from '../../failure.ts'
import { formatTimestamp } from '../../terminal/amounts.ts'
import { sanitizeLine, sanitizeText } from '../../terminal/sanitize-text.ts'
import { fetchAccount, formatAccountLine } from '../client/account.ts'
import { offerBrowser } from '../client/offer-browser.ts'
import { describeMissing, formatOrderAmount, formatOrderState } from '../client/order-text.ts'
import type { ExplainedOrder, ShownOrder } from '../client/order-text.ts'
import { callEndpoint, printAnswer } from '../client/service-client.ts'
import type { DeepPartial } from '../client/service-client.ts'
import { requireCredential, readSite } from '../client/site.ts'
import type { Credential, Site } from '../client/site.ts'

/** Every so many reads of the order, the payment service is asked, because its notification may be lost. */
const readsPerCheck = 10
const defaultIntervalSeconds = 3

export const run: CommandHandler = async (context, args, options) => {
  const site = readSite(context)
  const credential = requireCredential(context, site, 'session')
  const { answer: offers } = await callEndpoint<typeof listOffers>(context, site, {
    method: 'GET',
    path: '/api/membership/offers',
    credential,
  })
  const choice = readChoice(args, options, offers)
  const { answer: quote } = await callEndpoint<typeof quoteOrder>(context, site, {
    method: 'POST',
    path: '/api/membership/orders/quote',
    body: choice,
    credential,
  })
  const account = await fetchAccount(context, site, credential)
  if (options.getFlag('check'))
    return printAnswer(context, site, { ...quote, account }, (shown) =>
      [...formatQuote(context, shown), formatAccountLine(context, account, credential)].join('\n'),
    )
  if (!context.json) {
    for (const line of formatQuote(context, quote)) context.printNote(line)
    context.printNote(formatAccountLine(context, account, credential))
  }
  const { answer: order } = await callEndpoint<typeof createOrder>(context, site, {
    method: 'POST',
    path: '/api/membership/orders',
    body: { ...choice, request_id: Buffer.from(context.random(24)).toString('base64url'), max_due: quote.due?.amount },
    credential,
  })
  printWhereToPay(context, order)
  const address = order.pay_url ?? null
  // A transfer takes days; the operator's confirmation is written by email.
  if (options.getFlag('no-wait') || address === null) return printOrder(context, site, { order })
  const stopOffering = offerBrowser(context, address, options.getFlag('no-browser'))
  try {
    const stopProgress = context.showProgress({ en: 'Waiting for the payment …', zh: '正在等待付款 …' })
    printOrder(context, site, await waitUntilFinal(context, { site, credential, order }).finally(stopProgress))
  } finally {
    stopOffering()
  }
}

type Offers = DeepPartial<ResponseOf<typeof listOffers>>
interface Choice {
  readonly plan?: string
  readonly interval?: 'month' | 'year'
  readonly pack?: string
  readonly currency?: string
  readonly provider?: string
}

function readChoice(args: ParsedValues, options: ParsedValues, { data = [] }: Offers): Choice {
  const [item, pack] = [args.requireText('item'), args.getText('pack')]
  const [currency, provider] = [options.getText('currency'), options.getText('with')]
  const shared = {
    ...(currency === undefined ? {} : { currency: currency.toUpperCase() }),
    ...(provider === undefined ? {} : { provider }),
  }
  const packs = data.flatMap((offer) => offer.item?.pack ?? [])
  const plans = [...new Set(data.flatMap((offer) => offer.item?.plan ?? []))]
  const seeList = [{ en: 'see them: svc plans', zh: '查看：svc plans' }]
  if (item === 'pack') {
    if (pack !== undefined && packs.includes(pack)) return { pack, ...shared }
    const list = packs.map(sanitizeLine).join(', ')
    throw createUsageFailure(
      { en: `Name one of these packs: ${list || 'none is sold'}.`, zh: `请选择加油包：${list || '没有出售'}。` },
      seeList,
    )
  }
  if (pack !== undefined)
    throw createUsageFailure({
      en: `'${sanitizeLine(pack)}' is not expected after a plan.`,
      zh: `套餐之后不应有 '${sanitizeLine(pack)}'。`,
    })
  const plan = plans.find((each) => each === item.toLowerCase())
  if (plan !== undefined) return { plan, interval: options.getFlag('yearly') ? 'year' : 'month', ...shared }
  const list = plans.map(sanitizeLine).join(', ')
  throw createUsageFailure(
    {
      en: `Name one of these plans: ${list || 'none is sold'}; or pack and its name.`,
      zh: `请选择套餐：${list || '没有出售'}；或 pack 及加油包的名称。`,
    },
    seeList,
  )
}

function formatQuote(context: Context, quote: DeepPartial<ResponseOf<typeof quoteOrder>>): readonly string[] {
  const { localize } = context
  const text = (value: string | undefined): string => sanitizeLine(value ?? '')
  const from =
    quote.starts_at == null ? localize({ en: 'when it is paid', zh: '付款后立即' }) : formatTimestamp(context, quote.starts_at)
  const until = quote.ends_at == null ? localize({ en: 'no end', zh: '无到期时间' }) : formatTimestamp(context, quote.ends_at)
  const { credit, due } = quote
  const hasCredit = (credit?.amount ?? 0) > 0
  return [
    `${text(quote.item?.title)}: ${text(quote.price?.text)}`,
    ...(hasCredit
      ? [
          localize({
            en: `Unused days of your plan: −${text(credit?.text)}; to pay: ${text(due?.text)}`,
            zh: `套餐未使用天数抵扣：−${text(credit?.text)}；应付：${text(due?.text)}`,
          }),
        ]
      : []),
    localize({ en: `Begins: ${from}; ends: ${until}`, zh: `开始：${from}；结束：${until}` }),
    quote.renews === true
      ? localize({ en: 'It renews by itself until you cancel it.', zh: '将自动续费，直到取消。' })
      : localize({ en: 'It is charged once and does not renew by itself.', zh: '仅扣款一次，不会自动续费。' }),
  ]
}

/** Not a note: `--quiet` must keep these lines, because nothing can be paid without them. */
function printWhereToPay(context: Context, order: ShownOrder): void {
  const { localize } = context
  if (context.json) {
    const { id, number, pay_url, instructions } = order
    return context.printEvent({ event: 'order', id, number, pay_url, instructions })
  }
  const number = sanitizeLine(order.number ?? '')
  const [heading, place] =
    order.pay_url == null
      ? [
          localize({ en: `How to pay order ${number}:`, zh: `订单 ${number} 的付款说明：` }),
          sanitizeText(order.instructions ?? ''),
        ]
      : [
          localize({
            en: `Open this address in a browser to pay order ${number}:`,
            zh: `请在浏览器中打开以下地址支付订单 ${number}：`,
          }),
          sanitizeLine(order.pay_url),
        ]
  context.stderr.write(`${heading}\n\n${place.replaceAll(/^/gm, '  ')}\n\n`)
}

interface Waiting {
  readonly site: Site
  readonly credential: Credential
  readonly order: ShownOrder
}

/** A short network failure does not end the wait: the order is stored, and may be paid meanwhile. */
async function waitUntilFinal(context: Context, { site, credential, order }: Waiting): Promise<ExplainedOrder> {
  const { id = '' } = order
  let intervalSeconds = defaultIntervalSeconds
  for (let reads = 0; ; reads += 1) {
    try {
      const answer = await readOrder(context, { site, credential, id, isCheck: reads % readsPerCheck === readsPerCheck - 1 })
      // A renewing plan stays open at its provider; what matters here is that it was delivered.
      if (answer.order?.is_final === true || answer.order?.state === 'granted') return answer
      intervalSeconds = answer.interval ?? intervalSeconds
    } catch (error) {
      if (!(error instanceof CommandFailure) || !transientExits.has(error.exit)) throw error
      context.printDetail(error.text)
    }
    await sleep(intervalSeconds * 1000, undefined, { signal: context.signal })
  }
}

async function readOrder(
  context: Context,
  { site, credential, id, isCheck }: Omit<Waiting, 'order'> & { readonly id: string; readonly isCheck: boolean },
): Promise<ExplainedOrder> {
  if (isCheck) {
    const path = `/api/membership/orders/${encodeURIComponent(id)}/check` as '/api/membership/orders/{id}/check'
    return (await callEndpoint<typeof checkOrder>(context, site, { method: 'POST', path, credential })).answer
  }
  const path = `/api/membership/orders/${encodeURIComponent(id)}` as '/api/membership/orders/{id}'
  return (await callEndpoint<typeof showOrder>(context, site, { method: 'GET', path, credential })).answer
}

const transientExits: ReadonlySet<string> = new Set(['tryAgain', 'timeout'])

function printOrder(context: Context, site: Site, explained: ExplainedOrder): void {
  printAnswer(context, site, explained, ({ order = {} }) => {
    const [number, title] = [sanitizeLine(order.number ?? ''), sanitizeLine(order.item?.title ?? '')]
    const line = `${number} · ${title} · ${formatOrderAmount(order)} · ${formatOrderState(context, order)}`
    const missingAmount = describeMissing(context, explained)
    const receipt = order.receipt_url
    return [
      line,
      ...(missingAmount === undefined ? [] : [missingAmount]),
      ...(receipt == null
        ? []
        : [context.localize({ en: `Receipt: ${sanitizeLine(receipt)}`, zh: `收据：${sanitizeLine(receipt)}` })]),
    ].join('\n')
  })
}
