/** What an upstream of another API does like any other upstream; each API's test file runs it with answers of its own. */
import type { Test } from 'tap'
import { expectErrorEnvelope } from '../../../../support/gateway/error-envelope.ts'
import type { ScriptedGateway } from '../../../../support/gateway/scripted-gateway.ts'
import type { Overrides } from '../../../../support/gateway/test-gateway.ts'
import type { ScriptedServer } from '../../../../support/upstream/scripted-server.ts'
import { waitUntil } from '../../../../support/wait-until.ts'

export const messages = [{ role: 'user', content: 'Hello!' }]
/** One request per API format of clients. */
export const requests = [
  ['/v1/chat/completions', { messages }],
  ['/v1/messages', { messages, max_tokens: 200 }],
  ['/v1/responses', { input: 'Hello!' }],
] as const

interface Received {
  readonly stream?: boolean
}

export interface Adapter<Request extends Received, Answer> {
  setUp(t: Test, answer?: (request: Request, before: number) => Answer, overrides?: Overrides): Promise<ScriptedGateway<Request>>
  startServer(t: Test, answer: () => Answer): Promise<ScriptedServer<Request>>
  /** The product's target, and the configuration of an upstream beside it. */
  readonly upstream: string
  readonly model: string
  readonly spare: { readonly model: string; readonly upstream: object }
  /** What no member may read. */
  readonly hidden: RegExp
  /** The text of an answer that is not scripted. */
  readonly greeting: string
  createText(text: string, usage?: object): Answer
  /** Reasoning `Hm.`, text `Looking.` and a call of `look` with this id and `{"at":"x"}`. */
  readonly call: { readonly id: string; readonly answer: Answer }
  readonly overloaded: Answer
  /** A prompt's usage that is reported first, and what the turn of a client that leaves then has. */
  readonly disconnect: { readonly usage: object; readonly turn: object }
  readonly failures: readonly (readonly [
    name: string,
    answer: Answer & { readonly failure: { readonly status: number } },
    code: string,
    status: number,
  ])[]
  /** Where `call` is cut: after each number of events below `events`, by each fault; and the ends that no client may see. */
  readonly cuts: {
    readonly events: number
    readonly kinds: readonly string[]
    readonly format: (typeof requests)[number]
    readonly end: string
  }
}

export function testAdapter<Request extends Received, Answer>(t: Test, adapter: Adapter<Request, Answer>): void {
  const { setUp, upstream, model, greeting } = adapter
  const target = `${upstream}/${model}`

  t.test('answers clients of each API format, whole and streamed, and charges what the upstream reports', async (t) => {
    const { gateway, server, account, post } = await setUp(t)
    for (const [path, body] of requests)
      for (const stream of [false, true]) {
        const response = await post(path, { ...body, stream })
        const text = await response.text()
        t.equal(response.status, 200, path)
        t.ok(text.includes(stream ? greeting.slice(0, 9) : greeting), `${path}: ${text}`)
        t.notMatch(text, adapter.hidden)
        const [turn] = await gateway.listTurns(account)
        t.match(turn, { state: 'settled', inputTokens: 20, outputTokens: 8, estimated: false, target })
      }
    t.same(server.rejected, [])
    t.ok(
      server.requests.every(({ stream }) => stream === true),
      'whole answers are requested as streams too',
    )
  })

  t.test('requests a whole answer from an upstream that is configured not to stream', async (t) => {
    const { id, answer } = adapter.call
    const { server, post } = await setUp(t, () => answer, { upstreams: { [upstream]: { streams: false } } })
    const message = {
      content: 'Looking.',
      reasoning_content: 'Hm.',
      tool_calls: [{ id, function: { name: 'look', arguments: '{"at":"x"}' } }],
    }
    t.match(await (await post('/v1/chat/completions', { messages })).json(), {
      model: 'svc-2.1',
      choices: [{ finish_reason: 'tool_calls', message }],
      usage: { prompt_tokens: 20, completion_tokens: 8 },
    })
    t.equal(server.requests[0]?.stream, undefined)
  })

  for (const [name, answer, code, status] of adapter.failures)
    t.test(`refunds a turn that fails by ${name}`, async (t) => {
      const { gateway, account, post } = await setUp(t, () => answer)
      const response = await post('/v1/chat/completions', { messages })
      if (status === 429) t.equal(response.headers.get('retry-after'), '7')
      const envelope = await expectErrorEnvelope(t, response, { status, code })
      t.equal(envelope.debug.upstreamStatus, answer.failure.status)
      t.notMatch(JSON.stringify(envelope), adapter.hidden)
      t.match(await gateway.listTurns(account), [{ state: 'refunded' }])
    })

  t.test('fails over from an upstream that is overloaded to another one', async (t) => {
    const { url } = await adapter.startServer(t, () => adapter.createText('Hello'))
    const { gateway, account, token } = await setUp(t, () => adapter.overloaded, {
      upstreams: { spare: { baseUrl: url, ...adapter.spare.upstream } },
      products: {
        'svc-2.1': {
          targets: [
            { upstream, model },
            { upstream: 'spare', model: adapter.spare.model, weight: 0 },
          ],
        },
      },
    })
    t.equal((await gateway.chat(token)).status, 200)
    t.match(await gateway.listTurns(account), [{ state: 'settled', target: `spare/${adapter.spare.model}` }])
  })

  t.test('never ends a stream that was cut at any event like a complete one, and charges nothing for it', async (t) => {
    const { events, kinds, format, end } = adapter.cuts
    let scripted = adapter.call.answer
    const { gateway, account, post } = await setUp(t, () => scripted, { upstreams: { [upstream]: { restAfterFailures: 0 } } })
    for (const kind of kinds)
      // A stream without any event is requested once more, whole.
      for (let i = kind === 'endAfter' ? 1 : 0; i < events; i++) {
        scripted = { ...adapter.call.answer, [kind]: i }
        for (const [[path, body], mark] of [
          [requests[0], '"finish_reason":"'],
          [format, end],
        ] as const) {
          const text = await (await post(path, { ...body, stream: true })).text()
          t.notOk(text.includes(mark), `${kind} ${i} ${path}`)
          t.match(await gateway.listTurns(account), [{ state: 'refunded' }], `${kind} ${i} ${path}`)
        }
        t.not((await post('/v1/chat/completions', { messages })).status, 200, `${kind} ${i} whole`)
      }
  })

  t.test('cuts off an upstream that ignores the cap', async (t) => {
    const { gateway, account, post } = await setUp(t, () =>
      adapter.createText('many words '.repeat(400), { output_tokens: 1_000 }),
    )
    const answer = (await (await post('/v1/chat/completions', { messages, max_tokens: 20 })).json()) as {
      choices: { finish_reason: string; message: { content: string } }[]
    }
    t.equal(answer.choices[0]?.finish_reason, 'length')
    t.ok((answer.choices[0]?.message.content.length ?? 0) < 2_000)
    const [turn] = await gateway.listTurns(account)
    t.ok((turn?.outputTokens ?? 0) <= 20)
  })

  t.test('charges a client that disconnects for the prompt and the output so far', async (t) => {
    const { gateway, account, token } = await setUp(t, () => ({
      ...adapter.createText('word '.repeat(400), adapter.disconnect.usage),
      pauseMs: 20,
    }))
    const leave = new AbortController()
    const response = await gateway.chat(token, { stream: true }, { signal: leave.signal })
    const reader = response.body!.getReader()
    for (let read = 0; read < 5; read++) await reader.read()
    leave.abort()
    await gateway.waitUntilSettled()
    const [turn] = await gateway.listTurns(account)
    t.match(turn, { state: 'settled', ...adapter.disconnect.turn })
    t.ok((turn?.outputTokens ?? 0) > 0 && (turn?.outputTokens ?? 0) < 400)
  })

  t.test('uses the first model that the upstream lists where none is configured', async (t) => {
    const { gateway, account, token } = await setUp(t, undefined, {
      products: { 'svc-2.1': { targets: [{ upstream, model: null }] } },
    })
    await waitUntil(() => gateway.log.some((line) => line.includes('using the first it lists')), 'the list')
    t.equal((await gateway.chat(token)).status, 200)
    t.match(await gateway.listTurns(account), [{ target }])
  })
}
