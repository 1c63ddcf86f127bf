/**
 * One history of orders: members pay late, twice or too little, notifications are lost, doubled, late and forged, the provider fails, and the
 * process is killed between any two of its steps. One seed is one history; what must be true is checked at its end.
 */
import type { Order } from '../../../src/domain/billing/orders/order.ts'
import { PaymentProviderError } from '../../../src/domain/billing/orders/payment-provider.ts'
import type { Account } from '../../../src/domain/identity/account.ts'
import { deliverClaim } from '../../../src/domain/services/boost-service.ts'
import { PurchaseMailService } from '../../../src/domain/services/orders/purchase-mail-service.ts'
import { verifyBooks } from '../../../src/domain/services/orders/verify-books.ts'
import type { Store } from '../../../src/domain/store.ts'
import { createOrderWorld, createRequest, salePlans, testClient } from '../../support/payments/order-world.ts'
import type { OrderWorld } from '../../support/payments/order-world.ts'
import { PaymentProviderStandIn } from '../../support/payments/payment-provider-stand-in.ts'
import { createRandom } from '../random.ts'
import type { Random } from '../random.ts'

type HistoryStore = Omit<Store, 'backup' | 'close' | 'dailyUsage'>

export interface OrderHistoryOptions {
  readonly seed: number
  readonly orders: number
  readonly accounts: readonly Account[]
  readonly begin: number
  /** The store as each node has it. */
  readonly openNodes: () => Promise<readonly HistoryStore[]>
  /** Called after some of the kills: the stores are closed, and opened again with `openNodes`. */
  readonly closeNodes: () => Promise<void>
}

export interface OrderHistory {
  readonly faults: readonly string[]
  readonly counts: Readonly<Record<string, number>>
}

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000]
/** When orders are created, when the last provider's charge is, and when everything is asked about. */
const [orderingMs, chargingMs, endMs] = [10 * dayMs, 45 * dayMs, 60 * dayMs]
const killsPerOpening = 12

class Killed extends Error {}

/** A node that can die: from then on none of its calls reaches the store. */
interface Node {
  readonly world: (account: Account) => OrderWorld
  readonly store: HistoryStore
  isDead: boolean
}

export async function runOrderHistory(options: OrderHistoryOptions): Promise<OrderHistory> {
  return new Run(options).run()
}

class Run {
  readonly #options: OrderHistoryOptions
  readonly #random: Random
  readonly #provider = new PaymentProviderStandIn()
  readonly #time: { now: number }
  /** What happens when; the calls of one instant in the order in which they were added. */
  readonly #events: { at: number; run: (node: Node) => Promise<void> }[] = []
  readonly #counts: Record<string, number> = {
    kills: 0,
    openings: 0,
    notifications: 0,
    lost: 0,
    forged: 0,
    refunds: 0,
    renewals: 0,
  }
  readonly #faults: string[] = []
  /** Of each order the kinds of its emails, in the order of sending. */
  readonly #emails = new Map<string, string[]>()
  #stores: readonly HistoryStore[] = []
  #nodes: Node[] = []
  #isDisturbed = true

  constructor(options: OrderHistoryOptions) {
    this.#options = options
    this.#random = createRandom(options.seed)
    this.#time = { now: options.begin }
  }

  async run(): Promise<OrderHistory> {
    const { orders, begin, openNodes } = this.#options
    this.#stores = await openNodes()
    this.#nodes = this.#stores.map((store) => this.#createNode(store))
    this.#provider.beforeAnswer = () => {
      if (this.#isDisturbed && this.#random.isOne(0.08)) throw new PaymentProviderError('unavailable', 'no answer')
    }
    for (let index = 0; index < orders; index++) this.#at(begin + this.#random.below(orderingMs), (node) => this.#order(node))
    for (let at = begin; at < begin + endMs; at += 8 * hourMs) this.#at(at, (node) => this.#sweep(node))
    for (;;) {
      // The earliest; an event adds others.
      this.#events.sort((one, other) => one.at - other.at)
      const event = this.#events.shift()
      if (event === undefined) break
      this.#time.now = Math.max(this.#time.now, event.at)
      this.#isDisturbed = event.at < begin + chargingMs + 5 * dayMs
      await this.#runEvent(event.run)
    }
    await this.#check()
    return { faults: this.#faults, counts: this.#counts }
  }

  #at(at: number, run: (node: Node) => Promise<void>): void {
    this.#events.push({ at, run })
  }

  /** On any node; a node that dies within it is started again. */
  async #runEvent(run: (node: Node) => Promise<void>): Promise<void> {
    const index = this.#random.below(this.#nodes.length)
    const node = this.#nodes[index]
    if (node === undefined) throw new Error('there is no node')
    await run(node).catch((error: unknown) => {
      if (!node.isDead) throw error
    })
    if (!node.isDead) return
    this.#count('kills')
    if ((this.#counts['kills'] ?? 0) % killsPerOpening === 0) {
      await this.#options.closeNodes()
      this.#stores = await this.#options.openNodes()
      this.#nodes = this.#stores.map((store) => this.#createNode(store))
      this.#count('openings')
    } else this.#nodes[index] = this.#createNode(this.#stores[index] ?? node.store)
  }

  #createNode(store: HistoryStore): Node {
    const node: Node = { isDead: false, store: this.#makeMortal(store, () => node), world: (account) => create(account) }
    const create = (account: Account) =>
      createOrderWorld({ store: node.store, time: this.#time, providers: [this.#provider], account })
    return node
  }

  /** Each call of the store may be the last one: before it has any effect, or after it. */
  #makeMortal(store: HistoryStore, getNode: () => Node): HistoryStore {
    const wrap = (part: object): object =>
      new Proxy(part, {
        get: (target, key) => {
          const value: unknown = Reflect.get(target, key, target)
          if (typeof value !== 'function') return value
          return (...args: unknown[]) => {
            const die = (): never => {
              getNode().isDead = true
              throw new Killed()
            }
            if (getNode().isDead) die()
            const isWrite = /^(?:create|change|grant|changePack|markDelivered|ensureTerms)$/.test(String(key))
            const fate = this.#isDisturbed && isWrite ? this.#random.number() : 1
            if (fate < 0.01) die()
            const result: unknown = Reflect.apply(value, target, args)
            return result instanceof Promise && fate < 0.02 ? result.then(die) : result
          }
        },
      })
    const parts = {
      orders: wrap(store.orders),
      subscriptions: wrap(store.subscriptions),
      boosts: wrap(store.boosts),
      ledger: wrap(store.ledger),
    }
    return Object.assign(Object.create(store) as HistoryStore, parts)
  }

  async #order(node: Node): Promise<void> {
    const account = this.#random.choose(this.#options.accounts)
    const what = this.#random.choose(['small', 'small', 'small', 'pro/month', 'max/month', 'pro/year'])
    const request = createRequest(what)
    this.#provider.changePrice = { amount: 1 + this.#random.below(9_000), currency: 'EUR' }
    const answer = await node
      .world(account)
      .orders.create(account, request, testClient)
      .catch((error: unknown) => {
        // The member repeats a request that had no answer.
        this.#at(this.#time.now + minuteMs, async (other) =>
          this.#follow(await other.world(account).orders.create(account, request, testClient), account),
        )
        throw error
      })
    // A second click.
    if (this.#random.isOne(0.2)) await node.world(account).orders.create(account, request, testClient)
    this.#follow(answer, account)
  }

  /** What the member does with an order. */
  #follow(answer: Awaited<ReturnType<OrderWorld['orders']['create']>>, account: Account): void {
    if (answer.kind === 'refused') return this.#count(`refused ${answer.reason}`)
    this.#count('orders')
    const { id } = answer.order
    const fate = this.#random.number()
    if (fate < 0.15) return
    const delay = this.#random.isOne(0.1) ? this.#random.below(40 * hourMs) : this.#random.below(20 * minuteMs)
    if (fate < 0.22)
      return this.#at(this.#time.now + delay, async (node) => void (await node.world(account).orders.cancel(id, 'member')))
    const money = fate < 0.27 ? { amount: this.#random.below(900), currency: 'EUR' } : undefined
    this.#at(this.#time.now + delay, async (node) => {
      const payment = this.#provider.payments.get(id)
      if (payment === undefined) return
      this.#provider.pay(id, money)
      if (payment.state !== 'paid') return
      this.#notify([{ kind: 'order', order: id }])
      if (payment.subscription !== null) this.#charge(payment.subscription)
      if (this.#random.isOne(0.05))
        this.#at(this.#time.now + this.#random.below(5 * dayMs), (other) => this.#refund(other, account, id))
      if (this.#random.isOne(0.3)) await node.world(account).orders.check(id, 'return')
    })
  }

  /** Lost, doubled and late ones, and some of others' making. */
  #notify(hints: readonly unknown[]): void {
    this.#count('notifications')
    if (this.#random.isOne(0.3)) return this.#count('lost')
    for (let copies = 1 + this.#random.below(3); copies > 0; copies--)
      this.#at(this.#time.now + this.#random.below(this.#random.isOne(0.3) ? 9 * hourMs : minuteMs), async ({ world }) => {
        const isForged = this.#random.isOne(0.05)
        if (isForged) this.#count('forged')
        const [account] = this.#options.accounts
        if (account !== undefined)
          await world(account).orders.receive(
            'stand-in',
            this.#provider.signNotification(hints, this.#time.now, isForged ? 'forged' : 'right'),
          )
      })
  }

  /** A renewal each month, about an hour after the end. */
  #charge(reference: string): void {
    const at = this.#time.now + 31 * dayMs + this.#random.below(2 * hourMs)
    if (at > this.#options.begin + chargingMs) return
    this.#at(at, async () => {
      const subscription = this.#provider.getSubscription(reference)
      if (subscription.state !== 'active' && subscription.state !== 'past_due') return
      if (this.#random.isOne(0.15)) {
        subscription.state = 'past_due'
        this.#at(this.#time.now + this.#random.below(3 * dayMs), async () => {
          if (subscription.state === 'past_due') this.#provider.renew(reference, this.#time.now)
        })
      } else this.#provider.renew(reference, this.#time.now)
      this.#notify([{ kind: 'subscription', reference }])
      this.#charge(reference)
    })
  }

  async #refund(node: Node, account: Account, id: string): Promise<void> {
    this.#provider.refundState = this.#random.choose(['done', 'done', 'pending', 'failed'])
    this.#count('refunds')
    await node.world(account).orders.refund(id, { reason: 'asked' })
    this.#provider.refundState = 'done'
  }

  async #sweep({ store, world }: Node): Promise<void> {
    const [account] = this.#options.accounts
    if (account === undefined) return
    const { orders, subscriptions } = world(account)
    await orders.sweep()
    for (const claim of await store.boosts.listUndelivered(this.#time.now - 10_000, 100)) await deliverClaim(store, claim)
    await subscriptions.advanceDue()
    await this.#createMail(store).sendDue(new AbortController().signal)
  }

  #createMail(store: HistoryStore): PurchaseMailService {
    return new PurchaseMailService({
      store,
      plans: { plans: salePlans, defaultPlan: 'free' },
      clock: { now: () => this.#time.now },
      secret: new Uint8Array(32),
      timeZone: 'UTC',
      mailer: {
        deliverPurchaseEmail: async (_recipient, email) => {
          if (this.#isDisturbed && this.#random.isOne(0.1)) return 'unavailable'
          if (email.kind !== 'receipt' && email.kind !== 'refunded') return 'rejected'
          this.#count(`email ${email.kind}`)
          const { id } = email.order
          this.#emails.set(id, [...(this.#emails.get(id) ?? []), email.kind])
          return 'sent'
        },
      },
    })
  }

  async #check(): Promise<void> {
    const [store] = this.#stores
    if (store === undefined) return
    const { mismatches } = await verifyBooks(store)
    for (const { rule, account, detail } of mismatches) this.#faults.push(`${account}: ${rule}: ${detail}`)
    const all: Order[] = []
    for (let before: string | undefined; ;) {
      const page = await store.orders.list({ limit: 500, ...(before === undefined ? {} : { before }) })
      all.push(...page)
      before = page.at(-1)?.id
      if (before === undefined) break
    }
    for (const order of all) await this.#checkOrder(store, order)
    const invoices = [...this.#provider.providerSubscriptions.values()].flatMap((each) => each.invoices)
    this.#counts['renewals'] = invoices.length
    for (const { reference } of invoices)
      if (all.filter((order) => order.reference === reference && order.paidAt !== null).length !== 1)
        this.#faults.push(`the invoice ${reference} has no order, or several`)
    for (const { order, state } of this.#provider.payments.values())
      if (state === 'paid' && !all.some(({ id }) => id === order)) this.#faults.push(`${order} is paid and not stored`)
    if ((await store.boosts.listUndelivered(Number.MAX_SAFE_INTEGER, 1)).length > 0) this.#faults.push('a pack is not delivered')
  }

  async #checkOrder(store: HistoryStore, order: Order): Promise<void> {
    this.#count(`state ${order.state}${order.problem === null ? '' : ` (${order.problem})`}`)
    const payment = this.#provider.payments.get(order.id)
    const fault = (what: string) => this.#faults.push(`${order.id} (${order.state}, ${order.event}): ${what}`)
    const steps = await store.orders.listSteps(order.id)
    const grants = steps.filter(({ kind }) => kind === 'granted').length
    if (grants > 1) fault('it was granted twice')
    const refunds = steps.filter(({ kind }) => kind === 'refunded' || kind === 'refunded_at_provider').length
    const emails = (this.#emails.get(order.id) ?? []).toSorted()
    const expected = [...Array.from({ length: grants }, () => 'receipt'), ...Array.from({ length: refunds }, () => 'refunded')]
    if (emails.join() !== expected.toSorted().join()) fault(`its emails were: ${emails.join()}`)
    if (order.event === 'renewal' && payment === undefined) {
      if (grants !== 1) fault('a paid invoice is not granted')
      return
    }
    const isPaid = payment?.state === 'paid'
    const isEnough = isPaid && payment.paid !== null && payment.paid.amount >= order.due.amount
    if (grants > 0 && !isEnough) fault('it was granted without its money')
    if (isPaid && order.paidAt === null) fault('its money was not seen')
    if (isEnough && grants === 0 && order.problem === null && order.state !== 'refunded') fault('it was paid and is not granted')
    if (order.state === 'created' || order.state === 'refunding') fault('it is left open')
    if (order.refunded !== (payment?.refunded ?? 0)) fault(`refunded ${order.refunded}, at the provider ${payment?.refunded}`)
    if (order.pack === null) return
    const pack = await store.ledger.findPack(order.account, order.pack)
    const taken = order.state === 'refunded' ? 1_000 : 0
    if (pack?.granted !== 1_000 || pack.settled !== taken) fault(`its pack has ${pack?.granted} credits, ${pack?.settled} spent`)
  }

  #count(what: string): void {
    this.#counts[what] = (this.#counts[what] ?? 0) + 1
  }
}
