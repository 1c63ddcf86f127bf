/** Google's SDK for JavaScript: whole and streamed answers, tools in two steps, schemas, pictures, thoughts, and failures. */
import t from 'tap'
import type { Test } from 'tap'
import { setUpGeminiGateway } from '../../support/gateway/scripted-gateway.ts'
import { startGateway } from '../../support/gateway/test-gateway.ts'
import { openClientPackages } from './client-packages.ts'
import { finalText, startLoop, words } from './support/tool-loop.ts'

interface FunctionCall {
  readonly id?: string
  readonly name?: string
  readonly args?: Readonly<Record<string, string>>
}

interface Answer {
  readonly text?: string
  readonly data?: string
  readonly functionCalls?: readonly FunctionCall[]
  readonly usageMetadata?: Readonly<Record<string, number>>
  readonly candidates?: readonly {
    readonly finishReason?: string
    readonly content?: { readonly parts?: readonly { readonly text?: string; readonly thought?: boolean }[] }
  }[]
}

interface Chat {
  sendMessage(request: object): Promise<Answer>
  sendMessageStream(request: object): Promise<AsyncIterable<Answer>>
}

interface Client {
  readonly models: {
    generateContent(request: object): Promise<Answer>
    generateContentStream(request: object): Promise<AsyncIterable<Answer>>
    countTokens(request: object): Promise<{ readonly totalTokens?: number }>
    list(): Promise<AsyncIterable<{ readonly name?: string }>>
    get(request: object): Promise<{ readonly inputTokenLimit?: number }>
  }
  readonly chats: { create(options: object): Chat }
}

type GoogleGenAI = new (options: object) => Client

async function openClient(t: Test, { url }: { readonly url: string }, apiKey: string): Promise<Client | undefined> {
  const packages = await openClientPackages(t)
  if (packages === undefined) return undefined
  const { GoogleGenAI } = await packages.load<{ readonly GoogleGenAI: GoogleGenAI }>('@google/genai')
  return new GoogleGenAI({ apiKey, httpOptions: { baseUrl: url } })
}

const model = 'svc-2.1'
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC'

/** The rejection, which must be one of the SDK with this status. */
async function findFailure(promise: Promise<unknown>): Promise<{ readonly status?: number; readonly message?: string }> {
  return promise.then(
    () => ({}),
    (error: unknown) => error as { readonly status?: number; readonly message?: string },
  )
}

async function collect(stream: AsyncIterable<Answer>): Promise<readonly Answer[]> {
  const answers: Answer[] = []
  for await (const answer of stream) answers.push(answer)
  return answers
}

t.test('asks, streams, counts tokens and lists the models', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.createMember()
  const client = await openClient(t, gateway, token)
  if (client === undefined) return
  const answer = await client.models.generateContent({ model, contents: 'Hello!' })
  t.ok(answer.text)
  t.equal(answer.candidates?.[0]?.finishReason, 'STOP')
  t.ok((answer.usageMetadata?.['totalTokenCount'] ?? 0) > 0)
  const pieces = await collect(await client.models.generateContentStream({ model, contents: 'Hello!' }))
  t.ok(pieces.map(({ text }) => text ?? '').join(''))
  t.ok((pieces.at(-1)?.usageMetadata?.['candidatesTokenCount'] ?? 0) > 0)
  t.ok(((await client.models.countTokens({ model, contents: 'Hello!' })).totalTokens ?? 0) > 0)
  const names: unknown[] = []
  for await (const { name } of await client.models.list()) names.push(name)
  t.ok(names.includes('models/svc-2.1'))
  t.equal((await client.models.get({ model })).inputTokenLimit, 128_000)
  const schema = { type: 'OBJECT', properties: { city: { type: 'STRING' } }, required: ['city'] }
  const config = { responseMimeType: 'application/json', responseSchema: schema }
  const json = await client.models.generateContent({ model, contents: 'A city.', config })
  t.type((JSON.parse(json.text ?? '') as { city: unknown }).city, 'string')
})

t.test('reports each failure with its status', async (t) => {
  const none = { day: 1, week: 1, month: 1 }
  const gateway = await startGateway(t, {
    plans: { free: { pools: { fast: none } } },
    upstreams: { down: { baseUrl: 'http://127.0.0.1:9/v1' } },
    products: { 'svc-2.1-pro': { targets: [{ upstream: 'down', model: 'm' }] } },
  })
  const { token } = await gateway.createMember()
  const { token: poor } = await gateway.createMember('free')
  const ask = async (key: string, id: string): Promise<{ readonly status?: number; readonly message?: string }> => {
    const client = await openClient(t, gateway, key)
    return client === undefined ? {} : findFailure(client.models.generateContent({ model: id, contents: 'Hello!' }))
  }
  t.match(await ask('svc_live_wrong', model), { status: 401 })
  t.match(await ask(poor, 'svc-2.1-fast'), { status: 402 })
  t.match(await ask(token, 'svc-2.1-pro'), { status: 502 })
  t.match(await ask(token, 'no-such-model'), { status: 404 })
  gateway.demo.script(() => ({ cut: { afterEvents: 3 } }))
  const client = await openClient(t, gateway, token)
  if (client === undefined) return
  const stream = await client.models.generateContentStream({ model, contents: 'Hello!' })
  t.match(await findFailure(collect(stream)), { status: 502 }, 'a stream that is cut')
})

for (const streamed of [false, true])
  t.test(`runs tools in two steps, ${streamed ? 'streamed' : 'whole'}`, async (t) => {
    const loop = await startLoop(t)
    if (loop === undefined) return
    const client = await openClient(t, loop.gateway, loop.apiKey)
    if (client === undefined) return
    const parameters = { type: 'OBJECT', properties: { word: { type: 'STRING' } }, required: ['word'] }
    const tools = [{ functionDeclarations: [{ name: 'look', description: 'Looks a word up.', parameters }] }]
    const chat = client.chats.create({ model, config: { tools } })
    const send = async (message: unknown): Promise<readonly Answer[]> =>
      streamed ? collect(await chat.sendMessageStream({ message })) : [await chat.sendMessage({ message })]
    let answers = await send('Which colours?')
    for (;;) {
      const calls = answers.flatMap(({ functionCalls = [] }) => functionCalls)
      if (calls.length === 0) break
      answers = await send(
        calls.map(({ id, name, args }) => ({
          functionResponse: { id, name, response: { output: words[args?.['word'] ?? ''] } },
        })),
      )
    }
    t.equal(answers.map(({ text }) => text ?? '').join(''), finalText)
    const messages = await loop.check(t)
    t.match(messages, [
      { role: 'user' },
      {
        role: 'assistant',
        content: 'Let me look.',
        reasoning_content: 'Two words first.',
        tool_calls: [{ id: 'call_a' }, { id: 'call_b' }],
      },
      { role: 'tool', tool_call_id: 'call_a', content: 'blue' },
      { role: 'tool', tool_call_id: 'call_b', content: 'green' },
      { role: 'assistant', tool_calls: [{ id: 'call_c' }] },
      { role: 'tool', tool_call_id: 'call_c', content: 'white' },
    ])
  })

t.test('shows pictures and thoughts of a Gemini upstream', async (t) => {
  const { gateway, server, token } = await setUpGeminiGateway(t, () => ({
    parts: [
      { text: 'Hm.', thought: true },
      { text: 'Here:', thoughtSignature: 'U0lH' },
      { inlineData: { mimeType: 'image/png', data: pixel } },
    ],
  }))
  const client = await openClient(t, gateway, token)
  if (client === undefined) return
  const chat = client.chats.create({ model, config: { thinkingConfig: { includeThoughts: true } } })
  const answer = await chat.sendMessage({ message: ['Draw this:', { inlineData: { mimeType: 'image/png', data: pixel } }] })
  t.equal(answer.data, pixel)
  t.equal(answer.text, 'Here:')
  t.match(
    answer.candidates?.[0]?.content?.parts?.find(({ thought }) => thought === true),
    { text: 'Hm.' },
  )
  t.equal(answer.usageMetadata?.['thoughtsTokenCount'], 3)
  await chat.sendMessage({ message: 'Again.' })
  t.match(server.requests[1]?.contents[1], {
    role: 'model',
    parts: [
      { text: 'Hm.', thought: true },
      { text: 'Here:' },
      { inlineData: { mimeType: 'image/png', data: pixel } },
      { text: '', thoughtSignature: 'U0lH' },
    ],
  })
  t.same(server.rejected, [])
})
