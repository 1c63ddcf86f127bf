/** Fields that the gateway adds are never the member's fault: a target that refuses one is called again without it, and this is remembered. */
import t from 'tap'
import { expectErrorEnvelope } from '../../../support/gateway/error-envelope.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import type { Overrides, TestGateway } from '../../../support/gateway/test-gateway.ts'
import { sendJson, startScriptedServer } from '../../../support/upstream/scripted-server.ts'

type Body = Record<string, unknown>

const content = { reasoning_content: 'Hm.', content: 'Hello.' }

/** An upstream that refuses what `refuse` returns, in its own words, and answers everything else. */
async function startRejectingUpstream(
  t: Parameters<typeof startGateway>[0],
  refuse: (sent: Body) => readonly [status: number, body: unknown] | null,
  { list = [], main = {}, model = 'm' }: { list?: unknown[]; main?: object; model?: string | null } = {},
): Promise<{ g: TestGateway; token: string; sent: readonly Body[] }> {
  const { url, requests: sent } = await startScriptedServer<Body>(t, (request, response, text, { requests }) => {
    if (request.method === 'GET') return sendJson(response, 200, { object: 'list', data: list })
    const body = JSON.parse(text) as Body
    requests.push(body)
    const refusal = refuse(body)
    if (refusal !== null) return sendJson(response, ...refusal)
    const usage = { prompt_tokens: 18, completion_tokens: 2, total_tokens: 20 }
    const head = { id: 'x', created: 1, model: 'm' }
    if (body['stream'] !== true) {
      const choices = [{ index: 0, message: { role: 'assistant', ...content }, finish_reason: 'stop' }]
      return sendJson(response, 200, { ...head, object: 'chat.completion', choices, usage })
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const chunk = (fields: object): string =>
      `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...fields })}\n\n`
    const delta = { role: 'assistant', ...content }
    response.write(chunk({ choices: [{ index: 0, delta, finish_reason: null }] }))
    response.write(chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }))
    response.end(`${chunk({ choices: [], usage })}data: [DONE]\n\n`)
  })
  const overrides: Overrides = {
    upstreams: { main: { baseUrl: url, ...main } },
    products: { 'svc-2.1': { targets: [{ upstream: 'main', model }] } },
  }
  const g = await startGateway(t, overrides)
  const { token } = await g.createMember()
  return { g, token, sent }
}

const createRejection = (status: number, message: string, more: object = {}) =>
  [status, { error: { message, type: 'invalid_request_error', param: null, code: null, ...more } }] as const

t.test('cuts the gateway’s own cap to the context that the prompt leaves, at once and from then on', async (t) => {
  for (const [who, status, words] of [
    [
      'vLLM',
      400,
      (cap: number) =>
        `This model's maximum context length is 4096 tokens. However, you requested ${18 + cap} tokens (18 in the messages, ${cap} in the completion). Please reduce the length of the messages or completion.`,
    ],
    [
      'vLLM, later',
      400,
      (cap: number) =>
        `'max_tokens' or 'max_completion_tokens' is too large: ${cap}. This model's maximum context length is 4096 tokens and your request has 18 input tokens (${cap} > 4096 - 18).`,
    ],
    [
      'vLLM, latest',
      400,
      (cap: number) =>
        `This model's maximum context length is 4096 tokens. However, you requested ${cap} output tokens and your prompt contains at least 1 input tokens, for a total of at least ${cap + 1} tokens.`,
    ],
    [
      'SGLang',
      400,
      (cap: number) =>
        `Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of ${18 + cap} tokens: 18 tokens from the input messages and ${cap} tokens for the completion.`,
    ],
    [
      'TGI',
      422,
      (cap: number) =>
        `Input validation error: \`inputs\` tokens + \`max_new_tokens\` must be <= 4096. Given: 18 \`inputs\` tokens and ${cap} \`max_new_tokens\``,
    ],
    [
      'Anthropic',
      400,
      (cap: number) =>
        `input length and \`max_tokens\` exceed context limit: 18 + ${cap} > 4096, decrease input length or \`max_tokens\` and try again`,
    ],
    [
      'OpenRouter',
      400,
      (cap: number) =>
        `This endpoint's maximum context length is 4096 tokens. However, you requested about ${18 + cap} tokens (18 of text input, ${cap} in the output).`,
    ],
    [
      'OpenAI: answers',
      400,
      (cap: number) =>
        `max_tokens is too large: ${cap}. This model supports at most 4,078 completion tokens, whereas you provided ${cap}.`,
    ],
    ['DeepSeek: answers', 400, () => 'Invalid max_tokens value, the valid range of max_tokens is [1, 4078]'],
    [
      'Groq: answers',
      400,
      () =>
        '`max_tokens` must be less than or equal to `4078`, the maximum value for `max_tokens` is less than the `context_window` for this model',
    ],
    ['no number at all', 400, () => 'max_tokens is too high for this model'],
  ] as const) {
    const { g, token, sent } = await startRejectingUpstream(t, ({ max_tokens: cap }) =>
      Number(cap) > 4_078 ? createRejection(status, words(Number(cap))) : null,
    )
    t.equal((await g.chat(token)).status, 200, who)
    t.equal(sent.length, 2, `${who}: asked again once`)
    t.ok(Number(sent[1]?.['max_tokens']) >= 1_000, `${who}: ${String(sent[1]?.['max_tokens'])}`)
    t.match(await g.listTurns(), [{ state: 'settled', inputTokens: 18 }])
    if (who === 'no number at all') continue
    t.equal((await g.chat(token)).status, 200)
    t.equal(sent.length, 3, `${who}: and it is remembered`)
  }
})

t.test('leaves the caller’s own cap to the caller', async (t) => {
  const { g, token, sent } = await startRejectingUpstream(t, () =>
    createRejection(
      400,
      "This model's maximum context length is 4096 tokens. However, you requested 8018 tokens (18 in the messages, 8000 in the completion).",
    ),
  )
  await expectErrorEnvelope(t, await g.chat(token, { max_tokens: 8_000 }), { status: 400, code: 'context_length_exceeded' })
  t.equal(sent.length, 1)
})

t.test('reports a prompt that is too long as such, not as a cap', async (t) => {
  const { g, token, sent } = await startRejectingUpstream(t, () =>
    createRejection(
      400,
      "This model's maximum context length is 4096 tokens. However, you requested 13192 tokens (5000 in the messages, 8192 in the completion).",
    ),
  )
  await expectErrorEnvelope(t, await g.chat(token), { status: 400, code: 'context_length_exceeded' })
  t.equal(sent.length, 1)
})

t.test('learns the name of the cap and fields that a target does not accept', async (t) => {
  const { g, token, sent } = await startRejectingUpstream(t, (body) => {
    if ('max_tokens' in body)
      return createRejection(
        400,
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        {
          param: 'max_tokens',
          code: 'unsupported_parameter',
        },
      )
    if ('user' in body)
      return [422, { detail: [{ type: 'extra_forbidden', loc: ['body', 'user'], msg: 'Extra inputs are not permitted' }] }]
    return null
  })
  t.equal((await g.chat(token, { max_tokens: 100, user: 'jane' })).status, 200)
  t.match(sent.at(-1), { max_completion_tokens: 100 })
  t.equal(sent.length, 3)
  t.equal((await g.chat(token, { user: 'jane' })).status, 200)
  t.equal(sent.length, 4)
})

t.test('reports a target that keeps refusing the gateway’s own fields as the operator’s fault', async (t) => {
  const { g, token, sent } = await startRejectingUpstream(t, () =>
    createRejection(400, "Invalid value for 'max_tokens'.", { param: 'max_tokens' }),
  )
  await expectErrorEnvelope(t, await g.chat(token), { status: 503, code: 'upstream_not_configured' })
  t.ok(sent.length <= 4)
  t.match(await g.listTurns(), [{ state: 'refunded' }])
})

t.test('renames a role that a target does not accept', async (t) => {
  const refuse = ({ messages }: Body): readonly [number, unknown] | null =>
    (messages as { role: string }[])[0]?.role === 'developer'
      ? createRejection(
          422,
          'messages[0].role: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`',
        )
      : null
  const { g, token, sent } = await startRejectingUpstream(t, refuse, { main: { developerRole: 'developer' } })
  const messages = [
    { role: 'developer', content: 'Be brief.' },
    { role: 'user', content: 'x' },
  ]
  t.equal((await g.chat(token, { messages })).status, 200)
  t.equal(sent.length, 2)
})

function postMessage({ url }: TestGateway, token: string, body: object): Promise<Response> {
  return fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc-2.1', max_tokens: 32_000, messages: [{ role: 'user', content: 'Hi' }], ...body }),
  })
}

t.test('leaves out an effort that agents send by default, for a target without reasoning', async (t) => {
  const refuse = (body: Body): readonly [number, unknown] | null =>
    body['reasoning_effort'] === undefined
      ? null
      : createRejection(400, "Unsupported parameter: 'reasoning_effort' is not supported with this model.", {
          param: 'reasoning_effort',
        })
  const { g, token, sent } = await startRejectingUpstream(t, refuse)
  for (let i = 0; i < 2; i++) {
    const response = await postMessage(g, token, { output_config: { effort: 'low' } })
    t.equal(response.status, 200)
    await response.text()
  }
  t.equal(sent.length, 3, 'the second turn knows')
  // A member who sets the field in a chat request has chosen it.
  await expectErrorEnvelope(t, await g.chat(token, { reasoning_effort: 'low' }), { status: 400, code: 'invalid_request' })
})

t.test('sends reasoning back only to a target that accepts it', async (t) => {
  const hasReasoning = ({ messages }: Body): boolean =>
    (messages as Body[]).some((message) => message['reasoning_content'] !== undefined)
  const refuse = (body: Body): readonly [number, unknown] | null =>
    hasReasoning(body)
      ? [
          422,
          {
            detail: [
              {
                type: 'extra_forbidden',
                loc: ['body', 'messages', 1, 'assistant', 'reasoning_content'],
                msg: 'Extra inputs are not permitted',
              },
            ],
          },
        ]
      : null
  for (const [name, size, main, requests] of [
    ['a small request to a target that rejects it', 1, {}, 4],
    ['a large request to a target that rejects it', 300_000, {}, 4],
    ['a small request to OpenAI', 1, { kind: 'openai' }, 3],
    ['a large request to OpenAI', 300_000, { kind: 'openai' }, 3],
  ] as const) {
    const { g, token, sent } = await startRejectingUpstream(t, refuse, { main })
    const first = (await (await postMessage(g, token, {})).json()) as { content: { type: string }[] }
    t.equal(first.content[0]?.type, 'thinking')
    const messages = [
      { role: 'user', content: 'x'.repeat(size) },
      { role: 'assistant', content: first.content },
      { role: 'user', content: 'And?' },
    ]
    for (let i = 0; i < 2; i++) {
      const response = await postMessage(g, token, { messages })
      t.equal(response.status, 200, name)
      await response.text()
    }
    t.equal(sent.length, requests, name)
    t.match(sent.at(-1)?.['messages'], [{ content: 'x'.repeat(size) }, { content: 'Hello.' }, { content: 'And?' }])
    if (requests === 4) t.match(sent[1]?.['messages'], [{}, { reasoning_content: 'Hm.' }], 'it was sent first')
  }
})

t.test('lowers a cap that agents set whatever the prompt', async (t) => {
  const refuse = (body: Body): readonly [number, unknown] | null =>
    Number(body['max_tokens']) > 8_192
      ? createRejection(400, 'max_tokens is too large: 32000. This model supports at most 8192 completion tokens.', {
          param: 'max_tokens',
        })
      : null
  const { g, token, sent } = await startRejectingUpstream(t, refuse)
  for (let i = 0; i < 2; i++) {
    const response = await postMessage(g, token, {})
    t.equal(response.status, 200)
    await response.text()
  }
  t.same(
    sent.map((body) => body['max_tokens']),
    [32_000, 8_192, 8_192],
  )
  t.equal((await postMessage(g, token, { max_tokens: 5 })).status, 200)
  t.equal(sent.at(-1)?.['max_tokens'], 5)
})

t.test('what its model list says is known before the first turn', async (t) => {
  for (const [who, item] of [
    ['vLLM', { max_model_len: 2_048 }],
    ['OpenRouter', { context_length: 100_000, top_provider: { context_length: 2_048, max_completion_tokens: null } }],
    ['Groq', { context_window: 2_048, max_completion_tokens: 2_048 }],
  ] as const) {
    const { g, token, sent } = await startRejectingUpstream(t, () => null, { list: [{ id: 'm', ...item }], model: null })
    const upstream = g.services.upstreams.get('main')
    if (upstream === undefined) throw new Error('no upstream')
    const dialect = g.services.upstreams.getDialect('main/m', upstream)
    for (let i = 0; i < 400 && dialect.contextLength === null; i++) await new Promise((resolve) => setTimeout(resolve, 5))
    t.equal((await g.chat(token)).status, 200)
    t.ok(Number(sent[0]?.['max_tokens']) < 2_048, `${who}: ${String(sent[0]?.['max_tokens'])}`)
  }
})
