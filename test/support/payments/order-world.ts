/** Orders on a store, with a clock that the test sets. */
import type { Account } from '../../../src/domain/identity/account.ts'
import type { Order } from '../../../src/domain/billing/orders/order.ts'
import type { PaymentProvider } from '../../../src/domain/billing/orders/payment-provider.ts'
import { createCalendar } from '../../../src/domain/billing/period.ts'
import type { Plan } from '../../../src/domain/billing/catalog/plan.ts'
import type { BoostClaim } from '../../../src/domain/billing/boost.ts'
import type { PackOffer } from '../../../src/domain/services/orders/order-answers.ts'
import { OrderService } from '../../../src/domain/services/orders/order-service.ts'
import type { OrderServiceDeps } from '../../../src/domain/services/orders/order-service.ts'
import { SubscriptionService } from '../../../src/domain/services/subscription-service.ts'
import type { Store } from '../../../src/domain/store.ts'
import { guardProvider } from '../../../src/payments/guard-provider.ts'
import { createPlan } from '../gateway/test-plans.ts'

export interface OrderWorld {
  readonly orders: OrderService
  readonly subscriptions: SubscriptionService
  readonly account: Account
  readonly audited: unknown[][]
}

interface WorldOptions {
  readonly store: Omit<Store, 'backup' | 'close' | 'dailyUsage'>
  readonly time: { now: number }
  readonly providers: readonly PaymentProvider[]
  readonly account: Account
  readonly plans?: Readonly<Record<string, Plan>>
  readonly ids?: { next(prefix: string, now: number): string }
  readonly wasAnnounced?: OrderServiceDeps['wasAnnounced']
  readonly timeZone?: string
}

const price = (amount: number, interval: 'month' | 'year' = 'month') => ({ amount, currency: 'EUR', interval, multiplier: null })

export const salePlans = {
  free: createPlan('free', 1, { prices: [price(0)] }),
  pro: createPlan('pro', 10, { prices: [price(30), price(300, 'year')] }),
  max: createPlan('max', 100, { prices: [price(90), price(900, 'year')] }),
}

export const salePacks: readonly PackOffer[] = [
  { id: 'small', pool: 'premium', credits: 1_000, days: 30, prices: [{ amount: 1_000, currency: 'EUR' }] },
  { id: 'endless', pool: 'fast', credits: 500, days: null, prices: [{ amount: 700, currency: 'JPY' }] },
]

let lastId = 0
/** Sortable by time, as those of the gateway. */
export const worldIds = {
  next: (prefix: string, now: number) =>
    `${prefix}${now.toString(36).padStart(10, '0')}${String((lastId += 1)).padStart(16, '0')}`,
}

export function createOrderWorld(options: WorldOptions): OrderWorld {
  const { store, time, account, plans = salePlans, ids = worldIds, wasAnnounced = async () => false } = options
  const audited: unknown[][] = []
  const clock = { now: () => time.now, within: <T>(_ms: number, promise: Promise<T>) => promise }
  const calendar = createCalendar(options.timeZone ?? 'UTC')
  const shared = {
    store,
    plans,
    defaultPlan: 'free',
    calendar,
    clock,
    ids,
    writeAudit: async (...record: unknown[]) => void audited.push(record),
    onCredentialsChanged: () => undefined,
  }
  const subscriptions = new SubscriptionService(shared)
  const orders = new OrderService({
    ...shared,
    subscriptions,
    boosts: {
      async deliver(claim: BoostClaim) {
        const pack = await store.ledger.grant(claim)
        await store.boosts.markDelivered(claim.id)
        return pack
      },
    },
    ledger: store.ledger,
    packs: salePacks,
    providers: new Map(
      options.providers.map((provider) => [
        provider.name,
        guardProvider(provider, { clock, setting: `payments.providers.${provider.name}` }),
      ]),
    ),
    getSite: () => 'https://gateway.example',
    wasAnnounced,
  })
  return { orders, subscriptions, account, audited }
}

let requests = 0

/** A request for a plan such as `pro/month`, or for a pack. */
export function createRequest(
  what: string,
  change: { readonly provider?: string; readonly currency?: string; readonly requestId?: string } = {},
) {
  const [id = '', interval] = what.split('/')
  const item =
    interval === undefined
      ? ({ kind: 'pack', pack: id } as const)
      : ({ kind: 'plan', plan: id, interval: interval === 'year' ? 'year' : 'month' } as const)
  return { requestId: `request-${(requests += 1)}`, item, currency: 'EUR', language: 'en' as const, ...change }
}

export const testClient = { network: '192.0.2.0/24', ip: '192.0.2.1', requestId: 'mbr_1' } as Parameters<
  OrderService['create']
>[2]

/** @throws where the order was refused */
export async function placeOrder(
  world: OrderWorld,
  what: string,
  change: Parameters<typeof createRequest>[1] = {},
): Promise<Order> {
  const answer = await world.orders.create(world.account, createRequest(what, change), testClient)
  if (answer.kind === 'refused') throw new Error(`refused: ${answer.reason}`)
  return answer.order
}
