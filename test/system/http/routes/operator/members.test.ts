/** The operator API about members: what it finds, what it changes, who may, and what it records. */
import t from 'tap'
import type { Test } from 'tap'
import { createClock } from '../../../../../src/system/clock.ts'
import { readEmailsTo, WebsiteClient } from '../../../../support/gateway/website-client.ts'
import { startGateway, waitUntil } from '../../../../support/gateway/test-gateway.ts'
import { createOperator, createOperatorKey, openConsole, operatorApi } from '../../../../support/gateway/operators.ts'

const dayMs = 86_400_000

async function open(t: Test) {
  const time = { now: Date.now() }
  const gateway = await startGateway(t, {}, { clock: createClock({ now: () => time.now }) })
  const owner = await createOperator(gateway, 'owner@example.com', 'owner')
  const console = await openConsole(gateway, owner)
  const member = await createOperator(gateway, 'mei@example.com', null)
  let count = 0
  const post = (client: WebsiteClient, path: string, body: object, key = `k${(count += 1)}`) =>
    client.post(operatorApi(gateway, path), body, { 'idempotency-key': key })
  const get = async (path: string, client = console) => (await client.get(operatorApi(gateway, path))).body
  return { time, gateway, store: gateway.services.store, owner, console, member, post, get }
}

t.test('finds a member by address, id and the first characters of a key, and pages through all', async (t) => {
  const { gateway, member, get, console } = await open(t)
  const key = await gateway.createKey(member.account)
  for (const q of ['mei@example.com', 'MEI@example.com', member.account, key.slice(0, 13), key])
    t.same(
      (await get(`members?q=${q}`)).data.map(({ id }: { id: string }) => id),
      [member.account],
      q,
    )
  for (const q of ['none@example.com', 'svc_live_zzzz', "' or 1=1 --", '%'])
    t.same(await get(`members?q=${encodeURIComponent(q)}`), { object: 'list', data: [], next_cursor: null }, q)
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const page: { data: { id: string }[]; next_cursor: string | null } = await get(
      `members?limit=1${cursor && `&cursor=${cursor}`}`,
    )
    seen.push(...page.data.map(({ id }) => id))
    cursor = page.next_cursor
  }
  t.equal(new Set(seen).size, seen.length)
  t.ok(seen.includes(member.account))
  for (const query of ['cursor=1%27', 'limit=0', 'limit=1e9'])
    t.match(await console.get(operatorApi(gateway, `members?${query}`)), {
      status: 400,
      headers: { get: Function },
      body: { code: 'invalid_request', title: 'invalid_request', status: 400, instance: /^mbr_/, type: /\/docs\/errors#/ },
    })
})

t.test('each change has a reason, acts once for its key, and records who, from where, before, after and why', async (t) => {
  const { gateway, store, owner, console, member, post, get, time } = await open(t)
  const path = `members/${member.account}`
  t.match(await post(console, `${path}/plan`, { plan: 'pro' }), { status: 400, body: { param: 'reason' } })
  t.match(await console.post(operatorApi(gateway, `${path}/plan`), { plan: 'pro', reason: 'x' }), {
    status: 400,
    body: { param: 'Idempotency-Key' },
  })
  const until = new Date(time.now + 30 * dayMs).toISOString()
  const order = { plan: 'pro', until, reason: 'paid by transfer' }
  t.match(await post(console, `${path}/plan`, order, 'same'), {
    status: 200,
    body: { member: { plan: 'pro', plan_until: until } },
  })
  const repeated = await post(console, `${path}/plan`, order, 'same')
  t.match([repeated.status, repeated.headers.get('idempotent-replayed')], [200, 'true'])
  t.match(await post(console, `${path}/plan`, { ...order, plan: 'free' }, 'same'), { status: 409, body: { code: 'conflict' } })
  t.match(await post(console, `${path}/plan`, { ...order, plan: 'none' }), { status: 400, body: { param: 'plan' } })
  const plans = await store.audit.list({ account: member.account, event: 'plan_changed', limit: 9 })
  t.equal(plans.length, 1, 'a repeat and refusals record nothing')
  t.match(plans[0], {
    detail: { by: 'operator', before: 'free', plan: 'pro', until, reason: 'paid by transfer' },
    actor: { kind: 'session', account: owner.account },
    reason: 'paid by transfer',
    address: '127.0.0.x',
  })

  const fix = { pool: 'fast', credits: 500, reason: 'a turn was charged twice' }
  t.match(await post(console, `${path}/credits`, fix, 'credits'), { status: 200, body: { id: /^adj_/ } })
  await post(console, `${path}/credits`, fix, 'credits')
  t.match((await get(path)).boosts, [{ kind: 'grant', granted: 500 }])
  for (const credits of [0, 0.5, '1']) t.equal((await post(console, `${path}/credits`, { ...fix, credits })).status, 400)

  const mine = (await member.browser.get('audit')).body.data
  const corrected = mine.find(({ event }: { event: string }) => event === 'credits_adjusted')
  t.match(
    corrected,
    { detail: { by: 'operator', reason: fix.reason }, address: null, request_id: null },
    'the member sees why, not who',
  )
  t.notMatch(JSON.stringify(mine), owner.account)

  time.now += 61_000
  t.match(await post(console, `${path}/sign-in-email`, { reason: 'lost it' }), { status: 200 })
  await waitUntil(() => readEmailsTo(gateway, 'mei@example.com').length === 2, 'the email')
  t.match(await post(console, `${path}/sessions/end`, { reason: 'stolen' }), { body: { ended_sessions: 1 } })
  t.equal((await member.browser.get('auth/session')).status, 401)
  const key = await gateway.createKey(member.account)
  t.match(await post(console, `${path}/status`, { status: 'disabled', reason: 'abuse' }), { body: { status: 'disabled' } })
  t.equal((await gateway.chat(key)).status, 401)
  t.match(await post(console, `members/${owner.account}/status`, { status: 'disabled', reason: 'oops' }), {
    status: 409,
    body: { code: 'conflict', detail: /last owner/ },
  })
  t.match((await get(`audit?account=${member.account}&event=account_disabled`)).data, [
    { reason: 'abuse', detail: { before: 'active', after: 'disabled' } },
  ])
})

t.test('a key never has more than its maker, and what it moves in a day is bounded', async (t) => {
  const { gateway, store, owner, console, member, post, time } = await open(t)
  const path = `members/${member.account}/credits`
  const make = (body: object, client = console) => post(client, 'operator-keys', { name: 'billing', reason: 'shop', ...body })
  for (const [body, param] of [
    [{ scopes: ['roles:write'] }, 'scopes'],
    [{ scopes: ['keys:write'] }, 'scopes'],
    [{ scopes: ['money:write'], daily_credits: 5 }, 'networks'],
    [{ scopes: ['money:write'], networks: ['127.0.0.1'] }, 'daily_credits'],
  ] as const)
    t.match(await make(body), { status: 400, body: { param } })
  const made = await make({ scopes: ['money:write'], networks: ['127.0.0.0/8', '::1/128'], daily_credits: 1000 })
  t.match(made, { status: 201, body: { token: /^svc_op_/, scopes: ['money:write'] } })
  t.equal(Date.parse(made.body.expires_at) - time.now, 90 * dayMs, 'it ends unless said')
  t.equal((await make({ scopes: ['audit:read'], expires_in_days: null })).body.expires_at, null)
  const program = new WebsiteClient(gateway, { authorization: `Bearer ${made.body.token}` })
  const move = (credits: number) => post(program, path, { pool: 'fast', credits, reason: 'refund' })
  t.equal((await move(700)).status, 200)
  t.match(await move(-400), { status: 403, body: { code: 'permission_denied', detail: /more than the key may move today/ } })
  t.equal((await move(300)).status, 200)
  time.now += dayMs
  t.equal((await move(1000)).status, 200)

  const [bound, reader] = [
    await createOperatorKey(gateway, owner, ['members:read'], { networks: ['10.0.0.0/8'] }),
    await createOperatorKey(gateway, owner, ['members:read', 'audit:read']),
  ]
  t.equal((await bound.program.get(operatorApi(gateway, 'me'))).status, 401, 'from another network')
  await createOperator(gateway, 'second@example.com', 'owner')
  await store.operators.setRole(owner.account, { name: 'support', provider: null }, time.now)
  t.match((await reader.program.get(operatorApi(gateway, 'me'))).body, { scopes: ['members:read'] }, 'the role of now')
  t.equal((await reader.program.get(operatorApi(gateway, 'audit'))).status, 403)
  await store.accounts.setStatus(owner.account, 'disabled')
  t.equal((await reader.program.get(operatorApi(gateway, 'me'))).status, 401, 'and no key without its maker')
})

t.test('the secret of a key is shown once, also to a repeated request, and the state of the server is told', async (t) => {
  const { console, post, get, store } = await open(t)
  const body = { name: 'a', scopes: ['audit:read'], reason: 'monitoring' }
  const { token, id } = (await post(console, 'operator-keys', body, 'once')).body
  const repeated = await post(console, 'operator-keys', body, 'once')
  t.match(repeated, { status: 409, body: { code: 'conflict', detail: /shown once/ } })
  t.notMatch(JSON.stringify(await get('operator-keys')), token)
  t.match(await post(console, `operator-keys/${id}/revoke`, { reason: 'done' }), { status: 200 })
  t.match(await get('operator-keys'), { data: [{ id, revoked_at: /T/ }] })
  t.match(await get('system'), { version: /^\d/, node_version: process.versions.node, is_ready: true, reasons: [] })
  t.match(await get('operators'), { data: [{ role: 'owner', email: 'owner@example.com', has_second_factor: false }] })
  const events = (await store.audit.list({ limit: 9 })).map(({ event }) => event)
  t.same(
    events.filter((event) => event.startsWith('operator_key')),
    ['operator_key_revoked', 'operator_key_made'],
  )
})
