/** An upstream of any API that answers without end, or with more than a member could use, ends the turn; only what was forwarded is charged. */
import t from 'tap'
import type { Test } from 'tap'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import { startScriptedServer } from '../../../../support/upstream/scripted-server.ts'

type Answer = () => { readonly type: string; readonly status?: number; readonly text: string }

const range = <Item>(count: number, create: (index: number) => Item): readonly Item[] =>
  Array.from({ length: count }, (_, index) => create(index))
const many = 20_000
const nested = '['.repeat(20 * 2 ** 20)

const toJson = (document: object | string): Answer => {
  const text = typeof document === 'string' ? document : JSON.stringify(document)
  return () => ({ type: 'application/json', text })
}
const toStream = (events: readonly (object | string)[]): Answer => {
  const text = events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('')
  return () => ({ type: 'text/event-stream', text })
}

const chatCall = (index: number) => ({ index, id: `c${index}`, type: 'function', function: { name: 'f', arguments: '{}' } })
const chatChunk = (delta: object) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: null }],
})
const toolUse = (index: number) => ({ type: 'tool_use', id: `t${index}`, name: 'f', input: {} })
const functionCall = (index: number) => ({ type: 'function_call', call_id: `c${index}`, name: 'f', arguments: '{}' })

const kinds = {
  compatible: {
    upstream: { kind: 'compatible' },
    calls: toJson({ choices: [{ index: 0, message: { tool_calls: range(many, chatCall) }, finish_reason: 'tool_calls' }] }),
    streamedCalls: toStream(range(many, (index) => chatChunk({ tool_calls: [chatCall(index)] }))),
  },
  anthropic: {
    upstream: { kind: 'anthropic' },
    calls: toJson({ type: 'message', role: 'assistant', content: range(many, toolUse), stop_reason: 'tool_use' }),
    streamedCalls: toStream([
      { type: 'message_start', message: { id: 'm', usage: {} } },
      ...range(many, (index) => ({ type: 'content_block_start', index, content_block: toolUse(index) })),
    ]),
  },
  responses: {
    upstream: { kind: 'openai', responses: true },
    calls: toJson({ object: 'response', status: 'completed', output: range(many, functionCall) }),
    streamedCalls: toStream([
      { type: 'response.created', response: { id: 'r', created_at: 1 } },
      ...range(many, (index) => ({ type: 'response.output_item.added', output_index: index, item: functionCall(index) })),
    ]),
  },
} as const

async function startUpstream(t: Test): Promise<{ readonly url: string; answer: Answer }> {
  const upstream = { url: '', answer: toJson({}) }
  const { url } = await startScriptedServer(t, (_, response) => {
    const { type, status = 200, text } = upstream.answer()
    response.writeHead(status, { 'content-type': type }).end(text)
  })
  upstream.url = url
  return upstream
}

for (const [kind, { upstream: config, calls, streamedCalls }] of Object.entries(kinds))
  t.test(`${kind}: 20 000 calls, 20 MB of nesting and events without end end the turn`, async (t) => {
    const upstream = await startUpstream(t)
    const gateway = await startGateway(t, {
      upstreams: { main: { baseUrl: 'demo' }, hostile: { baseUrl: upstream.url, restAfterFailures: 0, ...config } },
      products: { 'svc-2.1': { targets: [{ upstream: 'hostile', model: 'm' }] } },
    })
    const { id, token } = await gateway.createMember()
    const answers: Readonly<Record<string, Answer>> = {
      calls,
      'streamed calls': streamedCalls,
      nesting: toJson(nested),
      'nesting within a document': toJson(`{"choices":${nested}`),
      'streamed nesting': toStream([nested]),
      'twenty megabytes of text': toJson(
        `{"choices":[{"message":{"content":"${'x'.repeat(20 * 2 ** 20)}"},"finish_reason":"stop"}]}`,
      ),
      'an event of twenty megabytes': toStream([`{"choices":[{"delta":{"content":"${'x'.repeat(20 * 2 ** 20)}"}}]}`]),
      'a refusal without end': () => ({ type: 'application/json', status: 500, text: nested }),
    }
    for (const [name, answer] of Object.entries(answers))
      for (const stream of [false, true]) {
        upstream.answer = answer
        const response = await gateway.chat(token, { stream })
        const text = await response.text()
        // The member may have asked for so many, and has received the first ones. Blocks that stay open are no member's doing.
        const isForwarded = stream && name === 'streamed calls' && kind !== 'anthropic'
        t.match(
          text,
          isForwarded ? '"finish_reason":"length"' : /"code":"upstream_/,
          `${name}, ${stream ? 'streamed' : 'whole'}: ${text.slice(0, 300)}`,
        )
        t.ok(text.length < 3_000_000)
        await gateway.waitUntilSettled()
        const [turn] = await gateway.listTurns(id)
        t.match(turn, isForwarded ? { state: 'settled' } : { state: 'refunded', credits: 0 }, name)
        t.equal((turn?.credits ?? 0) > 0, isForwarded, name)
      }
  })

t.test('a forwarded stream that log probabilities make too long is cut off, and what was delivered is charged', async (t) => {
  const upstream = await startUpstream(t)
  const gateway = await startGateway(t, {
    upstreams: { main: { baseUrl: 'demo' }, verbose: { baseUrl: upstream.url } },
    products: { 'svc-2.1': { targets: [{ upstream: 'verbose', model: 'm' }] } },
    limits: { answerBytes: 20_000 },
  })
  const { id, token } = await gateway.createMember()
  const content = [{ token: 'a', logprob: -1, top_logprobs: range(20, (nth) => ({ token: `t${nth}`, logprob: -2 })) }]
  upstream.answer = toStream(
    range(200, () => {
      const { choices, ...chunk } = chatChunk({ content: 'word ' })
      return { ...chunk, choices: choices.map((choice) => ({ ...choice, logprobs: { content } })) }
    }),
  )
  const response = await gateway.chat(token, { stream: true, logprobs: true, top_logprobs: 20 })
  const text = await response.text()
  t.match(text, '"finish_reason":"length"')
  await gateway.waitUntilSettled()
  const [turn] = await gateway.listTurns(id)
  t.match(turn, { state: 'settled' })
  t.ok((turn?.outputTokens ?? 0) >= text.split('"content":"word "').length - 2, `${turn?.outputTokens} tokens`)
})
