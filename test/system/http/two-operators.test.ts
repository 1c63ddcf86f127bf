/** Two operators who change one thing at the same time: nothing is lost silently, and records have what each change has found. */
import t from 'tap'
import type { Test } from 'tap'
import { createOperator, openConsole, operatorApi } from '../../support/gateway/operators.ts'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import type { WebsiteClient } from '../../support/gateway/website-client.ts'
import { readFormFields, sendForm } from '../../support/website/page-form.ts'

async function open(t: Test) {
  const gateway = await startGateway(t)
  const [ann, bob] = [
    await openConsole(gateway, await createOperator(gateway, 'ann@example.com', 'owner')),
    await openConsole(gateway, await createOperator(gateway, 'bob@example.com', 'operator')),
  ]
  let count = 0
  const post = (client: WebsiteClient, path: string, body: object) =>
    client.post(operatorApi(gateway, path), { reason: 'test', ...body }, { 'idempotency-key': `k${(count += 1)}` })
  const { store } = gateway.services
  return { gateway, ann, bob, post, store }
}

t.test('each plan that is given at the same time has the one before it in its record', async (t) => {
  const { gateway, ann, bob, post, store } = await open(t)
  const { id } = await gateway.createAccount('free')
  const plans = ['pro', 'max', 'pro', 'max', 'pro', 'max']
  const answers = await Promise.all(plans.map((plan, index) => post(index % 2 === 0 ? ann : bob, `members/${id}/plan`, { plan })))
  for (const { status } of answers) t.equal(status, 200)
  const { plan = '' } = (await store.accounts.find(id)) ?? {}
  const records = await store.audit.list({ account: id, event: 'plan_changed', limit: 9 })
  const before = records.map(({ detail }) => String(detail?.['before'])).toSorted()
  // In the order of the changes each finds what the one before has given, and the last one gave what the member has now.
  t.same([...before, plan].toSorted(), ['free', ...plans].toSorted())
})

t.test('an account that both disable has one record, and so has its return', async (t) => {
  const { gateway, ann, bob, post, store } = await open(t)
  const { id } = await gateway.createAccount('free')
  for (const status of ['disabled', 'active']) {
    const answers = await Promise.all([ann, bob, ann, bob].map((client) => post(client, `members/${id}/status`, { status })))
    for (const answer of answers) t.match(answer, { status: 200, body: { status } })
  }
  const records = (await store.audit.list({ account: id, limit: 9 })).filter(({ event }) => event.startsWith('account_'))
  t.same(records.map(({ event }) => event).toSorted(), ['account_disabled', 'account_enabled'])
})

t.test('a target that is taken out again has the earlier end in its record', async (t) => {
  const { gateway, ann, bob, post, store } = await open(t)
  const { data } = (await ann.get(operatorApi(gateway, 'routing'))).body
  const target = data?.[0]?.targets[0]?.target ?? 'main/demo-light'
  const order = { target, allow_last: true }
  const first = await post(ann, 'targets/take-out', { ...order, minutes: 1_440 })
  t.equal(first.status, 200)
  t.equal((await post(bob, 'targets/take-out', { ...order, minutes: 5 })).status, 200)
  t.match(await store.audit.list({ event: 'target_taken_out', limit: 9 }), [
    { detail: { minutes: 5, before_until: first.body.until } },
    { detail: { minutes: 1_440 } },
  ])
})

t.test('a notice that another operator has changed since the form was drawn keeps that change', async (t) => {
  const { gateway, ann, bob } = await open(t)
  const url = `${gateway.url}/operator/notices`
  const until = new Date(gateway.services.clock.now() + 86_400_000).toISOString().slice(0, 10)
  const send = async (client: WebsiteClient, fields: URLSearchParams, en: string) =>
    sendForm(client, url, fields, { kind: 'information', en, zh: '', from: '', until, reason: 'test' })
  const read = async (client: WebsiteClient) => {
    const page = (await client.get(url)).body as string
    const subject = /name="subject" value="(ntc_\w+)"/.exec(page)?.[1]
    return readFormFields(page, subject === undefined ? { action: 'add' } : { action: 'change', subject })
  }
  t.match(await send(ann, await read(ann), 'Slow.'), { status: 303 })
  const forms = [await read(ann), await read(bob)] as const
  t.match(await send(bob, forms[1], 'Very slow.'), { status: 303 })
  for (const press of ['first', 'second']) {
    const refused = await send(ann, forms[0], 'Slow until noon.')
    t.match(refused, { status: 409, body: /was changed meanwhile/ }, press)
    t.match(refused.body, 'Slow until noon.', 'what was typed stays')
  }
  t.match(await gateway.services.membership.notices.list({ limit: 9 }), [{ text: { en: 'Very slow.' }, revision: 2 }])
  t.match(await send(ann, await read(ann), 'Slow until noon.'), { status: 303 })
})
