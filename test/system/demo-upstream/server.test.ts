/** The demonstration upstream, as a new installation meets it. */
import OpenAI from 'openai'
import t from 'tap'
import { startDemoUpstream } from '../../../src/demo-upstream/server.ts'
import { systemClock } from '../../../src/system/clock.ts'

/** Its pauses pass at once. */
const clock = { ...systemClock, wait: async (_ms: number, signal?: AbortSignal) => signal?.throwIfAborted() }
const demo = await startDemoUpstream(clock)
t.teardown(() => demo.close())
const client = new OpenAI({ baseURL: demo.url, apiKey: 'none', maxRetries: 0 })
const messages = [{ role: 'user' as const, content: 'Hello! What are you?' }]

t.test('a chat is the same whole and streamed, and its usage is counted', async (t) => {
  const whole = await client.chat.completions.create({ model: 'demo-light', messages })
  const text = whole.choices[0]?.message.content ?? ''
  t.match(text, 'demonstration')
  let streamed = ''
  let usage: OpenAI.CompletionUsage | null | undefined
  const stream = await client.chat.completions.create({
    model: 'demo-light',
    messages,
    stream: true,
    stream_options: { include_usage: true },
  })
  for await (const { choices, usage: last } of stream) {
    streamed += choices[0]?.delta.content ?? ''
    usage = last ?? usage
  }
  t.equal(streamed, text)
  t.same(usage, whole.usage)
})

t.test('a message cannot order a failure', async (t) => {
  const script = [{ role: 'user' as const, content: 'demo:{"status":500}' }]
  const { choices } = await client.chat.completions.create({ model: 'demo-light', messages: script })
  t.equal(choices[0]?.finish_reason, 'stop')
})

t.test('a tool is called once, and its result is answered', async (t) => {
  const tools = [
    {
      type: 'function' as const,
      function: {
        name: 'look',
        parameters: { type: 'object', properties: { place: { type: 'string' }, days: { type: 'integer' } } },
      },
    },
  ]
  const called = await client.chat.completions.create({ model: 'demo-flagship', messages, tools })
  const [call] = called.choices[0]?.message.tool_calls ?? []
  t.match(call, { type: 'function', function: { name: 'look', arguments: /^\{"place":"Hello! What are you\?","days":1\}$/ } })
  const result = { role: 'tool' as const, tool_call_id: call?.id ?? '', content: 'Rain.' }
  const answered = await client.chat.completions.create({
    model: 'demo-flagship',
    messages: [...messages, called.choices[0]!.message, result],
    tools,
  })
  t.equal(answered.choices[0]?.finish_reason, 'stop')
})

t.test('it searches, paints and lists its models', async (t) => {
  const found = await client.chat.completions.create({ model: 'demo-search', messages })
  t.match(found, { citations: [/^https:/, /^https:/, /^https:/], search_results: [{ url: /^https:/ }] })
  const painted = await client.chat.completions.create({ model: 'demo-image', messages })
  t.match(painted, { choices: [{ message: { images: [{ image_url: { url: /^data:image\/png;base64,/ } }] } }] })
  const { data: models } = await client.models.list()
  t.same(
    models.map(({ id }) => id),
    ['demo-light', 'demo-flagship', 'demo-search', 'demo-image'],
  )
  t.equal((await client.models.retrieve('demo-light')).owned_by, 'svc-gateway-demo')
})

t.test('a request that it cannot answer is refused in words', async (t) => {
  const refuse = (body: string, path = '/chat/completions') => fetch(`${demo.url}${path}`, { method: 'POST', body })
  for (const [body, path, status, code] of [
    ['{', undefined, 400, 'invalid_json'],
    ['{"model":"demo-light","messages":[]}', undefined, 400, 'invalid_value'],
    ['{"model":"other","messages":[{"role":"user","content":"x"}]}', undefined, 404, 'model_not_found'],
    ['{}', '/elsewhere', 404, 'unknown_url'],
  ] as const) {
    const response = await refuse(body, path)
    t.equal(response.status, status, body)
    t.match(await response.json(), { error: { code } })
  }
})
