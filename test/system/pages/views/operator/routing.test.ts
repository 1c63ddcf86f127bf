/** `/operator/routing`: figures that open exactly their turns, tries outside of all figures, targets taken out and back, and values with their source. */
import t from 'tap'
import type { Test } from 'tap'
import { createClock } from '../../../../../src/system/clock.ts'
import type { OperatorRole } from '../../../../../src/domain/identity/operators/operator-role.ts'
import { createOperator, createOperatorKey, openConsole, operatorApi } from '../../../../support/gateway/operators.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import { listLinks } from '../../../../support/website/page-links.ts'
import { sendForm } from '../../../../support/website/page-form.ts'

const first = 'first/demo-flagship'
const second = 'second/demo-flagship'
const targets = [
  { upstream: 'first', model: 'demo-flagship', cost: { input: 1, output: 2 } },
  { upstream: 'second', model: 'demo-flagship', weight: 0 },
]
const calm = { baseUrl: 'demo', restAfterFailures: 0, rejectedKeyRestMs: 0 } as const

async function open(t: Test) {
  const now = Date.parse('2026-11-29T06:05:00Z')
  const gateway = await startGateway(
    t,
    {
      upstreams: { first: { ...calm, apiKey: 'a-secret-key', headers: { 'x-team': 'a-secret-header' } }, second: calm },
      products: { 'svc-2.1': { targets } },
    },
    { clock: createClock({ now: () => now }) },
  )
  const owner = await createOperator(gateway, 'ann@example.com', 'owner')
  const console = await openConsole(gateway, owner)
  const member = await gateway.createMember('pro')
  const { membership, clock, store } = gateway.services
  const chat = async (script: Parameters<typeof gateway.demo.script>[0]): Promise<void> => {
    gateway.demo.script(script)
    await (await gateway.chat(member.token, { stream: true })).text()
    gateway.demo.script()
  }
  const collect = async () => {
    await gateway.waitUntilSettled()
    await membership.turnHistory.collect(90, { clock, signal: new AbortController().signal })
  }
  const show = async (path: string, client = console) => {
    const { status, body } = await client.get(`${gateway.url}/operator/${path}`)
    t.notMatch(body, 'a-secret', path)
    return { status, body: body as string }
  }
  const as = async (role: OperatorRole) => openConsole(gateway, await createOperator(gateway, `${role}@example.com`, role))
  return { gateway, owner, console, member, chat, collect, show, store, as }
}

const listTurnIds = (body: string): readonly number[] =>
  [...body.matchAll(/href="\/operator\/turns\/(\d+)"/g)].map(([, id]) => Number(id))
const toText = (body: string): string => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')

t.test('each figure of a target opens exactly the turns behind it', async (t) => {
  const { gateway, chat, collect, show, as } = await open(t)
  await chat(() => ({}))
  await chat(() => ({}))
  await chat(() => ({ status: 500 }))
  await chat(() => ({
    status: 400,
    body: { error: { message: 'maximum context length is 5 tokens', code: 'context_length_exceeded' } },
  }))
  await collect()
  const turns = await gateway.listTurns()
  const endings = (...codes: readonly (string | null)[]) => turns.filter(({ code }) => codes.includes(code)).map(({ id }) => id)
  for (const path of [
    'routing',
    'routing/products/svc-2.1',
    'routing/upstreams/first',
    'routing?span=week',
    'routing?span=month',
  ]) {
    const { status, body } = await show(path)
    t.equal(status, 200, path)
    t.match(
      toText(body),
      /66\.7\u00a0?%|67%|66\.7%/,
      `${path}: two of three, because a prompt that is too long is its member’s fault`,
    )
    const links = listLinks(body, '/operator/turns?').filter((link) => link.includes('svc-2.1') && link.includes('target=first'))
    const found = async (ending: string | null) => {
      const link = links.find((each) => new URL(each, gateway.url).searchParams.get('ending') === ending) ?? ''
      return listTurnIds((await show(link.slice('/operator/'.length))).body).toSorted()
    }
    t.same(await found(null), turns.map(({ id }) => id).toSorted(), `${path}: all`)
    t.same(await found('completed'), endings(null).toSorted(), `${path}: completed`)
    t.same(await found('rated'), endings(null, 'upstream_error').toSorted(), `${path}: rated`)
  }
  const faults = listLinks((await show('routing')).body, '/operator/turns?').find((link) => link.includes('ending=faults')) ?? ''
  t.same(listTurnIds((await show(faults.slice('/operator/'.length))).body), endings('upstream_error'))
  const reader = await as('reader')
  t.match((await show('routing', reader)).body, 'Margin')
  t.equal((await show('routing', await as('finance'))).status, 403)
  const bare = await show('routing/products/none')
  t.equal(bare.status, 404)
})

t.test('a try reaches the upstream and is in no figure', async (t) => {
  const { gateway, console, collect, show, store } = await open(t)
  const { membership } = gateway.services
  const form = { form: '', action: 'try', subject: second }
  const send = (path: string, fields: Record<string, string>) =>
    sendForm(console, `${gateway.url}/operator/${path}`, new URLSearchParams({ ...fields, form: membership.formIds.issue(null) }))
  const metrics = async () =>
    (await gateway.scrapeMetrics()).split('\n').filter((line) => /^svc_(upstream_attempts|turns)_total/.test(line))
  const before = await metrics()
  const good = await send('routing/upstreams/second', form)
  t.equal(good.status, 200)
  t.match(toText(good.body), /second\/demo-flagship answered after .*, the first token after .*, status 200/)
  gateway.demo.script(() => ({ status: 401 }))
  const bad = await send('routing/products/svc-2.1', { ...form, subject: '' })
  t.match(
    toText(bad.body),
    /first\/demo-flagship failed after .* with status 401: upstream_not_configured\. The service is not set up/,
  )
  gateway.demo.script()
  await collect()
  t.same(await gateway.listTurns(), [])
  t.same(await metrics(), before)
  t.equal(gateway.services.upstreams.getBreaker(first).state(0), 'closed')
  t.notMatch((await show('routing')).body, 'ending=completed')
  const records = await store.audit.list({ event: 'target_tried', limit: 5 })
  t.same(
    records.map(({ detail }) => [detail?.['target'] ?? detail?.['product'], detail?.['result']]),
    [
      ['svc-2.1', 'upstream_not_configured'],
      [second, 'completed'],
    ],
  )
  for (let count = 3; count <= 6; count++) t.equal((await send('routing/upstreams/second', form)).status, 200, `${count}`)
  t.equal((await send('routing/upstreams/second', form)).status, 429, 'at most six a minute')
})

t.test('an operator has one try at a time', async (t) => {
  const { gateway, owner } = await open(t)
  const { program } = await createOperatorKey(gateway, owner, ['routing:read', 'routing:write'])
  const held = Promise.withResolvers<void>()
  const called = Promise.withResolvers<void>()
  gateway.demo.script(async () => {
    called.resolve()
    await held.promise
    return {}
  })
  const tryOnce = (key: string) =>
    program.send('POST', operatorApi(gateway, 'targets/try'), { target: first }, { 'idempotency-key': key })
  const running = tryOnce('1')
  await called.promise
  t.match(await tryOnce('2'), { status: 409, body: { code: 'conflict', detail: /still runs/ } })
  held.resolve()
  t.match(await running, { status: 200, body: { target: first, status: 200, failure: null } })
  gateway.demo.script()
  t.match(await tryOnce('3'), { status: 200 }, 'and then another one')
})

t.test('a target is taken out and brought back by forms, with a reason', async (t) => {
  const { gateway, console, member, show, store } = await open(t)
  const { membership, clock } = gateway.services
  const address = `${gateway.url}/operator/routing/upstreams`
  const send = (fields: Record<string, string>) =>
    sendForm(
      console,
      `${address}/${fields['subject']?.split('/')[0]}`,
      new URLSearchParams({ reason: 'it is slow', form: membership.formIds.issue(null), ...fields }),
    )
  const calls = async () => {
    await (await gateway.chat(member.token)).text()
    return (await gateway.listTurns())[0]?.target ?? null
  }
  t.equal(await calls(), first)
  for (const minutes of ['0', '1441', '1.5', '-1', 'x', '']) {
    const refused = await send({ action: 'take_out', subject: first, minutes })
    t.equal(refused.status, 400, minutes)
  }
  t.equal((await send({ action: 'take_out', subject: first, minutes: '30', reason: ' ' })).status, 400, 'without a reason')
  t.equal((await send({ action: 'take_out', subject: 'first/none', minutes: '30' })).status, 404)
  t.same(await store.takenOutTargets.list(clock.now()), [])

  const done = await send({ action: 'take_out', subject: first, minutes: '1,440' })
  t.match(done.headers.get('location'), 'done=taken_out')
  t.equal(await calls(), second)
  t.match(toText((await show('routing')).body), /taken out .* Reason: it is slow/)

  const refused = await send({ action: 'take_out', subject: second, minutes: '5' })
  t.equal(refused.status, 409)
  t.match(toText(refused.body), /last target of svc-2\.1.*502 upstream_model_unavailable: “This model is unavailable right now/)
  t.match((await send({ action: 'take_out', subject: second, minutes: '5', allow_last: 'yes' })).status, 303)
  const answer = await gateway.chat(member.token)
  t.equal(answer.status, 502)
  const retryAfter = Number(answer.headers.get('retry-after'))
  t.ok(retryAfter > 0 && retryAfter <= 300, `${retryAfter} s until the first one is back`)
  t.match(await answer.json(), { error: { code: 'upstream_model_unavailable' } })
  t.equal((await gateway.listTurns())[0]?.state, 'refunded')

  for (const target of [first, second])
    t.match((await send({ action: 'bring_back', subject: target })).headers.get('location'), 'done=brought_back')
  t.equal((await send({ action: 'bring_back', subject: first })).status, 409)
  t.equal(await calls(), first)
  const records = (await store.audit.list({ limit: 20 })).filter(({ event }) => event.startsWith('target_'))
  t.same(
    records.map(({ event, detail, reason }) => [event, detail?.['target'], reason]),
    [
      ['target_brought_back', second, 'it is slow'],
      ['target_brought_back', first, 'it is slow'],
      ['target_taken_out', second, 'it is slow'],
      ['target_taken_out', first, 'it is slow'],
    ],
  )
})

t.test('values have their source and their lines, and secrets are not shown', async (t) => {
  const { show } = await open(t)
  const upstream = (await show('routing/upstreams/first')).body
  t.match(toText(upstream), /apiKey set file/)
  t.match(toText(upstream), /headers set file/)
  t.match(toText(upstream), /connections 20000 default/)
  t.match(upstream, /upstreams: \{\n {2}first: \{\n[^]*apiKey: … \/\* set, and not shown \*\/,/)
  const product = (await show('routing/products/svc-2.1')).body
  t.match(toText(product), /contextLength 128000 file/)
  t.match(toText(product), /gateway\.config\.[jt]s, line \d+/)
  t.match(product.replaceAll('&#39;', "'"), /'svc-2\.1': \{/)
})

t.test('the operator API has the same figures and actions', async (t) => {
  const { gateway, owner, chat, collect } = await open(t)
  await chat(() => ({}))
  await collect()
  const { program } = await createOperatorKey(gateway, owner, ['routing:read', 'routing:write'])
  const send = (path: string, body: Record<string, unknown>, key: string) =>
    program.send('POST', operatorApi(gateway, `targets/${path}`), body, { 'idempotency-key': key })
  const shown = await program.get(operatorApi(gateway, 'routing?span=week'))
  const product = shown.body.products.find(({ id }: { readonly id: string }) => id === 'svc-2.1')
  t.match(product, { success_share: 1, totals: { turns: 1, cost_nanodollars: null } })
  t.match(product.targets[0], {
    target: first,
    is_configured: true,
    taken_out: null,
    margin_nanodollars: null,
    totals: { turns: 1 },
  })
  t.match(product.targets[1], { target: second, totals: null, success_share: null })
  const gauge = async (): Promise<readonly string[]> =>
    (await gateway.scrapeMetrics())
      .split('\n')
      .filter((line) => line.startsWith(`svc_upstream_target_taken_out{target="${first}"}`))
  t.same(await gauge(), [`svc_upstream_target_taken_out{target="${first}"} 0`])
  const order = { target: first, minutes: 10, reason: 'slow' }
  const taken = await send('take-out', order, 'k1')
  t.match(taken, {
    status: 200,
    body: { target: first, since: '2026-11-29T06:05:00.000Z', until: '2026-11-29T06:15:00.000Z' },
  })
  t.equal((await send('take-out', order, 'k1')).headers.get('idempotent-replayed'), 'true')
  t.match(await program.get(operatorApi(gateway, 'targets/taken-out')), {
    body: { data: [{ target: first, reason: 'slow' }] },
  })
  t.match(await send('take-out', { ...order, target: second }, 'k2'), { status: 409, body: { code: 'conflict' } })
  t.same(await gauge(), [`svc_upstream_target_taken_out{target="${first}"} 1`])
  t.match(await send('bring-back', { target: first, reason: 'fine' }, 'k3'), { status: 200, body: { ok: true } })
  t.same(await gauge(), [`svc_upstream_target_taken_out{target="${first}"} 0`])
  t.match(await send('try', { target: first, product: 'svc' }, 'k4'), { status: 400 })
})
