/** Requests that other vendors' servers reject, or whose pieces they require again: each in the words of the vendor. */
import t from 'tap'
import { error, ok, startVendor } from '../../../support/gateway/scripted-vendor.ts'
import type { Answer, Body } from '../../../support/gateway/scripted-vendor.ts'

const messagesTools = [{ name: 'read', input_schema: { type: 'object' } }]
const responsesTools = [{ type: 'function', name: 'read', parameters: { type: 'object' } }]
const chatTools = [{ type: 'function', function: { name: 'read', parameters: { type: 'object' } } }]
const hi = { role: 'user', content: 'hi' }
const call = { index: 0, id: 'a', type: 'function', function: { name: 'read', arguments: '{}' } }

/** The second request of a conversation whose first answer was a call. */
const continued: Readonly<Record<string, (answer: readonly Body[]) => Body>> = {
  '/v1/messages': (content) => ({
    tools: messagesTools,
    messages: [
      hi,
      { role: 'assistant', content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }] },
    ],
  }),
  '/v1/responses': (output) => ({
    tools: responsesTools,
    store: false,
    input: [hi, ...output, { type: 'function_call_output', call_id: 'a', output: 'x' }],
  }),
  '/v1/chat/completions': ([message]) => ({
    tools: chatTools,
    messages: [hi, message, { role: 'tool', tool_call_id: 'a', content: 'x' }],
  }),
}

const begun: Readonly<Record<string, Body>> = {
  '/v1/messages': { tools: messagesTools, messages: [hi] },
  '/v1/responses': { tools: responsesTools, store: false, input: [hi] },
  '/v1/chat/completions': { tools: chatTools, messages: [hi] },
}

const signatureMissing = [
  400,
  {
    error: {
      code: 400,
      message: 'Function call is missing a thought_signature in functionCall parts.',
      status: 'INVALID_ARGUMENT',
    },
  },
] as const

for (const [name, fields] of [
  ['Gemini', { extra_content: { google: { thought_signature: 'SIG' } } }],
  ['LiteLLM', { provider_specific_fields: { thought_signature: 'SIG' } }],
  ['a vendor with the field itself', { thought_signature: 'SIG' }],
] as const)
  for (const [path, continueWith] of Object.entries(continued))
    for (const stream of [false, true])
      t.test(
        `the signature on a call of ${name} returns to its upstream: ${path}, ${stream ? 'streamed' : 'whole'}`,
        async (t) => {
          const answer = (text: string, before: number): Answer => {
            if (before === 0) return [{ role: 'assistant', reasoning_content: 'think' }, { tool_calls: [{ ...call, ...fields }] }]
            return text.includes(JSON.stringify(fields).slice(1, -1)) ? ok : signatureMissing
          }
          const { sent, post, read } = await startVendor(t, answer)
          const first = begun[path] ?? {}
          const blocks = stream ? await readStream(await post(path, { ...first, stream })) : await read(path, first)
          if (path !== '/v1/chat/completions') t.notMatch(JSON.stringify(blocks), /SIG/, 'sealed')
          const response = await post(path, continueWith(blocks))
          t.equal(response.status, 200, await response.text())
          t.equal(sent.length, 2)
          if (path !== '/v1/chat/completions') t.match(sent[1], /"reasoning_content":"think"/)
        },
      )

for (const path of ['/v1/messages', '/v1/responses'])
  for (const stream of [false, true])
    t.test(`the encrypted reasoning of OpenRouter returns: ${path}, ${stream ? 'streamed' : 'whole'}`, async (t) => {
      const entry = { type: 'reasoning.encrypted', data: 'SIG', id: 'a', format: 'google-gemini-v1', index: 0 }
      const { sent, post, read } = await startVendor(t, (_, before) =>
        before === 0 ? [{ role: 'assistant', reasoning: 'think' }, { reasoning_details: [entry] }, { tool_calls: [call] }] : ok,
      )
      const first = begun[path] ?? {}
      const blocks = stream ? await readStream(await post(path, { ...first, stream })) : await read(path, first)
      t.notMatch(JSON.stringify(blocks), /SIG/, 'sealed')
      t.equal((await post(path, continued[path]?.(blocks) ?? {})).status, 200)
      t.match(JSON.parse(sent[1] ?? ''), { messages: [hi, { reasoning: 'think', reasoning_details: [entry] }, { role: 'tool' }] })
    })

interface StreamEvent {
  readonly type?: string
  readonly index?: number
  readonly response?: { readonly output: readonly Body[] }
  readonly choices?: readonly { readonly delta: Body }[]
  readonly content_block?: Body
  readonly delta?: { readonly thinking?: string; readonly signature?: string }
}

/** The blocks, items or message of a streamed answer, as a client puts them together. */
async function readStream(response: Response): Promise<readonly Body[]> {
  const events = (await response.text())
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)) as StreamEvent)
  const completed = events.find(({ type }) => type === 'response.completed')
  if (completed !== undefined) return completed.response?.output ?? []
  if (events.some(({ type }) => type === 'message_start')) return joinBlocks(events)
  const deltas = events.flatMap(({ choices }) => (choices ?? []).map(({ delta }) => delta))
  const calls = deltas.flatMap(({ tool_calls: pieces }) => (pieces ?? []) as Body[])
  const [first = {}, ...rest] = calls
  const args = [first, ...rest]
    .map(({ function: called }) => (called as { arguments?: string } | undefined)?.arguments ?? '')
    .join('')
  const { index: _, ...whole } = first
  return [{ role: 'assistant', content: null, tool_calls: [{ ...whole, function: { name: 'read', arguments: args } }] }]
}

function joinBlocks(events: readonly StreamEvent[]): readonly Body[] {
  const blocks: Record<string, unknown>[] = []
  for (const { type, index = 0, content_block: block, delta } of events) {
    if (type === 'content_block_start') blocks[index] = { ...block }
    const open = blocks[index]
    if (type !== 'content_block_delta' || open === undefined) continue
    const { thinking, signature } = delta ?? {}
    if (thinking !== undefined) open['thinking'] = String(open['thinking']) + thinking
    if (signature !== undefined) open['signature'] = signature
  }
  return blocks.map((block) => (block['type'] === 'tool_use' ? { ...block, input: {} } : block))
}

const missing = error('The `reasoning_content` in the thinking mode must be passed back to the API.', {
  code: 'invalid_request_error',
})

t.test('reasoning returns after a switch of the product', async (t) => {
  const answer = (text: string, before: number): Answer => {
    if (before === 0) return [{ role: 'assistant', reasoning_content: 'think' }, { tool_calls: [call] }]
    return text.includes('reasoning_content') ? ok : missing
  }
  for (const path of ['/v1/messages', '/v1/responses']) {
    const { sent, post, read } = await startVendor(t, answer)
    const blocks = await read(path, begun[path] ?? {})
    const response = await post(path, { ...continued[path]?.(blocks), model: 'svc-2.1-pro' })
    t.equal(response.status, 200, await response.text())
    t.equal(sent.length, 2)
    t.match(sent[1], /"reasoning_content":"think"/)
  }
})

const foreign: Readonly<Record<string, readonly [path: string, body: Body]>> = {
  'encrypted reasoning of another service': [
    '/v1/responses',
    continued['/v1/responses']?.([
      { type: 'reasoning', id: 'rs', summary: [], encrypted_content: 'gAAAA' },
      { type: 'function_call', call_id: 'a', name: 'read', arguments: '{}' },
    ]) ?? {},
  ],
  'a Messages history without thinking': [
    '/v1/messages',
    continued['/v1/messages']?.([{ type: 'tool_use', id: 'a', name: 'read', input: {} }]) ?? {},
  ],
  'redacted thinking of another service': [
    '/v1/messages',
    continued['/v1/messages']?.([
      { type: 'redacted_thinking', data: 'EqQB' },
      { type: 'tool_use', id: 'a', name: 'read', input: {} },
    ]) ?? {},
  ],
  'a chat history without reasoning': [
    '/v1/chat/completions',
    continued['/v1/chat/completions']?.([
      { role: 'assistant', content: null, tool_calls: [{ id: 'a', type: 'function', function: call.function }] },
    ]) ?? {},
  ],
}

for (const [vendor, rejection] of [
  ['DeepSeek', missing],
  [
    'DeepSeek, earlier',
    error(
      'Missing `reasoning_content` field in the assistant message at message index 1. For more information, please refer to the documentation.',
    ),
  ],
  ['Moonshot', error('thinking is enabled but reasoning_content is missing in assistant tool call message at index 1')],
  [
    'a server that checks a schema',
    [422, { detail: [{ type: 'missing', loc: ['body', 'messages', 1, 'reasoning_content'], msg: 'Field required' }] }],
  ],
] as const)
  t.test(`a rejection for missing reasoning is repaired once and remembered: ${vendor}`, async (t) => {
    for (const [name, [path, body]] of Object.entries(foreign)) {
      const { sent, post } = await startVendor(t, (text) => (text.includes('"reasoning_content":""') ? ok : rejection))
      for (const count of [2, 3]) {
        const response = await post(path, body)
        t.equal(response.status, 200, `${name}: ${await response.text()}`)
        t.equal(sent.length, count, name)
      }
    }
  })

t.test('a rejection for missing reasoning is not repaired twice', async (t) => {
  const { sent, post } = await startVendor(t, () => missing)
  const [path, body] = foreign['a Messages history without thinking'] ?? ['', {}]
  t.not((await post(path, body)).status, 200)
  t.equal(sent.length, 2)
})

t.test('calls of another model get the signature that Google documents for them, after the first rejection', async (t) => {
  const { sent, post } = await startVendor(t, (text) =>
    text.includes('skip_thought_signature_validator') ? ok : signatureMissing,
  )
  for (const [path, body] of Object.values(foreign)) {
    const response = await post(path, body)
    t.equal(response.status, 200, await response.text())
  }
  t.equal(sent.length, 5)
})

t.test('a signature that the upstream cannot read is left out', async (t) => {
  const answer = (text: string): Answer => (text.includes('OLD') ? error('Corrupted thought signature.') : ok)
  const { sent, post } = await startVendor(t, answer)
  const old = { id: 'a', type: 'function', function: call.function, extra_content: { google: { thought_signature: 'OLD' } } }
  const body = continued['/v1/chat/completions']?.([{ role: 'assistant', content: null, tool_calls: [old] }]) ?? {}
  t.equal((await post('/v1/chat/completions', body)).status, 200)
  t.equal(sent.length, 2)
})

t.test('a product id with the suffix of a long context is served, and counted', async (t) => {
  const { sent, post } = await startVendor(t, () => ok)
  const body = { model: 'svc-2.1[1m]', max_tokens: 50, messages: [hi] }
  for (const model of ['svc-2.1[1m]', 'svc-2.1-pro[1m]', 'claude-opus-4-8[1m]']) {
    const response = await post('/v1/messages', { ...body, model })
    t.equal(response.status, 200, await response.text())
    const counted = await post('/v1/messages/count_tokens', { model, messages: [hi] })
    t.match([counted.status, await counted.json()], [200, { input_tokens: Number }])
  }
  const long = await post('/v1/messages', { ...body, messages: [{ role: 'user', content: 'word '.repeat(40_000) }] })
  t.equal(long.status, 200, 'also where a thread parses the request')
  t.equal(sent.length, 4)
  t.ok(sent.every((text) => text.includes('"model":"up"')))
  for (const model of ['nope[1m]', 'svc-2.1[2m]', 'svc-2.1 [1m]'])
    t.equal((await post('/v1/messages', { ...body, model })).status, 404, model)
})

t.test('marks for the cache reach an upstream of chat completions whose configuration says so', async (t) => {
  const mark = { cache_control: { type: 'ephemeral' } }
  const body = {
    system: [{ type: 'text', text: 'S', ...mark }],
    tools: [{ ...messagesTools[0], ...mark }],
    messages: [
      hi,
      { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'read', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'file', ...mark }] },
      { role: 'system', content: [{ type: 'text', text: '5000 tokens left', ...mark }] },
    ],
  }
  for (const [cacheControl, count] of [
    [true, 4],
    [false, 0],
  ] as const)
    for (const padding of ['', ' word'.repeat(30_000)]) {
      const { sent, post } = await startVendor(t, () => ok, { cacheControl })
      const response = await post('/v1/messages', {
        ...body,
        messages: [{ role: 'user', content: `hi${padding}` }, ...body.messages.slice(1)],
      })
      t.equal(response.status, 200, await response.text())
      t.equal(sent[0]?.split('"cache_control":{"type":"ephemeral"}').length, count + 1)
      t.equal(response.headers.get('x-svc-fields-dropped'), cacheControl ? null : 'cache_control')
    }
})
