/** Errors that an upstream reports within its answer: what was delivered is charged where the request is the cause, and refunded otherwise. */
import t from 'tap'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import type { Overrides } from '../../support/gateway/test-gateway.ts'
import { startScriptedServer } from '../../support/servers/scripted-server.ts'

interface UpstreamCase {
  readonly settings: Readonly<Record<string, unknown>>
  /** Events with 40 words of output. */
  readonly output: string
  readonly refusals: readonly object[]
  readonly failures: readonly object[]
}

const words = 'word '.repeat(40)
const toEvent = (event: { readonly type?: string }): string =>
  `${event.type === undefined ? '' : `event: ${event.type}\n`}data: ${JSON.stringify(event)}\n\n`
const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' }

const upstreams: Readonly<Record<string, UpstreamCase>> = {
  'chat completions': {
    settings: {},
    output: toEvent({ ...chunk, choices: [{ index: 0, delta: { content: words }, finish_reason: null }] } as object),
    refusals: [
      { error: { message: 'Invalid image in the request.', type: 'invalid_request_error' } },
      { error: { message: 'the schema is no grammar', type: 'BadRequestError', code: 400 } },
      { error: { message: 'the request exceeds the available context size', type: 'exceed_context_size_error', code: 400 } },
      { error: { message: 'Failed to parse messages: no such role', type: 'server_error', code: 500 } },
    ],
    failures: [
      { error: { message: 'CUDA error: out of memory', type: 'server_error', code: 500 } },
      { error: { message: 'Overloaded', code: 503 } },
      { error: { message: 'Too many requests', code: 429 } },
      { error: 'it broke' },
    ],
  },
  messages: {
    settings: { kind: 'anthropic' },
    output: [
      {
        type: 'message_start',
        message: {
          id: 'm',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 5, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: words } },
    ]
      .map(toEvent)
      .join(''),
    refusals: [{ type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long' } }],
    failures: [
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      { type: 'error', error: { type: 'api_error', message: 'Internal server error' } },
    ],
  },
  responses: {
    settings: { responses: true },
    output: [
      { type: 'response.created', response: { id: 'r', object: 'response', status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item: { id: 'i', type: 'message', role: 'assistant', content: [] } },
      { type: 'response.output_text.delta', item_id: 'i', output_index: 0, content_index: 0, delta: words },
    ]
      .map(toEvent)
      .join(''),
    refusals: [
      { type: 'error', code: 'invalid_image', message: 'The image cannot be read.', param: null },
      { type: 'response.failed', response: { id: 'r', status: 'failed', error: { code: 'invalid_prompt', message: 'No.' } } },
    ],
    failures: [
      { type: 'error', code: 'server_error', message: 'It broke.', param: null },
      { type: 'response.failed', response: { id: 'r', status: 'failed', error: { code: 'server_error', message: 'It broke.' } } },
    ],
  },
}

for (const [name, { settings, output, refusals, failures }] of Object.entries(upstreams))
  for (const isStreamed of [true, false])
    t.test(`an upstream of ${name} that refuses within ${isStreamed ? 'a stream' : 'a whole answer'}`, async (t) => {
      let [error, isInOnePiece]: [object, boolean] = [{}, false]
      const server = await startScriptedServer(t, (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        isInOnePiece = !isInOnePiece
        if (isInOnePiece) response.end(output + toEvent(error))
        else response.write(output, () => setImmediate(() => response.end(toEvent(error))))
      })
      const scripted = { baseUrl: server.url, restAfterFailures: 0, ...settings }
      const targets = [{ upstream: 'scripted', model: 'm' }]
      const g = await startGateway(t, { upstreams: { scripted }, products: { 'svc-2.1': { targets } } } as Overrides)
      const { token } = await g.createMember()
      const send = async (event: object): Promise<string> => {
        error = event
        const answer = await fetch(`${g.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({
            model: 'svc-2.1',
            max_tokens: 500,
            stream: isStreamed,
            messages: [{ role: 'user', content: 'Hello!' }],
          }),
        })
        return answer.text()
      }
      for (const event of refusals.flatMap((each) => [each, each])) {
        const text = await send(event)
        const [turn] = await g.listTurns()
        if (isStreamed) {
          t.match(text, /word word.*"finish_reason":"length".*\[DONE\]\s*$/s, JSON.stringify(event))
          t.notMatch(text, /upstream_|"error":\{/)
          t.match(turn, { state: 'settled', code: null })
          t.ok((turn?.outputTokens ?? 0) >= 40, `${turn?.outputTokens} tokens`)
        } else {
          t.match(text, /"code":"(?:invalid_request|context_length_exceeded|content_filter)"/)
          t.match(turn, { state: 'refunded' })
        }
      }
      for (const event of failures) {
        t.match(await send(event), /"code":"upstream_\w+".*"quotaRefunded":true/s, JSON.stringify(event))
        t.match((await g.listTurns())[0], { state: 'refunded' })
      }
    })
