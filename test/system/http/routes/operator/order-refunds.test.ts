/** Refunds by operators, from the page of the order and by API: once, as far as the key may, and told in words where the provider fails. */
import t from 'tap'
import type { Test } from 'tap'
import { PaymentProviderError } from '../../../../../src/domain/billing/orders/payment-provider.ts'
import { createOperator, createOperatorKey, openConsole, operatorApi } from '../../../../support/gateway/operators.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import type { WebsiteClient } from '../../../../support/gateway/website-client.ts'
import { createPaidOrder } from '../../../../support/website/console-data.ts'
import { readFormFields, sendForm } from '../../../../support/website/page-form.ts'

const packs = [{ id: 'small', credits: 1_000_000, pool: 'premium' as const, prices: [{ amount: 4, currency: 'USD' }] }]
const smallPack = { kind: 'pack', pack: 'small' } as const

async function open(t: Test) {
  const gateway = await startGateway(t, { payments: { demo: true }, packs })
  const owner = await createOperator(gateway, 'ann@example.com', 'finance')
  const console = await openConsole(gateway, owner)
  const { id: account } = await gateway.createAccount('free')
  const show = async (order: string) => (await console.get(`${gateway.url}/operator/orders/${order}`)).body as string
  const press = async (order: string, typed: Record<string, string>, page?: string) =>
    sendForm(
      console,
      `${gateway.url}/operator/orders/${order}`,
      readFormFields(page ?? (await show(order)), { action: 'refund' }),
      typed,
    )
  const listAudit = (event: 'order_refund_started' | 'order_refunded') =>
    gateway.services.store.audit.list({ account, event, limit: 10 })
  return { gateway, owner, console, account, show, press, listAudit }
}

t.test('a page shows what a refund gives and takes, and refunds once however often it is pressed', async (t) => {
  const { gateway, owner, account, show, press, listAudit } = await open(t)
  const { order } = await createPaidOrder(gateway, account, smallPack)
  const page = await show(order.id)
  t.match(page, /at most \$4\.00[^]*1,000,000 unspent credits \(Premium models\)[^]*The payment provider returns the money/)
  for (const amount of ['5.00', '0', '1.234', '1 EUR', 'all'])
    t.match(await press(order.id, { amount, reason: 'asked' }), { status: /^40[09]$/, body: /role="alert"/ }, amount)
  t.match(await press(order.id, { amount: '1.00' }), { status: 400 }, 'there is no reason')
  t.match((await press(order.id, { amount: '1.00', reason: 'asked' }, page)).headers.get('location'), /done=refunded$/)
  t.match((await press(order.id, { amount: '1.00', reason: 'asked' }, page)).body, /It was made once/)
  t.match(await gateway.services.store.orders.find(order.id), { state: 'refunded', refunded: 100 })
  t.equal((await gateway.services.ledger.findPack(account, order.pack ?? ''))?.settled, 250_000, 'a quarter of the pack is taken')
  for (const record of [...(await listAudit('order_refund_started')), ...(await listAudit('order_refunded'))])
    t.match(record, { actor: { kind: 'session', account: owner.account }, reason: 'asked', detail: { order: order.id } })
  t.match(await show(order.id), /at most \$3\.00[^]*750,000 unspent credits/)
  const [one, other] = await Promise.all([
    press(order.id, { amount: '3.00', reason: 'the rest' }),
    press(order.id, { amount: '3.00', reason: 'the rest' }),
  ])
  t.same([one.status, other.status].toSorted(), [303, 409], 'of two operators one refunds')
  t.match(await gateway.services.store.orders.find(order.id), { refunded: 400 })
  t.notMatch(await show(order.id), /name="action" value="refund"/, 'nothing is left')
})

t.test('a refusal or a missing answer of the provider is shown in words', async (t) => {
  const { gateway, account, show, press } = await open(t)
  const { order, provider } = await createPaidOrder(gateway, account)
  t.match(await show(order.id), /The plan of this order ends at once/)
  const { refund } = provider
  provider.refund = async () => ({ state: 'failed', reference: 'r', reason: 'the card is closed' })
  t.match(await press(order.id, { amount: '1.00', reason: 'asked' }), { status: 409, body: /provider refused the refund/ })
  t.match(await show(order.id), /the card is closed/)
  provider.refund = async () => {
    throw new PaymentProviderError('unavailable', 'no answer within 30 seconds')
  }
  const page = await show(order.id)
  const sent = await press(order.id, { amount: '1.00', reason: 'asked' }, page)
  t.match(sent.headers.get('location'), /done=refund_started$/)
  t.match(await gateway.services.store.orders.find(order.id), { state: 'refunding', failure: { reason: 'unavailable' } })
  t.match(await show(order.id), /no answer within 30 seconds/)
  t.match(
    await press(order.id, { amount: '1.00', reason: 'asked' }, page.replaceAll('name="form" value="', 'name="form" value="x')),
    {
      status: 400,
    },
  )
  provider.refund = refund.bind(provider)
  await gateway.services.orders?.check(order.id, 'sweep')
  t.match(await gateway.services.store.orders.find(order.id), { state: 'refunded', refunded: 100 })
})

t.test('a key refunds within its daily limit, once for its Idempotency-Key', async (t) => {
  const { gateway, owner, console, account, listAudit } = await open(t)
  const { order } = await createPaidOrder(gateway, account, smallPack)
  const { id: key, program } = await createOperatorKey(gateway, owner, ['money:read', 'money:write'], { dailyCredits: 3_000_000 })
  const post = (client: WebsiteClient, body: object, idempotencyKey: string, id = order.id) =>
    client.post(operatorApi(gateway, `orders/${id}/refund`), body, { 'idempotency-key': idempotencyKey })
  t.match((await program.get(operatorApi(gateway, `orders/${order.id}`))).body.refundable, {
    max: { amount: 400, currency: 'USD' },
    unspent_credits: 1_000_000,
    ends_plan: false,
    by_hand: false,
  })
  t.match(
    await post(program, { reason: 'asked' }, 'k1'),
    { status: 403, body: { code: 'permission_denied' } },
    '$4 are 4,000,000',
  )
  t.match(await post(program, { amount: 200 }, 'k2'), { status: 400, body: { param: 'reason' } })
  for (const amount of [0, -1, 1.5, '1'])
    t.match(await post(program, { amount, reason: 'asked' }, 'k3'), { status: 400, body: { param: 'amount' } })
  t.match(await post(program, { amount: 500, reason: 'asked' }, 'k4'), { status: 409, body: { param: 'amount' } })
  for (const replayed of [null, 'true']) {
    const answer = await post(program, { amount: 200, reason: 'asked' }, 'k5')
    t.match(answer, { status: 200, body: { outcome: 'done', by_hand: false, order: { state: 'refunded', refunded: 200 } } })
    t.equal(answer.headers.get('idempotent-replayed'), replayed)
  }
  t.match(await post(program, { amount: 200, reason: 'asked' }, 'k6'), { status: 403 }, 'a million credits are left for today')
  t.match(await listAudit('order_refunded'), [{ actor: { kind: 'key', key, account: owner.account }, reason: 'asked' }])
  t.match(await post(console, { reason: 'the rest' }, 'k7', order.number), {
    body: { outcome: 'done', order: { refunded: 400 } },
  })
  t.match(await post(console, { reason: 'again' }, 'k8'), { status: 409, body: { code: 'conflict' } })
  t.match(await post(console, { reason: 'again' }, 'k9', 'ord_none'), { status: 404 })
})
