/** An upstream may answer a request for a stream whole, and a request for a whole answer with a stream: each member receives what it requested. */
import t from 'tap'
import { startGateway } from '../../../../support/gateway/test-gateway.ts'
import { sendJson, startScriptedServer } from '../../../../support/upstream/scripted-server.ts'

const call = { id: 'a', type: 'function', function: { name: 'look', arguments: '{"at":"x"}' } }
const completion = {
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'up',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Looking.', tool_calls: [call] }, finish_reason: 'tool_calls' }],
  usage: { prompt_tokens: 20, completion_tokens: 8, total_tokens: 28 },
}
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'up',
  content: [
    { type: 'text', text: 'Looking.' },
    { type: 'tool_use', id: 'a', name: 'look', input: { at: 'x' } },
  ],
  stop_reason: 'tool_use',
  usage: { input_tokens: 20, output_tokens: 8 },
}
const chunk = (choice: object) => ({
  ...completion,
  object: 'chat.completion.chunk',
  usage: undefined,
  choices: [{ index: 0, ...choice }],
})
const upstreams = {
  chat: {
    whole: completion,
    stream: [
      chunk({ delta: { role: 'assistant', content: 'Looking.' } }),
      chunk({ delta: { tool_calls: [{ index: 0, ...call }] } }),
      chunk({ delta: {}, finish_reason: 'tool_calls' }),
      { ...completion, choices: [], object: 'chat.completion.chunk' },
    ],
  },
  anthropic: {
    whole: message,
    stream: [
      { type: 'message_start', message: { ...message, content: [] } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Looking.' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 'a', name: 'look', input: {} } },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"at":"x"}' } },
      { type: 'content_block_stop', index: 1 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 8 } },
      { type: 'message_stop' },
    ],
  },
}
const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }]
const messages = [{ role: 'user', content: 'Look!' }]
const formats: readonly (readonly [string, string, object])[] = [
  ['/v1/chat/completions', '/v1/chat/completions', { messages, tools }],
  ['/v1/messages', '/v1/messages', { messages, max_tokens: 200 }],
  ['/v1/responses', '/v1/responses', { input: 'Look!' }],
  [
    '/v1beta/models/svc-2.1:generateContent',
    '/v1beta/models/svc-2.1:streamGenerateContent?alt=sse',
    { contents: [{ role: 'user', parts: [{ text: 'Look!' }] }] },
  ],
]

for (const [kind, { whole, stream }] of Object.entries(upstreams))
  for (const isStreamed of [true, false])
    t.test(`${isStreamed ? 'a stream' : 'a whole answer'} that an upstream of ${kind} answers in the other form`, async (t) => {
      const calls: unknown[] = []
      const server = await startScriptedServer(t, (request, response) => {
        if (request.method === 'POST') calls.push(request.url)
        if (isStreamed) return sendJson(response, 200, whole)
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        for (const event of stream) response.write(`data: ${JSON.stringify(event)}\n\n`)
        response.end(kind === 'chat' ? 'data: [DONE]\n\n' : '')
      })
      const gateway = await startGateway(t, {
        upstreams: {
          other: { baseUrl: server.url, ...(kind === 'anthropic' ? { kind } : {}), ...(isStreamed ? {} : { streams: false }) },
        },
        products: { 'svc-2.1': { targets: [{ upstream: 'other', model: 'up' }] } },
      })
      const { id, token } = await gateway.createMember()
      for (const [wholePath, streamPath, body] of formats) {
        const path = isStreamed ? streamPath : wholePath
        const response = await fetch(gateway.url + path, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ ...(path.includes('v1beta') ? {} : { model: 'svc-2.1', stream: isStreamed }), ...body }),
        })
        const text = await response.text()
        t.equal(response.status, 200, `${path}: ${text}`)
        t.match(response.headers.get('content-type'), isStreamed ? /event-stream/ : /json/, path)
        t.match(text, /Looking\./, path)
        t.match(text, /"look"/, path)
        await gateway.waitUntilSettled()
        const turns = await gateway.listTurns(id)
        t.match(turns[0], { state: 'settled', inputTokens: 20, outputTokens: 8, estimated: false }, path)
      }
      t.equal(calls.length, formats.length, 'no turn takes a second call')
    })
