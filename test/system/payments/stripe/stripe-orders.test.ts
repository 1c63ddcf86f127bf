/**
 * Orders of a whole gateway paid through the stand-in for Stripe, over HTTP: events come in random order, twice, hours late or never, forged
 * ones among them, and Stripe itself fails at times. One seed is one history.
 */
import t from 'tap'
import { verifyBooks } from '../../../../src/domain/services/orders/verify-books.ts'
import type { OrderServicePort } from '../../../../src/domain/services/orders/order-service-port.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'
import { startStripeServer, stripeKey, stripeWebhookSecret } from '../../../support/servers/stripe/stripe-server.ts'
import type { StripeEvent } from '../../../support/servers/stripe/stripe-objects.ts'
import { createRequest, testClient } from '../../../support/payments/order-world.ts'
import { SimulatedClock } from '../../../support/simulated-clock.ts'
import { dayMs, hourMs, startMs } from './stripe-test-provider.ts'

const accountCount = 12
const ordersPerAccount = 4
const stepMs = hourMs / 2
const lostShare = 0.3
const doubledShare = 0.2

/** Numbers of a seed, 0 ≤ n < 1. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

async function startShop(t: Parameters<typeof startGateway>[0]) {
  const clock = new SimulatedClock({ now: startMs, isLive: true })
  const stripe = await startStripeServer(t, clock.now)
  const providers = {
    stripe: { secretKey: stripeKey, webhookSecret: stripeWebhookSecret, endpoint: stripe.url },
  }
  const packs = [{ id: 'small', credits: 1_000, pool: 'premium' as const, prices: [{ amount: 5, currency: 'EUR' }], days: 365 }]
  const gateway = await startGateway(t, { packs, payments: { providers } }, { clock })
  const { orders } = gateway.services
  if (orders === null) throw new Error('nothing is sold')
  return { clock, stripe, gateway, orders }
}

async function placeOrders(gateway: TestGateway, orders: OrderServicePort): Promise<readonly string[]> {
  const ids: string[] = []
  for (let one = 0; one < accountCount; one++) {
    const { id } = await gateway.createAccount('free')
    const account = await gateway.services.store.accounts.find(id)
    if (account === undefined) throw new Error('the account is missing')
    for (let count = 0; count < ordersPerAccount; count++) {
      const answer = await orders.create(account, createRequest('small', { provider: 'stripe' }), testClient)
      if (answer.kind === 'refused') throw new Error(answer.reason)
      ids.push(answer.order.id)
    }
  }
  return ids
}

t.test('each paid order is granted once, and none that was not paid', async (t) => {
  const random = createRandom(7)
  const { clock, stripe, gateway, orders } = await startShop(t)
  stripe.fault = ({ method, path }) => {
    if (random() > 0.05) return undefined
    return method === 'POST' && path === 'checkout/sessions' ? 'lost' : { status: 503, body: 'rubbish' }
  }
  const ids = await placeOrders(gateway, orders)
  const notify = (signed: { readonly headers: Record<string, string>; readonly body: string }) =>
    fetch(`${gateway.url}/payments/stripe/notify`, { method: 'POST', headers: signed.headers, body: signed.body })
  const waiting: { readonly at: number; readonly event: StripeEvent }[] = []
  const paid = new Set<string>()
  let taken = 0
  let answered = 0
  for (let now = startMs; now < startMs + 2 * dayMs; now += stepMs) {
    for (const session of stripe.account.list('checkout.session')) {
      if (session['status'] !== 'open' || random() > 0.03 || session['expires_at'] * 1000 <= clock.now()) continue
      stripe.account.pay(session['id'])
      paid.add(session['client_reference_id'])
    }
    for (const event of stripe.account.events.slice(taken)) {
      if (random() < lostShare) continue
      waiting.push({ at: now + random() * 6 * hourMs, event })
      if (random() < doubledShare) waiting.push({ at: now + random() * 12 * hourMs, event })
    }
    taken = stripe.account.events.length
    const due = waiting.filter(({ at }) => at <= now).toSorted(() => random() - 0.5)
    for (const { event } of due) {
      waiting.splice(
        waiting.findIndex((each) => each.event === event && each.at <= now),
        1,
      )
      const { status } = await notify(stripe.account.sign(event))
      t.equal(status, 200, event.type)
      answered++
    }
    const forged = { id: 'evt_forged', type: 'checkout.session.completed', object: { object: 'checkout.session', id: 'cs_1' } }
    t.equal((await notify(stripe.account.sign(forged, { secret: 'whsec_other' }))).status, 400)
    await orders.sweep()
    clock.setNow(now + stepMs)
  }
  stripe.fault = () => undefined
  for (let times = 0; times < 8; times++) {
    clock.setNow(clock.now() + 6 * hourMs)
    await orders.sweep()
  }
  const states: Record<string, number> = {}
  for (const id of ids) {
    const order = await orders.find(null, id)
    states[order?.state ?? 'missing'] = (states[order?.state ?? 'missing'] ?? 0) + 1
    t.equal(order?.state, paid.has(id) ? 'granted' : 'expired', id)
    const grants = (await orders.listSteps(id)).filter(({ kind }) => kind === 'granted')
    t.equal(grants.length, paid.has(id) ? 1 : 0, id)
  }
  t.ok(paid.size > 20 && paid.size < ids.length && answered > 20, `${JSON.stringify(states)}, ${answered} events`)
  t.same((await verifyBooks(gateway.services.store)).mismatches, [])
  t.notMatch(gateway.log.join('\n'), /sk_test_51standin|whsec_standin/, 'no secret is in the log')
})
