/** Answers of the fake upstream, in the format of each kind of request. */
import OpenAI from 'openai'
import t from 'tap'
import type { FakeOptions } from '../../../support/upstream/server.ts'
import { startFakeUpstream } from '../../../support/upstream/server.ts'

async function start(t: Tap, options: FakeOptions = {}) {
  const demo = await startFakeUpstream(options)
  t.teardown(() => demo.close())
  const client = new OpenAI({ baseURL: demo.url, apiKey: options.key ?? 'none', maxRetries: 0 })
  const post = (body: object, path = '/chat/completions') =>
    fetch(demo.url + path, { method: 'POST', body: JSON.stringify(body) })
  return { demo, client, post }
}
type Tap = Pick<typeof t, 'teardown'>

interface Searched {
  readonly choices: readonly { readonly message: { readonly content: string } }[]
  readonly citations: readonly string[]
  readonly search_results: readonly { readonly url: string }[]
}
interface Painted {
  readonly choices: readonly {
    readonly message: { readonly images: readonly { readonly image_url: { readonly url: string } }[] }
  }[]
}
interface Made {
  readonly data: readonly { readonly b64_json: string }[]
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number; readonly total_tokens: number }
}

const user = (content: string) => ({ role: 'user' as const, content })

t.test('answers a greeting helpfully', async (t) => {
  const { client } = await start(t)
  const reply = await client.chat.completions.create({ model: 'demo-light', messages: [user('Hello!')] })
  t.match(reply.choices[0]?.message.content, /^Hello! Your gateway works/)
  t.match(reply.choices[0]?.message.content, 'UPSTREAM_BASE_URL', 'the answer names the next step')
  t.equal(reply.choices[0]?.finish_reason, 'stop')
  t.equal(reply.object, 'chat.completion')
  t.equal(reply.model, 'demo-light')
  const zh = await client.chat.completions.create({ model: 'demo-flagship', messages: [user('你好')] })
  t.match(zh.choices[0]?.message.content, '演示模型')
  const other = await client.chat.completions.create({ model: 'demo-light', messages: [user('How tall is Everest?')] })
  t.match(other.choices[0]?.message.content, '“How tall is Everest?”', 'it quotes the question and says that it cannot answer it')
  const parts = [{ type: 'text' as const, text: 'How do I connect a real model?' }]
  const connect = await client.chat.completions.create({ model: 'demo-light', messages: [{ role: 'user', content: parts }] })
  t.match(connect.choices[0]?.message.content, 'ends in `/v1`')
})

t.test('streams the same text as a whole answer, with the same true usage', async (t) => {
  const { client, demo } = await start(t)
  const messages = [user('What is this?')]
  const whole = await client.chat.completions.create({ model: 'demo-light', messages })
  let text = ''
  let usage
  let chunks = 0
  const stream = await client.chat.completions.create({
    model: 'demo-light',
    messages,
    stream: true,
    stream_options: { include_usage: true },
  })
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? ''
    usage = chunk.usage ?? usage
    chunks++
  }
  t.equal(text, whole.choices[0]?.message.content)
  t.same(usage, whole.usage)
  t.equal(usage?.completion_tokens, chunks - 3, 'one token per event, besides the first, the finish and the usage')
  t.equal(demo.calls.at(-1)?.tokens, usage?.completion_tokens)
  t.equal(demo.stats().tokens, 2 * (usage?.completion_tokens ?? 0))
})

t.test('streams usage only on request, and ends every stream with [DONE]', async (t) => {
  const { post } = await start(t)
  const text = await (await post({ model: 'demo-light', stream: true, messages: [user('Hi')] })).text()
  t.notMatch(text, 'usage')
  t.ok(text.endsWith('data: [DONE]\n\n'))
  t.match(text, '"finish_reason":"stop"')
})

t.test('obeys length limits, stop words and several choices', async (t) => {
  const { client } = await start(t)
  const messages = [user('Hello')]
  const short = await client.chat.completions.create({ model: 'demo-light', messages, max_tokens: 3 })
  t.equal(short.choices[0]?.finish_reason, 'length')
  t.equal(short.choices[0]?.message.content, 'Hello! Your')
  t.equal(short.usage?.completion_tokens, 3)
  const newer = await client.chat.completions.create({ model: 'demo-light', messages, max_completion_tokens: 1 })
  t.equal(newer.choices[0]?.message.content, 'Hello')
  const stopped = await client.chat.completions.create({ model: 'demo-light', messages, stop: ['gateway', '!'] })
  t.equal(stopped.choices[0]?.message.content, 'Hello')
  const two = await client.chat.completions.create({ model: 'demo-light', messages, n: 2, max_tokens: 2 })
  t.same(
    two.choices.map(({ index, message }) => [index, message.content]),
    [
      [0, 'Hello!'],
      [1, 'Hello!'],
    ],
  )
  t.equal(two.usage?.completion_tokens, 4)
})

t.test('calls a tool with arguments of its schema, and ends after the tool’s result', async (t) => {
  const { client } = await start(t)
  const parameters = { type: 'object', properties: { city: { type: 'string' }, unit: { type: 'string', enum: ['c', 'f'] } } }
  const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters } }]
  const messages = [user('Berlin')]
  const call = await client.chat.completions.create({ model: 'demo-light', messages, tools })
  t.equal(call.choices[0]?.finish_reason, 'tool_calls')
  t.equal(call.choices[0]?.message.content, null)
  const first = call.choices[0]?.message.tool_calls?.[0]
  if (first?.type !== 'function') return t.fail('no tool call')
  t.equal(first.function.name, 'get_weather')
  t.same(JSON.parse(first.function.arguments), { city: 'Berlin', unit: 'c' })

  const stream = client.chat.completions.stream({ model: 'demo-light', messages, tools })
  const streamed = (await stream.finalMessage()).tool_calls?.[0]
  t.same(streamed?.type === 'function' && streamed.function.arguments, first.function.arguments)

  const answered = [...messages, call.choices[0]!.message, { role: 'tool' as const, tool_call_id: first.id, content: 'sunny' }]
  const end = await client.chat.completions.create({ model: 'demo-light', messages: answered, tools })
  t.match(end.choices[0]?.message.content, 'sunny')
  const none = await client.chat.completions.create({ model: 'demo-light', messages, tools, tool_choice: 'none' })
  t.equal(none.choices[0]?.finish_reason, 'stop')
  const two = [...tools, { type: 'function' as const, function: { name: 'other', parameters: {} } }]
  const choice = { type: 'function' as const, function: { name: 'other' } }
  const named = await client.chat.completions.create({ model: 'demo-light', messages, tools: two, tool_choice: choice })
  t.match(named.choices[0]?.message.tool_calls, [{ function: { name: 'other' } }])
})

t.test('answers JSON on request', async (t) => {
  const { client } = await start(t)
  const messages = [user('Hello')]
  const object = await client.chat.completions.create({ model: 'demo-light', messages, response_format: { type: 'json_object' } })
  t.match(JSON.parse(object.choices[0]?.message.content ?? ''), { answer: /Hello/ })
  const json_schema = { name: 'x', schema: { type: 'object', properties: { ok: { type: 'boolean' } } } }
  const shaped = await client.chat.completions.create({
    model: 'demo-light',
    messages,
    response_format: { type: 'json_schema', json_schema },
  })
  t.same(JSON.parse(shaped.choices[0]?.message.content ?? ''), { ok: true })
})

t.test('generates matching marks, citations and results with the search model', async (t) => {
  const { post } = await start(t)
  const body = { model: 'demo-search', messages: [user('tide tables')] }
  const whole = (await (await post(body)).json()) as Searched
  t.match(whole.choices[0]?.message.content, /tide tables.*\[1\].*\[2\].*\[3\]/s)
  t.equal(whole.citations.length, 3)
  t.same(
    whole.search_results.map(({ url }) => url),
    whole.citations,
  )
  t.match(await (await post({ ...body, stream: true })).text(), /"finish_reason":"stop".*"citations":\[/)
})

t.test('generates real images in both styles', async (t) => {
  const { post } = await start(t)
  const body = { model: 'demo-image', messages: [user('a red boat')] }
  const whole = (await (await post(body)).json()) as Painted
  const url = whole.choices[0]!.message.images[0]!.image_url.url
  const png = Buffer.from(url.replace('data:image/png;base64,', ''), 'base64')
  t.equal(png.toString('latin1', 1, 4), 'PNG')
  t.ok(
    (await (await post({ ...body, stream: true })).text()).includes(
      `"images":[{"index":0,"type":"image_url","image_url":{"url":"${url}"`,
    ),
  )
  const made = (await (await post({ model: 'demo-image', prompt: 'a red boat', n: 2 }, '/images/generations')).json()) as Made
  t.equal(made.data.length, 2)
  t.equal(Buffer.from(made.data[0]!.b64_json, 'base64').toString('latin1', 1, 4), 'PNG')
  t.equal(made.usage.total_tokens, made.usage.input_tokens + made.usage.output_tokens)
})

t.test('lists models, and rejects unknown models and paths in OpenAI\u2019s words', async (t) => {
  const { client, demo, post } = await start(t)
  const ids = (await client.models.list()).data.map(({ id }) => id)
  t.same(ids, ['demo-light', 'demo-flagship', 'demo-search', 'demo-image', 'demo-bench', 'demo-bench-whole'])
  t.equal((await client.models.retrieve('demo-light')).id, 'demo-light')
  const unknown = await post({ model: 'gpt-9', messages: [user('x')] })
  t.equal(unknown.status, 404)
  t.match(await unknown.json(), { error: { code: 'model_not_found', param: 'model' } })
  t.equal((await fetch(`${demo.url}/nowhere`)).status, 404)
  const bad = await post({ model: 'demo-light', messages: [] })
  t.equal(bad.status, 400)
  t.match(await bad.json(), { error: { param: 'messages' } })
  t.equal((await fetch(`${demo.url}/chat/completions`, { method: 'POST', body: '{' })).status, 400)
})

t.test('requires a key only if one is configured', async (t) => {
  const { client, post } = await start(t, { key: 'demo-key' })
  t.ok((await client.models.list()).data.length > 0)
  const refused = await post({ model: 'demo-light', messages: [user('x')] })
  t.equal(refused.status, 401)
  t.match(await refused.json(), { error: { code: 'invalid_api_key' } })
})

t.test('never treats a user’s text as a command on a first run', async (t) => {
  const { demo } = await start(t)
  const body = JSON.stringify({ model: 'demo-light', messages: [user('demo:{"status":500}')] })
  const reply = await fetch(`${demo.url}/chat/completions`, {
    method: 'POST',
    body,
    headers: { 'x-demo-script': '{"status":500}' },
  })
  t.equal(reply.status, 200)
})

t.test('keeps the configured pace', async (t) => {
  const { post } = await start(t, { pace: { ttftMs: 40, betweenMs: 10 } })
  const started = performance.now()
  await (await post({ model: 'demo-light', stream: true, max_tokens: 5, messages: [user('Hi')] })).text()
  t.ok(performance.now() - started >= 40 + 6 * 10 - 5)
})

t.test('sends a fixed, counted answer for benchmarks', async (t) => {
  const { client, demo, post } = await start(t, { bench: { tokens: 3, betweenMs: 0 } })
  const whole = await client.chat.completions.create({ model: 'demo-bench', messages: [user('x')] })
  t.equal(whole.choices[0]?.message.content, 'token token token')
  t.equal(whole.usage?.completion_tokens, 3)
  const stream = client.chat.completions.stream({
    model: 'demo-bench',
    messages: [user('x')],
    stream_options: { include_usage: true },
  })
  t.equal((await stream.finalMessage()).content, ' token token token')
  t.equal((await stream.totalUsage()).completion_tokens, 3)
  const asked = await post({ model: 'demo-bench-whole', stream: true, messages: [user('x')] })
  t.match(
    await asked.json(),
    { object: 'chat.completion', usage: { completion_tokens: 3 } },
    'whole, also where events are asked for',
  )
  t.match(demo.stats(), { requests: 3, tokens: 9, open: 0, finished: 3 })
})
