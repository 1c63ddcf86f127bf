/** Same session, same target: conversations of agents in each API format, small and large, with the metric of cached tokens. */
import t from 'tap'
import { startFakeUpstream } from '../../../../support/upstream/server.ts'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'

interface AgentTurn {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: object
}

const long = 'A line of a file. '.repeat(10_000)

/** The first turn of a session, and a later one that is parsed by another thread. */
const agents: Readonly<Record<string, (session: number) => readonly AgentTurn[]>> = {
  Codex: (session) =>
    [[], [{ role: 'user', content: long }]].map((rest) => ({
      path: '/v1/responses',
      headers: { 'session-id': `01a20c6e-${session}`, 'thread-id': `01a20c6e-${session}` },
      body: { prompt_cache_key: `01a20c6e-${session}`, input: [{ role: 'user', content: 'Hello' }, ...rest] },
    })),
  'Claude Code': (session) =>
    [[], [{ role: 'user', content: long }]].map((rest) => ({
      path: '/v1/messages',
      headers: { 'x-claude-code-session-id': `7a108f47-${session}` },
      body: { max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }, ...rest] },
    })),
  'a client with metadata.user_id': (session) =>
    ['Hello', long].map((content) => ({
      path: '/v1/messages',
      headers: {},
      body: { max_tokens: 50, metadata: { user_id: `user-${session}` }, messages: [{ role: 'user', content }] },
    })),
  'a client that names no session': (session) =>
    [
      [],
      [
        { role: 'assistant', content: 'Hi' },
        { role: 'user', content: long },
      ],
    ].map((rest) => ({
      path: '/v1/chat/completions',
      headers: {},
      body: { messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: `Hello ${session}` }, ...rest] },
    })),
}

t.test('each turn of a session goes to one target while it is well, and sessions use all targets', async (t) => {
  const [one, two] = [await startFakeUpstream(), await startFakeUpstream()]
  t.teardown(() => Promise.all([one.close(), two.close()]))
  const targets = ['one', 'two'].map((upstream) => ({ upstream, model: 'demo-flagship' }))
  const g = await startGateway(t, {
    upstreams: { one: { baseUrl: one.url }, two: { baseUrl: two.url } },
    products: { 'svc-2.1': { targets } },
  })
  const usage = { prompt_tokens: 100, completion_tokens: 8, prompt_tokens_details: { cached_tokens: 60 } }
  for (const upstream of [one, two]) upstream.script(() => ({ tokens: 8, usage }))
  const { token } = await g.createMember()
  const send = async ({ path, headers, body }: AgentTurn): Promise<string | null | undefined> => {
    const answer = await fetch(g.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'svc-2.1', ...body }),
    })
    t.equal(answer.status, 200, await answer.text())
    // A busy machine may answer before the database has the turn.
    await g.waitUntilSettled()
    return (await g.listTurns())[0]?.target
  }
  let turns = 0
  for (const [agent, toTurns] of Object.entries(agents)) {
    const used = new Set<unknown>()
    for (let session = 0; session < 8; session++) {
      const [first, second] = toTurns(session)
      if (first === undefined || second === undefined) continue
      const target = await send(first)
      t.equal(await send(second), target, `${agent}, session ${session}`)
      used.add(target)
      turns += 2
    }
    t.same([...used].toSorted(), ['one/demo-flagship', 'two/demo-flagship'], agent)
  }

  const [turn] = agents['Codex']?.(1) ?? []
  if (turn === undefined) return
  const target = await send(turn)
  const [busy, other] = target?.startsWith('one/') === true ? [one, 'two/demo-flagship'] : [two, 'one/demo-flagship']
  busy.script(() => ({ status: 429 }))
  t.equal(await send(turn), other, 'another target while it refuses')
  busy.script(() => ({ tokens: 8, usage }))
  t.equal(await send(turn), target, 'and back')

  const metrics = await g.scrapeMetrics()
  const read = (cache: string): number =>
    [
      ...metrics.matchAll(
        new RegExp(`^svc_upstream_prompt_tokens_total\\{target="(?:one|two)/demo-flagship",cache="${cache}"\\} (\\d+)$`, 'gm'),
      ),
    ]
      .map(([, value]) => Number(value))
      .reduce((sum, value) => sum + value, 0)
  const reports = turns + 3
  // The report of a long prompt is too small to be true, so it is not counted.
  t.equal(read('cached') / read('uncached'), 60 / 40)
  t.ok(read('cached') >= (60 * reports) / 2 && read('cached') <= 60 * reports)
})
