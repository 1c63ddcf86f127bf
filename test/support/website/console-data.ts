/** Full lists for each page of the console, with the longest names that it may show. */
import { unknownReader } from '../../../src/domain/identity/reader.ts'
import { DemoProvider } from '../../../src/payments/demo/demo-provider.ts'
import { createCodes } from '../../../src/domain/services/redeem-code-service.ts'
import type { TestOperator } from '../gateway/operators.ts'
import type { TestGateway } from '../gateway/test-gateway.ts'
import { WebsiteClient } from '../gateway/website-client.ts'
import { reserveHold } from '../store/contract/store-contract.ts'

/** One more than a page shows. */
const rowsOfList = 51

/** A name that would be markup, and does not end its line by itself. */
const hostileName = `<img src=x onerror=alert(1)>${'x'.repeat(36)}`

/** Returns what stands for the parameter of a page's path, by the path. */
export async function fillConsole(gateway: TestGateway, owner: TestOperator): Promise<Readonly<Record<string, string>>> {
  const { services } = gateway
  const { membership, store, clock, ids } = services
  const { account } = (await new WebsiteClient(gateway).signIn('mei-with-a-rather-long-address@members.example.com')).body
  const member = await store.accounts.find(account.id)
  if (member === undefined) throw new Error('there is no member')
  const key = await membership.apiKeys.createUnaudited(member.id, hostileName.slice(0, 64), null)
  await gateway.chat(key?.token ?? '')
  gateway.demo.script(() => ({ status: 500 }))
  const turn = await createTurn(gateway, key?.token ?? '')
  gateway.demo.script()
  await fillLists(gateway, member.id)
  await membership.turnHistory.collect(90, { clock, signal: new AbortController().signal })
  const actor = { kind: 'session', account: owner.account, role: 'owner', session: 'ops_1', verifiedAt: clock.now() } as const
  const author = { actor, client: null, reason: `he wrote: ${hostileName}` }
  const { memberAdmin } = membership
  await memberAdmin.setPlan(member, { plan: 'pro', until: clock.now() + 30 * 86_400_000 }, author)
  const id = ids.next('adj_', clock.now())
  const correction = {
    id,
    pool: 'premium',
    credits: 1_234_567,
    expiresAt: clock.now() + 86_400_000,
    reason: author.reason,
  } as const
  await memberAdmin.adjustCredits(member, correction, author)
  const text = { en: `See https://status.example.com/${'x'.repeat(80)} ${hostileName}`, zh: '维护期间响应较慢。' }
  const now = clock.now()
  for (const [kind, startsAt] of [
    ['disturbance', now],
    ['maintenance', now + 3_600_000],
  ] as const) {
    const added = await membership.notices.add({ kind, text, startsAt, endsAt: now + 7_200_000 }, author)
    if (added.kind !== 'written') throw new Error(`a notice was refused: ${added.why}`)
  }
  await store.providerIdentities.link('acme', 'subject', member.id, clock.now())
  return {
    '/operator/members/:id': member.id,
    '/operator/turns/:id': turn,
    '/operator/routing/products/:id': 'svc-2.1',
    '/operator/routing/upstreams/:id': 'main',
    '/operator/money/codes/:id': await createCode(gateway),
    '/operator/orders/:id': (await createPaidOrder(gateway, member.id)).order.id,
  }
}

/** More members, orders and failed turns than a page of each list has. */
async function fillLists(gateway: TestGateway, account: string): Promise<void> {
  const { store, clock, ids, calendar } = gateway.services
  const at = clock.now()
  const periods = calendar.getPeriods(at)
  const plenty = { day: 1_000_000, week: 1_000_000, month: 1_000_000 }
  for (let nth = 1; nth <= rowsOfList; nth += 1) {
    const id = ids.next('acc_', at)
    const email = `member-${nth}-with-a-rather-long-address@a-department.of.members.example.com`
    await store.accounts.create({ id, email, plan: 'free', passwordHash: null, emailVerified: true, at })
    await createSentOrder(gateway, id)
    const model = `a-model-with-quite-a-long-name-${nth}`
    const requestId = `${'a-request-id-of-a-client-'.repeat(4)}${nth}`
    const hold = await reserveHold(store, { account, at, periods, limits: plenty, model, requestId })
    const target = `an-upstream-with-a-long-name/${model}`
    await store.ledger.refund({ hold: hold.id, at, code: 'upstream_unavailable', target, upstreamStatus: 503 })
  }
}

/** Returns the id of a code for credits. */
export async function createCode({ services }: TestGateway): Promise<string> {
  const { store, ids, clock } = services
  const order = { count: 1, maxUses: 3, expiresAt: null, batch: `spring.${'long-'.repeat(11)}` } as const
  const gift = { kind: 'credits', pool: 'premium', credits: 1_234_567, days: 30 } as const
  const [code] = await createCodes(store, ids, { ...order, gift }, clock.now())
  return code?.id ?? ''
}

/** Returns the id of a turn of this key that has ended. */
export async function createTurn(gateway: TestGateway, key: string): Promise<string> {
  await (await gateway.chat(key)).text()
  await gateway.waitUntilSettled()
  const [turn] = await gateway.listTurns()
  return String(turn?.id)
}

const monthOfPro = { kind: 'plan', plan: 'pro', interval: 'month' } as const
type Item = typeof monthOfPro | { readonly kind: 'pack'; readonly pack: string }

/** Paid at the demonstration, and granted. Returns the order and its provider, whose answers a test may replace. */
export async function createPaidOrder(gateway: TestGateway, account: string, item: Item = monthOfPro) {
  const { orders, paymentProviders } = gateway.services
  const provider = paymentProviders.get('demo')
  if (orders === null || !(provider instanceof DemoProvider)) throw new Error('nothing is sold')
  const id = await createSentOrder(gateway, account, item)
  await provider.choose(id, 'pay')
  const order = await orders.check(id, 'sweep')
  if (order?.state !== 'granted') throw new Error(`the order is ${order?.state}`)
  return { order, provider }
}

/** Needs `payments: { demo: true }`. Returns the id. */
export async function createSentOrder({ services }: TestGateway, account: string, item: Item = monthOfPro): Promise<string> {
  const buyer = await services.store.accounts.find(account)
  if (buyer === undefined || services.orders === null) throw new Error('there is no buyer, or nothing is sold')
  const requestId = services.ids.next('req_', services.clock.now())
  const request = { item, currency: 'USD', requestId, provider: 'demo', language: 'en' } as const
  const client = {
    ip: '127.0.0.1',
    network: '127.0.0.1',
    requestId: 'mbr_1',
    name: null,
    deviceTokens: null,
    reader: unknownReader,
  }
  const answer = await services.orders.create(buyer, request, client)
  if (answer.kind !== 'good') throw new Error(`no order: ${answer.reason}`)
  return answer.order.id
}
