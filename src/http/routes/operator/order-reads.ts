/** Orders and subscriptions for operators. */
import type { ResponseOf } from '../../../api/endpoint.ts'
import { inspectOrder, listMemberSubscriptions, searchOrders } from '../../../api/operator/orders.ts'
import type { Order } from '../../../domain/billing/order.ts'
import { formatInstant } from '../../../domain/instant.ts'
import { GatewayError } from '../../../errors.ts'
import type { Services } from '../../../services/services.ts'
import type { ServeOperatorEndpoint } from '../../operator-endpoint.ts'
import { requireAccount } from '../../../services/member-administration.ts'
import { toPage } from './to-page.ts'

export function mountOrderReads(serve: ServeOperatorEndpoint, services: Services): void {
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
    const order = (await store.orders.find(id)) ?? (await store.orders.findByNumber(id))
    if (order === undefined) throw new GatewayError('not_found')
    const steps = (await store.orders.listSteps(order.id)).map(({ at, kind, by, facts }) => ({
      at: formatInstant(at),
      kind,
      by,
      facts: { ...facts },
    }))
    return { ...toOrder(order), steps }
  })

  serve(listMemberSubscriptions, async ({ params: { id } }) => {
    const { id: account } = await requireAccount(id, services)
    const data = (await store.subscriptions.list(account, { includeEnded: true })).map((subscription) => ({
      id: subscription.id,
      plan: subscription.terms.plan.id,
      terms: subscription.terms.id,
      source: subscription.source,
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
