/** What a turn costs and leaves: in the headers of whole answers, in the last event of streams, and afterwards by the request's id. */
import t from 'tap'
import type { ResponseOf } from '../../../../src/api/endpoint.ts'
import type { showKeyUsage, showTurn } from '../../../../src/api/usage.ts'
import { maxSearchedTurns, turnCharge } from '../../../../src/api/usage.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'
import { searchOnce, startSearchingGateway } from '../../tools/hosted-search/scripted-search.ts'

type Json = Readonly<Record<string, unknown>>

const messages = [{ role: 'user', content: 'Hello!' }]
const gemini = '/v1beta/models/svc-2.1'
const formats: readonly { readonly path: string; readonly streamPath?: string; readonly body: Json }[] = [
  { path: '/v1/chat/completions', body: { messages, stream_options: { include_usage: true } } },
  { path: '/v1/responses', body: { input: 'Hello!' } },
  { path: '/v1/messages', body: { messages, max_tokens: 200 } },
  {
    path: `${gemini}:generateContent`,
    streamPath: `${gemini}:streamGenerateContent?alt=sse`,
    body: { model: undefined, contents: [{ role: 'user', parts: [{ text: 'Hello!' }] }] },
  },
]

function post(gateway: TestGateway, token: string, path: string, body: Json, headers: Record<string, string> = {}) {
  return fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'svc-2.1', ...body }),
  })
}

/** A busy machine may answer before the database has the turn. */
async function listSettled(gateway: TestGateway) {
  await gateway.waitUntilSettled()
  return gateway.listTurns()
}

async function get<Body>(gateway: TestGateway, token: string, path: string): Promise<{ status: number; body: Body }> {
  await gateway.waitUntilSettled()
  const answer = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${token}` } })
  return { status: answer.status, body: (await answer.json()) as Body }
}

const readTurn = (gateway: TestGateway, token: string, id: string | null) =>
  get<ResponseOf<typeof showTurn>>(gateway, token, `/v1/turns/${id}`)

/** What is left in the window with the fewest credits. */
async function readLeft(gateway: TestGateway, token: string, tier: string) {
  const { body } = await get<ResponseOf<typeof showKeyUsage>>(gateway, token, '/v1/usage')
  const pools = body.pools.filter((pool) => pool.tier === tier)
  const [least] = pools.toSorted((one, other) => one.remaining - other.remaining)
  return least && { window: least.window, credits: least.remaining, resets_at: least.resets_at }
}

/** The charge in a stream's last event, and where it is. */
function readCharge(stream: string) {
  const events = [...stream.matchAll(/^data: (\{.*\})$/gm)].map(([, json = '']) => JSON.parse(json) as Json)
  const last = events.at(-1)
  return {
    charge: turnCharge.optional().parse(last?.['charge']),
    type: last?.['type'] ?? last?.['object'],
    isLast: events.every((event) => event === last || event['charge'] === undefined),
  }
}

/** The charge beside the result of a tool. */
function readResultCharge(message: string) {
  const result = JSON.parse(/\{"(?:result|jsonrpc)".*\}/.exec(message)?.[0] ?? '{}') as {
    readonly result?: { readonly _meta?: Json }
  }
  return turnCharge.optional().parse(result.result?._meta?.['charge'])
}

function readHeaders({ headers }: Response) {
  const resets = headers.get('x-svc-quota-reset')
  return {
    credits: Number(headers.get('x-svc-quota-charged') ?? Number.NaN),
    tier: headers.get('x-svc-quota-tier'),
    left: {
      window: headers.get('x-svc-quota-window'),
      credits: Number(headers.get('x-svc-quota-remaining') ?? Number.NaN),
      resets_at: new Date(Number(resets) * 1000).toISOString(),
    },
  }
}

t.test('whole answers and streams of each format have the charge of the ledger and what is left', async (t) => {
  const gateway = await startGateway(t)
  gateway.demo.script(() => ({ tokens: 8, usage: { prompt_tokens: 1_000, completion_tokens: 8 } }))
  const { token } = await gateway.createMember()
  for (const { path, streamPath, body } of formats) {
    const whole = await post(gateway, token, path, { ...body, ...(path.includes('chat') ? { stream_options: undefined } : {}) })
    t.equal(whole.status, 200)
    await whole.text()
    const [turn] = await listSettled(gateway)
    t.ok((turn?.credits ?? 0) > 0)
    const left = await readLeft(gateway, token, 'premium')
    t.same(readHeaders(whole), { credits: turn?.credits, tier: 'premium', left }, `${path}, whole`)

    const streaming = streamPath === undefined ? { ...body, stream: true } : body
    const answer = await post(gateway, token, streamPath ?? path, streaming)
    const { charge, type, isLast } = readCharge(await answer.text())
    const [streamed] = await listSettled(gateway)
    const leftThen = await readLeft(gateway, token, 'premium')
    t.same(charge, { credits: streamed?.credits, tier: 'premium', left: leftThen }, `${path}, stream: ${String(type)}`)
    t.ok(isLast, 'in no other event')
    t.equal(answer.headers.get('x-svc-quota-charged'), null, 'it was not known when the headers left')
  }
  const plain = await post(gateway, token, '/v1/chat/completions', { messages, stream: true })
  t.notMatch(await plain.text(), /charge/, 'a client that requested no usage gets no event for it')
})

t.test('answers that are generated, and failures, have their charge too', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.createMember()
  const image = await post(gateway, token, '/v1/images/generations', { model: 'svc-img', prompt: 'A hill' })
  const search = await post(gateway, token, '/v1/mcp/tools/call', { name: 'web_search', arguments: { query: 'hills' } })
  const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'web_search', arguments: { query: 'hills' } } }
  const message = await post(
    gateway,
    token,
    '/v1/mcp',
    { ...rpc, model: undefined },
    { accept: 'application/json, text/event-stream' },
  )
  for (const answer of [image, search, message]) {
    const text = await answer.text()
    t.equal(answer.status, 200, text)
    const { body } = await readTurn(gateway, token, answer.headers.get('x-request-id'))
    t.ok(body.credits > 0)
    const told = answer === message ? readResultCharge(text)?.credits : readHeaders(answer).credits
    t.equal(told, body.credits)
  }
  const drawn = await post(gateway, token, '/v1/chat/completions', { model: 'svc-img', ...formats[0]?.body, stream: true })
  const { charge } = readCharge(await drawn.text())
  t.equal(charge?.credits, (await listSettled(gateway))[0]?.credits, 'a generated answer as a stream')

  gateway.demo.script(() => ({ status: 500 }))
  for (const { path, body } of formats) {
    const { stream_options: _, ...whole } = body
    const failed = await post(gateway, token, path, whole)
    await failed.text()
    t.equal(failed.headers.get('x-svc-quota-charged'), '0', `${path}: refunded`)
    t.same(readHeaders(failed).left, await readLeft(gateway, token, 'premium'))
  }
})

t.test('a turn with a hosted search has the sum of its calls', async (t) => {
  const { gateway, token } = await startSearchingGateway(t, searchOnce())
  const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 8 }]
  for (const stream of [false, true]) {
    const answer = await post(gateway, token, '/v1/messages', { messages, tools, max_tokens: 100, stream })
    const text = await answer.text()
    const { body } = await readTurn(gateway, token, answer.headers.get('x-request-id'))
    t.equal(body.data.length, 3, 'a call, a search, and a call')
    t.equal(
      body.credits,
      body.data.reduce((sum, turn) => sum + turn.credits, 0),
    )
    const left = await readLeft(gateway, token, 'premium')
    if (stream) t.match(readCharge(text).charge, { credits: body.credits, left })
    else t.same(readHeaders(answer), { credits: body.credits, tier: 'premium', left })
  }
})

t.test('a request is looked up by its id, by its account alone', async (t) => {
  const gateway = await startGateway(t)
  gateway.demo.script(() => ({ tokens: 8, usage: { prompt_tokens: 1_000, completion_tokens: 8 } }))
  const member = await gateway.createMember()
  const other = await gateway.createMember()
  const named = { headers: { 'x-svc-request-id': 'trace-7' } }
  const answer = await gateway.chat(member.token, {}, named)
  t.equal(answer.headers.get('x-request-id'), 'mbr_trace-7')
  const { status, body } = await readTurn(gateway, member.token, 'mbr_trace-7')
  const [turn] = await listSettled(gateway)
  t.equal(status, 200)
  t.match(body, { object: 'list', request_id: 'mbr_trace-7', credits: turn?.credits, has_more: false })
  t.match(body.data, [{ request_id: 'mbr_trace-7', state: 'settled', credits: turn?.credits, input_tokens: 1_000 }])
  t.same((await readTurn(gateway, member.token, 'trace-7')).body, body, "by the client's own id as well")
  t.match(await readTurn(gateway, other.token, 'mbr_trace-7'), { status: 404, body: { code: 'not_found' } })
  t.match(await readTurn(gateway, member.token, 'mbr_other'), { status: 404, body: { code: 'not_found' } })
  t.match(await get(gateway, 'svc_wrong', '/v1/turns/mbr_trace-7'), { status: 401 })

  for (const count of [2, 3]) {
    await gateway.chat(member.token, {}, named)
    const again = (await readTurn(gateway, member.token, 'mbr_trace-7')).body
    t.equal(again.data.length, count, 'an id of several turns lists them')
    t.equal(again.credits, count * (turn?.credits ?? 0))
  }
  const page = await get<ResponseOf<typeof showTurn>>(gateway, member.token, '/v1/turns/mbr_trace-7?limit=1&offset=1')
  t.match(page.body, { has_more: true, credits: turn?.credits })
  t.same(page.body.data.length, 1)

  const { body: usage } = await get<ResponseOf<typeof showKeyUsage>>(gateway, member.token, '/v1/usage')
  t.equal(
    usage.pools.find(({ tier, window }) => tier === 'premium' && window === 'day')?.used,
    3 * (turn?.credits ?? 0),
    'reading changes nothing',
  )

  const bad = ['a'.repeat(69), 'a%20b', 'a%0Ab', "'%20or%201=1", '%C3%A9'] as const
  for (const id of bad) t.equal((await readTurn(gateway, member.token, id)).status, 404, id)
  for (const query of ['limit=0', 'limit=101', 'limit=x', 'offset=-1', `offset=${maxSearchedTurns + 1}`])
    t.equal((await readTurn(gateway, member.token, `mbr_trace-7?${query}`)).status, 400, query)
  t.equal((await readTurn(gateway, member.token, `mbr_${'a'.repeat(64)}`)).status, 404, 'the longest id')
})
