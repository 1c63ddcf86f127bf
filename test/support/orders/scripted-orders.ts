/** Orders that answer as a test scripts them, for pages and endpoints; what providers and the ledger do is tested with the real service. */
import type { Order } from '../../../src/domain/billing/orders/order.ts'
import { toMoney } from '../../../src/domain/billing/money.ts'
import type { PaymentProvider } from '../../../src/domain/billing/orders/payment-provider.ts'
import type { Offer, OrderFinding, OrderRefusal, OrderRequest, Quote } from '../../../src/domain/services/orders/order-answers.ts'
import type { OrderServicePort } from '../../../src/domain/services/orders/order-service-port.ts'
import type { TestGateway } from '../gateway/test-gateway.ts'
import { createTestOrder } from './test-order.ts'

export interface OrderScript {
  refusal: OrderRefusal | null
  quote: Partial<Quote>
  /** What `create` makes different. */
  created: Partial<Order>
  /** What `check` makes of an order. */
  checked: Partial<Order>
  findings: readonly OrderFinding[]
  renewal: 'cancelled' | 'no_renewal' | 'unavailable'
  portal: string | null
  readonly orders: Order[]
  readonly calls: string[]
}

const unused = (): never => {
  throw new Error('the test scripts no such call')
}

/** Sells what the configuration has, by hand and by `demo`. */
export function sellByScript(gateway: TestGateway): OrderScript {
  const { config } = gateway.services
  const script: OrderScript = {
    refusal: null,
    quote: {},
    created: {},
    checked: {},
    findings: [],
    renewal: 'cancelled',
    portal: 'https://pay.example/portal',
    orders: [],
    calls: [],
  }
  const toQuote = ({ item, currency, provider = 'demo' }: OrderRequest): Quote => {
    const plan = item.kind === 'plan' ? config.plans[item.plan] : undefined
    const pack = item.kind === 'pack' ? config.packs.find(({ id }) => id === item.pack) : undefined
    const prices = plan?.prices ?? pack?.prices ?? []
    const money = toMoney(prices.find((each) => each.currency === currency)?.amount ?? 0, currency)
    return {
      item:
        plan !== undefined && item.kind === 'plan'
          ? { kind: 'plan', terms: { id: `${plan.id}@1`, version: 1, plan }, interval: item.interval }
          : pack !== undefined
            ? { kind: 'pack', pack: pack.id, pool: pack.pool, credits: pack.credits, days: pack.days }
            : createTestOrder().item,
      event: pack === undefined ? 'first' : 'pack',
      price: money,
      credit: 0,
      creditedDays: 0,
      formerSubscription: null,
      due: money,
      provider,
      startsAt: null,
      endsAt: gateway.services.clock.now() + 30 * 86_400_000,
      isWaiting: false,
      interrupts: null,
      renews: false,
      providerSubscription: null,
      ...script.quote,
    }
  }
  const put = (order: Order): Order => {
    const index = script.orders.findIndex(({ id }) => id === order.id)
    if (index < 0) script.orders.unshift(order)
    else script.orders[index] = order
    return order
  }
  const find = (id: string): Order | undefined => script.orders.find((order) => order.id === id)
  const orders: OrderServicePort = {
    listOffers: async () => [
      ...Object.values(config.plans).flatMap((plan) =>
        (['month', 'year'] as const).flatMap((interval): Offer[] => {
          const prices = plan.prices.filter((price) => price.interval === interval && price.amount > 0)
          const money = prices.map(({ amount, currency }) => toMoney(amount, currency))
          return money.length === 0
            ? []
            : [{ item: { kind: 'plan', plan, interval }, prices: money, event: 'first', refusal: script.refusal }]
        }),
      ),
      ...config.packs.map(({ id, pool, credits, days, prices }): Offer => {
        const money = prices.map(({ amount, currency }) => toMoney(amount, currency))
        return {
          item: { kind: 'pack', pack: { id, pool, credits, days, prices: money } },
          prices: money,
          event: 'pack',
          refusal: null,
        }
      }),
    ],
    quote: async (_account, request) =>
      script.refusal === null ? { kind: 'good', quote: toQuote(request) } : { kind: 'refused', reason: script.refusal },
    create: async (account, request) => {
      script.calls.push('create')
      if (script.refusal !== null) return { kind: 'refused', reason: script.refusal }
      const same = script.orders.find(({ requestId }) => requestId === request.requestId)
      if (same !== undefined) return { kind: 'good', order: same }
      const { item, event, price, credit, due, provider } = toQuote(request)
      const number = script.orders.length + 1
      const order = createTestOrder({
        id: `ord_${String(number).padStart(26, '0')}`,
        number: `2026-${String(number).padStart(6, '0')}`,
        account: account.id,
        requestId: request.requestId,
        language: request.language,
        item,
        event,
        price,
        credit,
        due,
        provider,
        ...script.created,
      })
      return { kind: 'good', order: put(order) }
    },
    list: async ({ account, before, limit }) =>
      script.orders.filter((order) => order.account === account && (before === undefined || order.id < before)).slice(0, limit),
    find: async (account, id) => {
      const order = find(id)
      return account === null || order?.account === account ? order : undefined
    },
    listSteps: unused,
    check: async (id, by) => {
      script.calls.push(`check by ${by}`)
      const order = find(id)
      return order && put({ ...order, ...script.checked })
    },
    cancel: async (id) => {
      const order = find(id)
      return order && put(order.paidAt === null ? { ...order, state: 'cancelled' } : order)
    },
    setBuyer: async (id, buyer) => {
      const order = find(id)
      return order && put({ ...order, buyer })
    },
    confirm: unused,
    quoteRefund: unused,
    refund: unused,
    receive: unused,
    cancelRenewal: async (account) => {
      script.calls.push(`cancel renewal of ${account}`)
      return script.renewal
    },
    openPortal: async () => script.portal,
    prepareDeletion: async () => true,
    explain: async (id) => {
      const order = find(id)
      const steps = [{ at: order?.createdAt ?? 0, kind: 'created', by: 'member', facts: {} }] as const
      return order && { order, steps, findings: script.findings }
    },
    sweep: unused,
  }
  const provider = (name: string, label: string, isConfirmedByHand: boolean): PaymentProvider => ({
    name,
    label: { en: label, zh: `${label}（中文）` },
    isConfirmedByHand,
    canRefund: false,
    create: unused,
    query: unused,
    cancel: unused,
    refund: unused,
    readNotification: unused,
  })
  const paymentProviders = new Map([
    ['demo', provider('demo', 'Demonstration', false)],
    ['manual', provider('manual', 'Bank transfer', true)],
  ])
  Object.assign(gateway.services, { orders, paymentProviders })
  return script
}
