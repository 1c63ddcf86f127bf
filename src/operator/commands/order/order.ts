/** `svc-gateway order …`: what members buy, and the money for it. */
import { formatMoney, parseMoney } from '../../../domain/billing/money.ts'
import type { Money } from '../../../domain/billing/money.ts'
import { orderStates } from '../../../domain/billing/orders/order.ts'
import type { Order, OrderItem, OrderState, OrderStep } from '../../../domain/billing/orders/order.ts'
import { formatInstant } from '../../../domain/instant.ts'
import type { OperatorAuthor } from '../../../domain/services/operators/operator-author.ts'
import { formatZone } from '../../../system/terminal/format-time.ts'
import { CommandError, requireAccount, withInstallation } from '../../installation.ts'
import type { Installation } from '../../installation.ts'
import { formatCellTime, formatMoment, formatTable, renderResult } from '../../output.ts'
import type { CommandResult, OutputOptions } from '../../output.ts'
import { parseWholeNumber } from '../boost.ts'
import { openOrders } from './open-orders.ts'
import type { OpenedOrders } from './open-orders.ts'

const maxListed = 10_000

export function listOrders(
  options: OutputOptions & { account?: string; state?: string; provider?: string; before?: string; limit: string },
): Promise<CommandResult> {
  return withInstallation(async (installation) => {
    const { store, clock } = installation
    const { state, provider, before } = options
    const limit = parseWholeNumber('--limit', options.limit)
    if (limit > maxListed) throw new CommandError(`--limit must be at most ${maxListed}; --before has the next page.`)
    const states = state === undefined ? undefined : state.split(',').map(parseState)
    const orders = await store.orders.list({
      limit,
      ...(options.account === undefined ? {} : { account: (await requireAccount(installation, options.account)).id }),
      ...(states === undefined ? {} : { states }),
      ...(provider === undefined ? {} : { provider }),
      ...(before === undefined ? {} : { before: (await requireOrder(installation, before)).id }),
    })
    const now = clock.now()
    return renderResult(options, { object: 'list', data: orders.map(toRecord) }, () =>
      formatTable(
        ['order', 'state', 'for', 'account', 'due', 'paid', 'provider', `created (${formatZone(now)})`],
        orders.map((order) => [
          order.number,
          describeState(order),
          describeItem(order.item),
          order.account,
          formatMoney(order.due),
          order.paid === null ? null : formatMoney(order.paid),
          order.provider,
          formatCellTime(order.createdAt, now),
        ]),
      ),
    )
  })
}

function parseState(text: string): OrderState {
  const state = orderStates.find((each) => each === text)
  if (state === undefined) throw new CommandError(`--state must be one of ${orderStates.join(', ')}, not '${text}'.`)
  return state
}

export function showOrder(idOrNumber: string, options: OutputOptions): Promise<CommandResult> {
  return withInstallation(async (installation) => {
    const order = await requireOrder(installation, idOrNumber)
    const steps = await installation.store.orders.listSteps(order.id)
    const now = installation.clock.now()
    return renderResult(options, { ...toRecord(order), steps: steps.map(toStepRecord) }, () =>
      [describeOrder(order, now), '', formatSteps(steps, now)].join('\n'),
    )
  })
}

/** Says what is missing, and which setting cures it. */
export function explainOrder(idOrNumber: string, options: OutputOptions): Promise<CommandResult> {
  return withOrders(async (installation, { orders }) => {
    const { id } = await requireOrder(installation, idOrNumber)
    const explanation = await orders.explain(id)
    if (explanation === undefined) throw new CommandError(`There is no order '${idOrNumber}'.`)
    const { order, steps, findings } = explanation
    const now = installation.clock.now()
    return renderResult(options, { ...toRecord(order), steps: steps.map(toStepRecord), findings }, () =>
      [
        describeOrder(order, now),
        '',
        formatSteps(steps, now),
        '',
        ...(findings.length === 0 ? ['Nothing is missing.'] : findings.map(({ operator }) => `- ${operator}`)),
      ].join('\n'),
    )
  })
}

/** Asks the provider now. */
export function checkOrder(idOrNumber: string, options: OutputOptions): Promise<CommandResult> {
  return changeOrder(
    idOrNumber,
    options,
    async ({ orders }, order, author) => (await orders.check(order.id, 'operator', author)) ?? order,
  )
}

export function cancelOrder(idOrNumber: string, options: OutputOptions): Promise<CommandResult> {
  return changeOrder(idOrNumber, options, async ({ orders }, order, author) => {
    const cancelledOrder = (await orders.cancel(order.id, 'operator', author)) ?? order
    if (cancelledOrder.state === 'cancelled') return cancelledOrder
    throw new CommandError(`Order ${order.number} is ${describeState(cancelledOrder)}, so it cannot be cancelled.`)
  })
}

/** Records money that has arrived by hand. */
export function confirmOrder(
  idOrNumber: string,
  options: OutputOptions & { received: string; reference?: string },
): Promise<CommandResult> {
  const receivedMoney = parseAmount('--received', options.received)
  return changeOrder(idOrNumber, options, async ({ orders }, order, author) => {
    const isOpen = order.paidAt === null || order.problem === 'amount' || order.problem === 'currency'
    if (!isOpen) throw new CommandError(`Order ${order.number} is ${describeState(order)} already; nothing was changed.`)
    const confirmedOrder = (await orders.confirm(order.id, receivedMoney, options.reference, author)) ?? order
    if (confirmedOrder.paidAt === null && confirmedOrder.problem === null)
      throw new CommandError(
        `Order ${order.number} can still be paid at its provider (${order.provider}), which did not close it, so nothing was recorded. See: svc-gateway order explain ${order.number}`,
      )
    return confirmedOrder
  })
}

export function refundOrder(
  idOrNumber: string,
  options: OutputOptions & { amount?: string; reason: string },
): Promise<CommandResult> {
  const amount = options.amount === undefined ? null : parseAmount('--amount', options.amount)
  return withOrders(async (installation, opened) => {
    const order = await requireOrder(installation, idOrNumber)
    const quote = await opened.orders.quoteRefund(order.id)
    if (amount !== null && order.paid !== null && amount.currency !== order.paid.currency)
      throw new CommandError(`Order ${order.number} was paid in ${order.paid.currency}, not in ${amount.currency}.`)
    const request = { reason: options.reason, ...(amount === null ? {} : { amount: amount.amount }) }
    const answer = await opened.orders.refund(order.id, request, installation.createAuthor(options.reason))
    const emails = await opened.sendEmails(order.id)
    if (answer.kind === 'refused') throw new CommandError(describeRefusal(order, answer.reason, quote?.max))
    const refundedOrder = answer.order
    const refundedText = formatMoney({
      amount: refundedOrder.refund?.amount ?? refundedOrder.refunded,
      currency: (refundedOrder.paid ?? refundedOrder.due).currency,
    })
    const endedPlanNote =
      quote?.endsPlan === true && refundedOrder.state === 'refunded' ? ' The plan of the order has ended.' : ''
    const sentence = {
      done: `${refundedText} of order ${order.number} ${answer.kind === 'done' && answer.byHand ? 'are recorded as refunded: send the money to the member yourself' : 'were refunded'}.${endedPlanNote}`,
      started: `The refund of ${refundedText} of order ${order.number} was started; the provider is asked until it is final.`,
      failed: `The refund of order ${order.number} failed; what was locked is the member's again. See: svc-gateway order show ${order.number}`,
    }[answer.kind]
    return renderResult(
      options,
      { ok: answer.kind !== 'failed', ...toRecord(refundedOrder) },
      () => [sentence, ...emails].join('\n'),
      answer.kind !== 'failed',
    )
  })
}

function describeRefusal({ number }: Order, reason: string, max: Money | undefined): string {
  switch (reason) {
    case 'too_much':
      return `At most ${max === undefined ? 'nothing' : formatMoney(max)} of order ${number} can be refunded: the rest was refunded, spent, or is held by running turns.`
    case 'nothing_left':
      return `Nothing of order ${number} can be refunded: its credits were spent, or it was refunded.`
    case 'running':
      return `A refund of order ${number} runs already. See: svc-gateway order explain ${number}`
    case 'over_daily_limit':
    case 'spent':
      return `Credits of order ${number} were spent while it was being refunded, so nothing was refunded; try again.`
    default:
      return `Order ${number} is not paid, so there is nothing to refund.`
  }
}

function changeOrder(
  idOrNumber: string,
  options: OutputOptions,
  change: (opened: OpenedOrders, order: Order, author: OperatorAuthor) => Promise<Order>,
): Promise<CommandResult> {
  return withOrders(async (installation, opened) => {
    const order = await change(opened, await requireOrder(installation, idOrNumber), installation.createAuthor())
    const emails = await opened.sendEmails(order.id)
    const explanation = await opened.orders.explain(order.id)
    const now = installation.clock.now()
    return renderResult(options, { ...toRecord(order), findings: explanation?.findings ?? [] }, () =>
      [describeOrder(order, now), ...(explanation?.findings ?? []).map(({ operator }) => `- ${operator}`), ...emails].join('\n'),
    )
  })
}

function withOrders(work: (installation: Installation, opened: OpenedOrders) => Promise<CommandResult>): Promise<CommandResult> {
  return withInstallation(async (installation) => work(installation, await openOrders(installation)))
}

/** @throws CommandError */
async function requireOrder({ store }: Installation, idOrNumber: string): Promise<Order> {
  const order = (await store.orders.find(idOrNumber)) ?? (await store.orders.findByNumber(idOrNumber))
  if (order === undefined) throw new CommandError(`There is no order '${idOrNumber}'. See: svc-gateway order list`)
  return order
}

/** @throws CommandError */
function parseAmount(option: string, text: string): Money {
  const money = parseMoney(text)
  if (money === undefined)
    throw new CommandError(`${option} must be an amount with its currency, such as 12.00EUR, not '${text}'.`)
  return money
}

function describeOrder(order: Order, now: number): string {
  const paidText = order.paid === null ? '' : `, ${formatMoney(order.paid)} paid`
  const refundedText =
    order.refunded === 0
      ? ''
      : `, ${formatMoney({ amount: order.refunded, currency: (order.paid ?? order.due).currency })} refunded`
  return `Order ${order.number} (${order.id}) of ${order.account} for ${describeItem(order.item)} by ${order.provider}: ${describeState(order)}, ${formatMoney(order.due)} due${paidText}${refundedText}; created ${formatMoment(order.createdAt, now)}.`
}

function describeState({ state, problem }: Order): string {
  return problem === null ? state : `${state} (${problem})`
}

function describeItem(item: OrderItem): string {
  return item.kind === 'plan' ? `${item.terms.id} for a ${item.interval}` : `pack ${item.pack}`
}

function formatSteps(steps: readonly OrderStep[], now: number): string {
  return formatTable(
    [`at (${formatZone(now)})`, 'step', 'by', 'facts'],
    steps.map(({ at, kind, by, facts }) => [
      formatCellTime(at, now),
      kind,
      by,
      Object.entries(facts)
        .map(([name, value]) => `${name}=${value}`)
        .join(' ') || null,
    ]),
  )
}

function toStepRecord({ at, kind, by, facts }: OrderStep): Record<string, unknown> {
  return { at: formatInstant(at), kind, by, facts }
}

function toRecord(order: Order): Record<string, unknown> {
  const { item } = order
  return {
    id: order.id,
    number: order.number,
    account: order.account,
    item:
      item.kind === 'plan'
        ? { kind: 'plan', plan: item.terms.plan.id, terms: item.terms.id, interval: item.interval }
        : { kind: 'pack', pack: item.pack, pool: item.pool, credits: item.credits, days: item.days },
    event: order.event,
    state: order.state,
    problem: order.problem,
    currency: order.due.currency,
    price: order.price.amount,
    credit: order.credit,
    due: order.due.amount,
    paid: order.paid,
    refunded: order.refunded,
    provider: order.provider,
    reference: order.reference,
    payment: order.payment,
    renews: order.renews,
    subscription: order.subscription,
    pack: order.pack,
    failure: order.failure,
    buyer: order.buyer,
    created_at: formatInstant(order.createdAt),
    expires_at: formatInstant(order.expiresAt),
    paid_at: formatInstant(order.paidAt),
    granted_at: formatInstant(order.grantedAt),
    closed_at: formatInstant(order.closedAt),
  }
}
