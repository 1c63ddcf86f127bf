/** Embeddings, from the request to the ledger. */
import OpenAI from 'openai'
import t from 'tap'
import { embeddingProduct } from '../../../support/gateway/embedding-product.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'

const gateway = await startGateway(t, {
  products: {
    'svc-embed': embeddingProduct,
  },
})
const { url, demo, createMember, listTurns, services } = gateway
const { id, token } = await createMember()

function embed(body: Readonly<Record<string, unknown>>, path = '/v1/embeddings'): Promise<Response> {
  return fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc-embed', ...body }),
  })
}

interface Embeddings {
  readonly data: readonly { readonly index: number; readonly embedding: readonly number[] }[]
  readonly model: string
  readonly usage: { readonly prompt_tokens: number }
}

t.test('answers each form of input, and charges the input alone', async (t) => {
  for (const [name, input, count] of [
    ['a text', 'Hello!', 1],
    ['texts', ['One.', 'Two.', 'Three.'], 3],
    ['tokens', [1, 2, 3], 1],
    ['lists of tokens', [[1, 2], [3]], 2],
  ] as const) {
    const response = await embed({ input, dimensions: 4 })
    t.equal(response.status, 200, name)
    t.equal(response.headers.get('x-svc-fields-dropped'), null, name)
    const { data, model, usage } = (await response.json()) as Embeddings
    t.equal(model, 'svc-embed')
    t.same(
      data.map(({ index, embedding: { length } }) => [index, length]),
      Array.from({ length: count }, (_, index) => [index, 4]),
      name,
    )
    const [turn] = await listTurns(id)
    t.match(
      turn,
      { state: 'settled', model: 'svc-embed', inputTokens: usage.prompt_tokens, outputTokens: 0, estimated: false },
      name,
    )
    t.ok((turn?.credits ?? 0) > 0, name)
  }
  t.same((await services.ledger.verify()).mismatches, [])
})

t.test('serves the SDK of OpenAI, which requests base64 by itself', async (t) => {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: token })
  const fromBase64 = await client.embeddings.create({ model: 'svc-embed', input: ['Hello!', 'abc'] })
  const asFloats = await client.embeddings.create({ model: 'svc-embed', input: ['Hello!', 'abc'], encoding_format: 'float' })
  t.same(fromBase64.data, asFloats.data)
  t.equal(fromBase64.data[0]?.embedding.length, 8)
})

t.test('decodes an upstream that answers in base64, and orders by index', async (t) => {
  t.teardown(() => demo.script())
  const bytes = Buffer.alloc(8)
  bytes.writeFloatLE(0.5, 0)
  bytes.writeFloatLE(-2, 4)
  const data = [
    { index: 1, embedding: bytes.toString('base64') },
    { index: 0, embedding: [1, 2] },
  ]
  demo.script(() => ({ body: { data } }))
  const { data: received } = (await (await embed({ input: ['a', 'b'] })).json()) as Embeddings
  t.same(
    received.map(({ embedding }) => embedding),
    [
      [1, 2],
      [0.5, -2],
    ],
  )
  t.match(await listTurns(id), [{ state: 'settled', estimated: true, outputTokens: 0 }], 'without a report')
})

t.test('charges nothing for an answer that is none', async (t) => {
  t.teardown(() => demo.script())
  for (const body of [
    { data: [] },
    { data: [{ index: 0, embedding: [] }] },
    { data: [{ index: 0, embedding: ['x'] }] },
    { data: [{ index: 7, embedding: [1] }] },
    { data: [{ index: 0, embedding: 'AAA=' }] },
    { error: { message: 'no' } },
  ]) {
    demo.script(() => ({ body }))
    const response = await embed({ input: 'a' })
    t.match(await response.json(), { code: /^upstream_/ }, JSON.stringify(body))
    t.match(await listTurns(id), [{ state: 'refunded' }])
  }
  demo.script(() => ({ body: { data: [{ index: 0, embedding: [1] }], usage: { prompt_tokens: 9_000_000 } } }))
  t.equal((await embed({ input: 'a' })).status, 200)
  const [turn] = await listTurns(id)
  t.match(turn, { state: 'settled', estimated: true, disputed: { input: 9_000_000, output: 0 } }, 'an impossible report')
})

t.test('refuses what is no request for embeddings', async (t) => {
  for (const [body, param] of [
    [{}, 'input'],
    [{ input: '' }, 'input'],
    [{ input: [] }, 'input'],
    [{ input: ['a', ''] }, 'input[1]'],
    [{ input: ['a', 7] }, 'input[1]'],
    [{ input: [[1], [-1]] }, 'input[1]'],
    [{ input: [1.5] }, 'input[0]'],
    [{ input: { text: 'a' } }, 'input'],
    [{ input: Array.from({ length: 2049 }, () => 'a') }, 'input'],
    [{ input: 'a', encoding_format: 'int8' }, 'encoding_format'],
    [{ input: 'a', dimensions: 0 }, 'dimensions'],
    [{ input: 'a', model: 'svc-2.1' }, 'model'],
    [{ input: 'a', model: 'no' }, 'model'],
  ] as const) {
    const response = await embed(body)
    t.equal(response.status, 400, JSON.stringify(body).slice(0, 60))
    t.equal(((await response.json()) as { error: { param: unknown } }).error.param, param, JSON.stringify(body).slice(0, 60))
  }
  const chat = await embed({ messages: [{ role: 'user', content: 'Hi' }] }, '/v1/chat/completions')
  t.match(await chat.json(), { code: 'invalid_request', message: /POST \/v1\/embeddings/ })
})

t.test('takes many inputs that together are longer than the context', async (t) => {
  const input = Array.from({ length: 1500 }, () => 'word '.repeat(200))
  const response = await embed({ input })
  t.equal(response.status, 200)
  t.equal(((await response.json()) as Embeddings).data.length, 1500)
})

t.test('requests base64 from the upstream for a client that does, and floats once the target has rejected it', async (t) => {
  t.teardown(() => demo.script())
  const sent: unknown[] = []
  demo.script(({ rawBody }) => {
    const { encoding_format: format } = JSON.parse(rawBody) as { readonly encoding_format?: unknown }
    sent.push(format)
    const error = { message: "Unknown parameter: 'encoding_format'.", param: 'encoding_format', code: 'unknown_parameter' }
    return format === undefined ? { body: { data: [{ index: 0, embedding: [1, 2] }] } } : { status: 400, body: { error } }
  })
  for (let i = 0; i < 2; i++) {
    const response = await embed({ input: 'a', encoding_format: 'base64' })
    const { data } = (await response.json()) as { readonly data: readonly { readonly embedding: string }[] }
    t.equal(Buffer.from(data[0]?.embedding ?? '', 'base64').readFloatLE(4), 2)
  }
  t.same(sent, ['base64', undefined, undefined], 'it is asked once')
})

t.test('answers a long list of vectors, which another thread converts', async (t) => {
  t.teardown(() => demo.script())
  const vector = Array.from({ length: 512 }, (_, at) => at / 512)
  const data = Array.from({ length: 100 }, (_, index) => ({ index: 99 - index, embedding: [index, ...vector] }))
  demo.script(() => ({ body: { data, usage: { prompt_tokens: 100 } } }))
  const input = Array.from({ length: 100 }, () => 'word')
  const answer = (await (await embed({ input })).json()) as Embeddings
  t.same(
    answer.data.map(({ index, embedding }) => [index, embedding[0], embedding.length]),
    Array.from({ length: 100 }, (_, index) => [index, 99 - index, 513]),
  )
  t.same(answer.usage, { prompt_tokens: 100, total_tokens: 100 })
  t.equal(answer.model, 'svc-embed')
  demo.script(() => ({ body: { data: data.slice(1) } }))
  t.match(await (await embed({ input })).json(), { code: /^upstream_/ })
  t.match((await listTurns(id))[0], { state: 'refunded' })
})
