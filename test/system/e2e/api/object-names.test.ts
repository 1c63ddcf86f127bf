/** Names that every object of JavaScript has mean nothing: as tools, properties, models, headers, metadata, pages and fields. */
import t from 'tap'
import type { Test } from 'tap'
import { startScriptedModel } from '../../clients/support/scripted-model.ts'
import { setUpAnthropicGateway, setUpResponsesGateway } from '../../../support/gateway/scripted-gateway.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import { WebsiteClient } from '../../../support/gateway/website-client.ts'

const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf', 'isPrototypeOf'] as const

type Json = Readonly<Record<string, unknown>>

interface Side {
  post(path: string, body: object): Promise<Response>
  /** Names of the tools of the last request that the upstream received, and the properties of the first one. */
  received(): { readonly tools: readonly unknown[]; readonly properties: object }
}

const parse = (text: string): Json => JSON.parse(text) as Json

/** For each kind of upstream: it answers with a call of the first declared tool, with one argument of its name. */
const kinds: Readonly<Record<string, (t: Test) => Promise<Side>>> = {
  async chat(t) {
    const model = await startScriptedModel(t, ({ tools }) => {
      const name = tools?.[0]?.function.name ?? ''
      return { calls: [{ id: 'call_1', name, arguments: `{"${name}":"x"}` }] }
    })
    const { post } = await setUpAnthropicGateway(t, () => ({}), {
      upstreams: { plain: { baseUrl: model.url } },
      products: { 'svc-2.1': { targets: [{ upstream: 'plain', model: 'm' }] } },
    })
    const received = () => {
      const tools = model.requests.at(-1)?.tools ?? []
      return { tools: tools.map((tool) => tool.function.name), properties: getProperties(tools[0]?.function.parameters) }
    }
    return { post, received }
  },
  async anthropic(t) {
    const { post, server } = await setUpAnthropicGateway(t, ({ tools }) => {
      const name = String(tools?.[0]?.['name'])
      return { content: [{ type: 'tool_use', id: 'toolu_1', name, input: { [name]: 'x' } }], stopReason: 'tool_use' }
    })
    const received = () => {
      const tools = server.requests.at(-1)?.tools ?? []
      return { tools: tools.map(({ name }) => name), properties: getProperties(tools[0]?.['input_schema']) }
    }
    return { post, received }
  },
  async responses(t) {
    const { post, server } = await setUpResponsesGateway(t, (request) => {
      const [tool] = request['tools'] as readonly Json[]
      const name = String(tool?.['name'])
      return { output: [{ type: 'function_call', call_id: 'call_1', name, arguments: `{"${name}":"x"}` }] }
    })
    const received = () => {
      const tools = (server.requests.at(-1)?.['tools'] ?? []) as readonly Json[]
      return { tools: tools.map(({ name }) => name), properties: getProperties(tools[0]?.['parameters']) }
    }
    return { post, received }
  },
}

function getProperties(schema: unknown): object {
  return (schema as { readonly properties?: object } | undefined)?.properties ?? {}
}

const createSchema = (name: string): Json => ({ type: 'object', properties: { [name]: { type: 'string' } }, required: [name] })

/** For each API format: a request with a tool of this name that was called before, and the call in an answer. */
const formats = [
  {
    path: '/v1/chat/completions',
    create: (name: string): object => ({
      messages: [
        { role: 'user', content: 'Look.', name },
        { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: { name, arguments: `{"${name}":1}` } }] },
        { role: 'tool', tool_call_id: 'c', content: name },
      ],
      tools: [{ type: 'function', function: { name, parameters: createSchema(name) } }],
      metadata: { [name]: name },
      [name]: { [name]: name },
    }),
    read: (text: string, stream: boolean) => {
      const field = stream ? 'delta' : 'message'
      const calls = readAll(text, stream)
        .flatMap((chunk) => (chunk['choices'] ?? []) as readonly Json[])
        .flatMap((choice) => ((choice[field] as Json)['tool_calls'] ?? []) as readonly { readonly function: Json }[])
        .map((call) => call.function)
      return { name: calls[0]?.['name'], args: calls.map((call) => call['arguments'] ?? '').join('') }
    },
  },
  {
    path: '/v1/responses',
    create: (name: string): object => ({
      input: [
        { type: 'message', role: 'user', content: 'Look.' },
        { type: 'function_call', call_id: 'c', name, arguments: `{"${name}":1}` },
        { type: 'function_call_output', call_id: 'c', output: name },
      ],
      tools: [
        { type: 'function', name, parameters: createSchema(name) },
        { type: 'custom', name: `${name}2` },
      ],
      metadata: { [name]: name },
      [name]: { [name]: name },
    }),
    read: (text: string, stream: boolean) => {
      const last = readAll(text, stream).at(-1) ?? {}
      const { output } = (stream ? last['response'] : last) as { readonly output: readonly Json[] }
      const call = output.find(({ type }) => type === 'function_call') ?? {}
      return { name: call['name'], args: call['arguments'] }
    },
  },
  {
    path: '/v1/messages',
    create: (name: string): object => ({
      max_tokens: 100,
      messages: [
        { role: 'user', content: 'Look.' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name, input: { [name]: 1 } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: name }] },
      ],
      tools: [{ name, input_schema: createSchema(name) }],
      metadata: { user_id: name, [name]: name },
      [name]: { [name]: name },
    }),
    read: (text: string, stream: boolean) => {
      const events = readAll(text, stream)
      const blocks = stream
        ? events.flatMap((event) => (event['type'] === 'content_block_start' ? [event['content_block'] as Json] : []))
        : (events[0]?.['content'] as readonly Json[])
      const call = blocks.find(({ type }) => type === 'tool_use') ?? {}
      const streamed = events.map((event) => (event['delta'] as Json | undefined)?.['partial_json'] ?? '').join('')
      return { name: call['name'], args: stream ? streamed : JSON.stringify(call['input']) }
    },
  },
] as const

/** The events of a stream, or the one document. */
function readAll(text: string, stream: boolean): readonly Json[] {
  if (!stream) return [parse(text)]
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => parse(data))
}

for (const [kind, setUp] of Object.entries(kinds))
  t.test(`keeps such names of tools and properties, with an upstream of the kind ${kind}`, async (t) => {
    const { post, received } = await setUp(t)
    for (const name of names)
      for (const { path, create, read } of formats)
        // Large requests are translated by a thread.
        for (const padding of ['', 'word '.repeat(30_000)])
          for (const stream of [false, true]) {
            const what = `${name} ${path} ${stream ? 'streamed' : 'whole'}${padding === '' ? '' : ', large'}`
            const response = await post(path, { ...create(name), stream, ...pad(path, padding) })
            const text = await response.text()
            if (!t.equal(response.status, 200, what)) return t.comment(text)
            const { name: called, args } = read(text, stream)
            t.equal(called, name, what)
            t.equal(args, `{"${name}":"x"}`, what)
            t.equal(received().tools[0], name, what)
            t.same(Object.keys(received().properties), [name], what)
          }
  })

function pad(path: string, padding: string): object {
  if (padding === '') return {}
  return path === '/v1/responses' ? { instructions: padding } : path === '/v1/messages' ? { system: padding } : { user: padding }
}

t.test('finds no model, plan, page, provider or parameter by such a name', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.createMember()
  const member = new WebsiteClient(gateway)
  await member.signIn('mei@example.com')
  for (const name of names) {
    const chat = await gateway.chat(token, { model: name }, { headers: { [name.toLowerCase()]: 'x', 'accept-language': name } })
    t.equal(chat.status, 400, `${name} as a model`)
    t.match(await chat.json(), { error: { code: 'official_models_only' } })
    const braces = await gateway.chat(token, { model: `{${name}} {detail}` })
    const { error } = (await braces.json()) as { readonly error: { readonly message: string } }
    t.notMatch(error.message, /native code|undefined/, 'a message repeats what was sent')
    const requests: readonly (readonly [string, string, object?])[] = [
      ['GET', `/v1/models/${name}`],
      ['GET', `/${name}`],
      ['GET', `/docs/${name}`],
      ['GET', `/assets/${name}`],
      ['GET', `/api/membership/auth/oauth/${name}/start`],
      ['GET', `/api/membership/usage?by=${name}&locale=${name}&lang=${name}&${name}=1`],
      ['GET', `/plans?locale=${name}&lang=${name}&theme=${name}&plan=${name}`],
      ['GET', `/sign-in?error=${name}&next=${name}`],
      ['GET', `/connect/${name}`],
      ['DELETE', `/api/membership/auth/api-keys/${name}`],
      ['POST', '/api/membership/auth/sign-in', { email: name, password: name, [name]: name }],
      ['POST', '/api/membership/auth/api-keys', { name, expires_in_days: null, [name]: { [name]: 1 } }],
      ['POST', '/oauth/register', { redirect_uris: ['http://localhost/x'], client_name: name, [name]: { [name]: 1 } }],
      ['POST', '/v1/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: { [name]: 1 } } }],
      ['POST', '/v1/mcp', { jsonrpc: '2.0', id: 1, method: name, params: { [name]: 1 } }],
      ['POST', '/v1/mcp/tools/call', { name, arguments: { [name]: name } }],
      ['POST', '/v1/embeddings', { model: name, input: name, [name]: name }],
      ['POST', '/v1/images/generations', { model: name, prompt: name, size: name, [name]: name }],
    ]
    for (const [method, path, body] of requests) {
      const headers = path.startsWith('/v1/') ? { authorization: `Bearer ${token}`, cookie: '' } : {}
      const { status, body: answer } = await member.send(method, gateway.url + path, body, headers)
      t.ok(status < 500, `${method} ${path}: ${status} ${JSON.stringify(answer).slice(0, 200)}`)
      t.notMatch(JSON.stringify(answer), /native code/, `${method} ${path}`)
    }
  }
  t.equal(Object.getPrototypeOf({}), Object.prototype)
})
