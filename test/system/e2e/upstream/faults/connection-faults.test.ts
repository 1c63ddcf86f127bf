/** The upstream connection cut or stalled at any point: no request hangs, no partial answer looks complete, no failure is charged. */
import t from 'tap'
import type { Script } from '../../../../support/upstream/script.ts'
import { maxImmediateMs, startGateway } from '../../../../support/gateway/test-gateway.ts'
import { startScriptedServer } from '../../../../support/upstream/scripted-server.ts'

/** How a client reads an answer: complete, reported as failed, or neither (which must never happen). */
async function readVerdict(response: Response, stream: boolean): Promise<'whole' | 'failed' | 'truncated'> {
  return classifyBody(await response.text(), response, stream)
}

function classifyBody(text: string, response: Response, stream: boolean): 'whole' | 'failed' | 'truncated' {
  if (response.status !== 200) return (JSON.parse(text) as { ok: boolean }).ok ? 'truncated' : 'failed'
  if (!stream) return (JSON.parse(text) as { choices: unknown[] }).choices.length > 0 ? 'whole' : 'truncated'
  if (!text.endsWith('data: [DONE]\n\n')) return 'truncated'
  if (/^data: \{"ok":false/m.test(text)) return 'failed'
  return /"finish_reason":"stop"/.test(text) ? 'whole' : 'truncated'
}

t.test('reports a connection that is cut or reset at any byte as failed or complete, as the ledger does', async (t) => {
  const g = await startGateway(t)
  const { id, token } = await g.createMember()
  let calls = 0
  for (const stream of [true, false]) {
    for (const how of ['reset', 'cut'] as const) {
      for (const afterBytes of [...Array.from({ length: 30 }, (_, i) => i * 49), 1_900, 2_400, 3_000]) {
        g.demo.script((): Script => ({ tokens: 8, [how]: { afterBytes } }))
        const from = performance.now()
        const response = await g.chat(token, { stream })
        const text = await response.text()
        const seen = classifyBody(text, response, stream)
        const took = performance.now() - from
        const [turn] = await g.listTurns(id)
        calls++
        const name = `${how} at ${afterBytes}, ${stream ? 'streamed' : 'whole'}`
        if (seen === 'truncated') t.fail(name)
        if (took > maxImmediateMs) t.fail(`${name} took ${took} ms`)
        if (seen === 'failed') {
          if (!text.includes('"code":"upstream_error"') || !text.includes('"quotaRefunded":true')) t.fail(`${name}: ${text}`)
          if (text.includes('"finish_reason":"stop"')) t.fail(`${name} looks like an answer, and failed`)
          if (![200, 502].includes(response.status)) t.fail(`${name}: ${response.status}`)
        }
        if ((seen === 'whole') !== (turn?.state === 'settled')) t.fail(`${name}: ${seen}, but the turn is ${turn?.state}`)
      }
    }
  }
  t.equal((await g.listTurns(id)).length, calls, `${calls} turns, each with its ending`)
  t.equal((await g.services.ledger.verify()).holdsOpen, 0)
})

t.test('ends a head that arrives a byte at a time within the time for the first byte, refunded', async (t) => {
  const g = await startGateway(t, { timeouts: { firstByteMs: 300 } })
  const { token } = await g.createMember()
  g.demo.script(() => ({ drip: { bytes: 1, everyMs: 20 }, tokens: 100 }))
  for (const stream of [true, false]) t.equal(await readVerdict(await g.chat(token, { stream }), stream), 'failed')
  t.match(await g.listTurns(), [
    { state: 'refunded', code: 'upstream_error' },
    { state: 'refunded', code: 'upstream_error' },
  ])
})

t.test('reads events and characters split at any byte', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  const text = '多字节 🎉 text, "quoted"\n\nwith blank lines'
  for (const script of [
    { split: 1 },
    { split: 3 },
    { split: 7, crlf: true },
    { comments: 3 },
    { usageOn: 'every' },
    { usageOn: 'first' },
  ] as Script[]) {
    g.demo.script(() => ({ ...script, text }))
    const streamed = await (await g.chat(token, { stream: true })).text()
    const said = streamed
      .split('\n\n')
      .filter((frame) => frame.startsWith('data: {'))
      .map(
        (frame) => (JSON.parse(frame.slice(6)) as { choices: { delta: { content?: string } }[] }).choices[0]?.delta.content ?? '',
      )
      .join('')
    t.equal(said, text, JSON.stringify(script))
    t.notMatch(streamed, /usage/)
  }
})

t.test('treats an answer over the size limit as a failure and keeps memory bounded', async (t) => {
  const g = await startGateway(t, { limits: { answerBytes: 100_000 } })
  const { token } = await g.createMember()
  g.demo.script(() => ({ hugeBytes: 1_000_000 }))
  t.equal(await readVerdict(await g.chat(token), false), 'failed')
  t.match(await g.listTurns(), [{ state: 'refunded' }])
})

t.test('forwards a stream of four times the size limit, and cuts a longer one off', async (t) => {
  const toEvent = (delta: object, finish: string | null): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
  const event = toEvent({ content: 'a' }, null)
  const end = `${toEvent({}, 'stop')}data: [DONE]\n\n`
  let bytes = 0
  const server = await startScriptedServer(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(event.repeat((bytes - end.length) / event.length) + end)
  })
  const g = await startGateway(t, { limits: { answerBytes: 100_000 }, upstreams: { main: { baseUrl: server.url } } })
  const { token } = await g.createMember()
  for (const [size, verdict, state] of [
    [399_000, 'whole', 'settled'],
    [401_000, 'truncated', 'settled'],
  ] as const) {
    bytes = size
    t.equal(await readVerdict(await g.chat(token, { stream: true }), true), verdict)
    t.match((await g.listTurns())[0], { state })
  }
})

t.test('charges no implausible usage figures', async (t) => {
  const g = await startGateway(t)
  const { token } = await g.createMember()
  for (const usage of [
    null,
    { prompt_tokens: -1, completion_tokens: 5 },
    { prompt_tokens: 5, completion_tokens: 1e308 },
    { prompt_tokens: '9', completion_tokens: '9' },
    'x',
    { prompt_tokens: 5 },
  ]) {
    for (const stream of [true, false]) {
      g.demo.script(() => ({ usage, tokens: 10 }))
      t.equal(await readVerdict(await g.chat(token, { stream }), stream), 'whole')
      const [turn] = await g.listTurns()
      t.match(turn, { state: 'settled', estimated: true, outputTokens: stream ? 10 : /^\d+$/ }, JSON.stringify(usage))
      t.ok((turn?.credits ?? -1) >= 0 && (turn?.credits ?? Infinity) < 100)
    }
  }
})
