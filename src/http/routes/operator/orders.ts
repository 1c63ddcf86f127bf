/** Orders and subscriptions for operators, and refunds. */
import type { ResponseOf } from '../../../api/endpoint.ts'
import {
  inspectOrder,
  listMemberSubscriptions,
  refundOrder as refundOrderEndpoint,
  searchOrders,
} from '../../../api/operator/orders.ts'
import type { Order } from '../../../domain/billing/orders/order.ts'
import { formatInstant } from '../../../domain/instant.ts'
import { GatewayError } from '../../../errors.ts'
import type { Services } from '../../../services/services.ts'
import type { ServeOperatorEndpoint } from '../../operator-endpoint.ts'
import { requireAccount } from '../../../services/member-administration.ts'
import { quoteRefund, refundOrder } from '../../../services/order-refunds.ts'
import { toPage } from './to-page.ts'

export function mountOrders(serve: ServeOperatorEndpoint, services: Services): void {
  const { store } = services

  serve(searchOrders, async ({ query: { member, state, provider, cursor, limit } }) => {
    const orders = await store.orders.list({
      limit: limit + 1,
      ...(member === undefined ? {} : { account: (await store.accounts.find(member))?.id ?? member }),
      ...(state === undefined ? {} : { states: [state] }),
      ...(provider === undefined ? {} : { provider }),
      ...(cursor === undefined ? {} : { before: cursor }),
    })
    return toPage(orders.map(toOrder), limit)
  })

  serve(inspectOrder, async ({ params: { id } }) => {
    const order = await requireOrder(id, services)
    const steps = (await store.orders.listSteps(order.id)).map(({ at, kind, by, facts }) => ({
      at: formatInstant(at),
      kind,
      by,
      facts: { ...facts },
    }))
    const quote = await quoteRefund(order, services)
    const refundable = quote && {
      max: { ...quote.max },
      unspent_credits: quote.unspentCredits,
      ends_plan: quote.endsPlan,
      by_hand: quote.isByHand,
    }
    return { ...toOrder(order), steps, refundable }
  })

  serve(refundOrderEndpoint, async ({ params: { id }, body: { amount, reason }, author }) => {
    const request = { reason, ...(amount === undefined ? {} : { amount }) }
    const outcome = await refundOrder(await requireOrder(id, services), request, author, services)
    const byHand = outcome.kind === 'done' && outcome.byHand
    return { outcome: outcome.kind, by_hand: byHand, order: toOrder(outcome.order) }
  })

  serve(listMemberSubscriptions, async ({ params: { id } }) => {
    const { id: account } = await requireAccount(id, services)
    const data = (await store.subscriptions.list(account, { includeEnded: true })).map((subscription) => ({
      id: subscription.id,
      plan: subscription.terms.plan.id,
      terms: subscription.terms.id,
      source: subscription.source,
      provider: subscription.provider,
      order: subscription.order,
      renewal: subscription.renewal,
      state: subscription.state,
      starts_at: formatInstant(subscription.startsAt),
      ends_at: formatInstant(subscription.endsAt),
      created_at: formatInstant(subscription.createdAt),
      ended_at: formatInstant(subscription.endedAt),
    }))
    return { object: 'list', data }
  })
}

/** By id or number. @throws GatewayError `not_found` */
async function requireOrder(id: string, { store }: Pick<Services, 'store'>): Promise<Order> {
  const order = (await store.orders.find(id)) ?? (await store.orders.findByNumber(id))
  if (order === undefined) throw new GatewayError('not_found')
  return order
}

function toOrder(order: Order): ResponseOf<typeof searchOrders>['data'][number] {
  const { item } = order
  return {
    id: order.id,
    number: order.number,
    member: order.account,
    state: order.state,
    item: {
      kind: item.kind,
      plan: item.kind === 'plan' ? item.terms.plan.id : null,
      pack: item.kind === 'pack' ? item.pack : null,
    },
    due: { ...order.due },
    paid: order.paid && { ...order.paid },
    refunded: order.refunded,
    provider: order.provider,
    reference: order.reference,
    problem: order.problem,
    subscription: order.subscription,
    pack: order.pack,
    created_at: formatInstant(order.createdAt),
    paid_at: formatInstant(order.paidAt),
    granted_at: formatInstant(order.grantedAt),
    closed_at: formatInstant(order.closedAt),
  }
}
