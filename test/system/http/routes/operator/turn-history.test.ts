/** The operator API about turns: found, explained and counted, alike in every place, and never with a prompt. */
import t from 'tap'
import type { Test } from 'tap'
import { startFakeUpstream } from '../../../../support/upstream/server.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import { createOperator, openConsole, operatorApi } from '../../../../support/gateway/operators.ts'

const prompt = 'a prompt that no operator may read'

async function open(t: Test) {
  const [first, second] = [await startFakeUpstream(), await startFakeUpstream()]
  t.teardown(async () => {
    await first.close()
    await second.close()
  })
  const neverResting = { restAfterFailures: 0, rejectedKeyRestMs: 0 }
  const targets = [
    { upstream: 'one', model: 'demo-flagship', weight: 1 },
    { upstream: 'two', model: 'demo-flagship', weight: 0 },
  ]
  const gateway = await startGateway(t, {
    upstreams: { one: { baseUrl: first.url, ...neverResting }, two: { baseUrl: second.url, ...neverResting } },
    products: { 'svc-2.1': { targets } },
  })
  const console = await openConsole(gateway, await createOperator(gateway, 'owner@example.com', 'owner'))
  const member = await createOperator(gateway, 'mei@example.com', null)
  const token = await gateway.createKey(member.account)
  const bodies: string[] = []
  const get = async (path: string, client = console) => {
    const answer = await client.get(operatorApi(gateway, path))
    bodies.push(JSON.stringify(answer.body))
    return answer.body
  }
  const chat = async (options = {}): Promise<void> => {
    const response = await gateway.chat(token, { messages: [{ role: 'user', content: prompt }], ...options })
    await response.text()
  }
  const { clock, membership } = gateway.services
  const collect = () => membership.turnHistory.collect(90, { clock, signal: new AbortController().signal })
  return { gateway, first, second, console, member, bodies, get, chat, collect }
}

t.test('a turn, its failure and the sums are the same everywhere, and no prompt is in them', async (t) => {
  const { gateway, first, second, console, member, bodies, get, chat, collect } = await open(t)
  first.script(() => ({ status: 503 }))
  await chat({ stream: true })
  second.script(() => ({ status: 500 }))
  await chat()
  first.script(() => ({}))
  await chat()
  await collect()

  const { data: turns, behind_ms: behindMs } = await get('turns')
  t.equal(behindMs, 0)
  t.match(turns, [
    { ending: 'completed', target: 'one/demo-flagship', member: member.account },
    { state: 'refunded', credits: 0, target: 'two/demo-flagship' },
    { ending: 'completed', target: 'two/demo-flagship' },
  ])
  const failed = turns[1]
  const moved = await get(`turns/${turns[2].id}`)
  t.match(moved, {
    is_charged: true,
    attempts: [
      { target: 'one/demo-flagship', status: 503, failure: 'status' },
      { target: 'two/demo-flagship', status: 200, failure: null },
    ],
    settled: [{ from: 'plan', credits: turns[2].credits }],
  })
  const [refused, answered] = moved.attempts
  t.ok(refused.started_ms >= 0 && refused.ended_ms >= refused.started_ms && answered.started_ms >= refused.ended_ms)
  t.ok(moved.first_token_ms >= answered.started_ms, 'the first token came from the target that answered')
  t.match(await get(`turns/${failed.id}`), { is_charged: false, settled: [], ending: failed.ending })

  t.match((await get('failures')).data, [
    {
      ending: failed.ending,
      product: 'svc-2.1',
      turns: 1,
      members: 1,
      example: { id: failed.id, request_id: failed.request_id },
    },
  ])
  const listed = await gateway.listTurns()
  const credits = listed.reduce((sum, turn) => sum + turn.credits, 0)
  for (const query of ['usage', 'usage?step=day&by=product', `usage?by=key&member=${member.account}`, 'usage?by=ending'])
    t.match((await get(query)).total, { turns: 3, charged: 2, failed: 1, credits, duration: { count: 2 } }, query)
  t.match(
    (await get(`usage?by=ending`)).series.map(({ key }: { key: string }) => key),
    ['completed', failed.ending],
  )
  const { data: lines } = await get(`members/${member.account}/statement`)
  t.equal(lines[0].turn, turns[0].id)
  t.same(
    lines.filter(({ kind }: { kind: string }) => kind === 'turn').map((line: { credits: number }) => -line.credits || 0),
    turns.map((turn: { credits: number }) => turn.credits),
  )
  const { pools } = await get(`members/${member.account}`)
  const left = Math.min(
    ...pools
      .filter(({ tier }: { tier: string }) => tier === lines[0].tier)
      .map(({ remaining }: { remaining: number }) => remaining),
  )
  t.equal(lines[0].plan_left, left, 'the last line is the balance of now')

  const exported = await fetch(operatorApi(gateway, 'turns.csv?failed=true'), { headers: { cookie: console.cookieHeader() } })
  const csv = await exported.text()
  t.match(csv.split('\n'), [/^id,request_id,member/, new RegExp(`^${failed.id},${failed.request_id},`)])
  for (const filter of [
    'failed=true',
    `ending=${failed.ending}`,
    `request=${failed.request_id}`,
    `member=mei@example.com&failed=true`,
  ])
    t.same((await get(`turns?${filter}`)).data, [failed], filter)
  const pages = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const page: { data: object[]; next_cursor: string | null } = await get(`turns?limit=1${cursor && `&cursor=${cursor}`}`)
    pages.push(...page.data)
    cursor = page.next_cursor
  }
  t.same(pages, turns)
  t.notOk([...bodies, csv].some((text) => text.includes(prompt)))
})

t.test('a filter that matches nothing, holds SQL or cannot be answered gets a clear answer', async (t) => {
  const { gateway, console, member, get, chat, collect } = await open(t)
  await chat()
  await collect()
  for (const filter of [
    "member=' or 1=1 --",
    'product=%',
    "request='; drop table turn --",
    'ending=none',
    'plan=none',
    'target=',
  ])
    t.same((await get(`turns?${encodeURI(filter)}`)).data, [], filter)
  const refusals: readonly (readonly [path: string, status: number, param?: string])[] = [
    ['turns?cursor=yesterday', 400, 'cursor'],
    ['turns?limit=1000', 400, 'limit'],
    ['turns?key=web', 400, 'key'],
    ['turns?from=yesterday', 400, 'from'],
    ['usage?by=key', 400, 'key'],
    ['usage?from=2026-01-01T00:00:00Z&to=2026-03-01T00:00:00Z', 400, 'to'],
    ['usage?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', 400, 'from'],
    ['failures?from=2026-01-01T00:00:00Z&to=2026-03-01T00:00:00Z', 400, 'to'],
    ['turns/0', 404],
    ['turns/999999', 404],
    ["turns/1'", 404],
    ['members/none/statement', 404],
    ['orders/none', 404],
  ]
  for (const [path, status, param] of refusals)
    t.match(await console.get(operatorApi(gateway, path)), { status, body: param === undefined ? {} : { param } }, path)
  t.match(await get(`orders?member=${member.account}`), { data: [], next_cursor: null })
  t.match(await get(`members/${member.account}/subscriptions`), { data: [] })

  const support = await openConsole(gateway, await createOperator(gateway, 'support@example.com', 'support'))
  t.match(await get('usage', support), { total: { turns: 1, cost_nanodollars: null } }, 'without money')
  t.match(await get('usage'), { total: { turns: 1, cost_nanodollars: Number } })
})
