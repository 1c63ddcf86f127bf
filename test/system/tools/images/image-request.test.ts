/** `images.generate` of the SDKs, with the image product of the chat: the same generator, the same price. */
import OpenAI from 'openai'
import t from 'tap'
import { expectErrorEnvelope } from '../../../support/gateway/error-envelope.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'

const g = await startGateway(t)
const { token, id } = await g.createMember()
const client = new OpenAI({ baseURL: `${g.url}/v1`, apiKey: token, maxRetries: 0 })
const post = (body: unknown) =>
  fetch(`${g.url}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

t.test('returns an image as a link or as bytes at the price of a chat', async (t) => {
  const linked = await client.images.generate({ model: 'svc-img', prompt: 'A lighthouse', size: '1024x1024' })
  const { url = '' } = linked.data?.[0] ?? {}
  t.ok(url.startsWith(`${g.url}/v1/images/`), url)
  const picture = Buffer.from(await (await fetch(url)).arrayBuffer())
  t.equal(picture.toString('latin1', 1, 4), 'PNG')
  const plain = await client.images.generate({ model: 'svc-img', prompt: 'A lighthouse', response_format: 'b64_json' })
  t.same(Object.keys(plain.data?.[0] ?? {}), ['b64_json'])
  t.ok(Buffer.from(plain.data?.[0]?.b64_json ?? '', 'base64').equals(picture), 'the same bytes')
  t.ok((plain.usage?.total_tokens ?? 0) > 0)
  await (await g.chat(token, { model: 'svc-img', messages: [{ role: 'user', content: 'A lighthouse' }] })).text()
  const [chat, second, first] = await g.listTurns(id)
  t.match(first, { state: 'settled', model: 'svc-img' })
  t.ok((chat?.credits ?? 0) > 0)
  t.equal(first?.credits, chat?.credits)
  t.equal(second?.credits, chat?.credits)
  t.match(JSON.parse(g.demo.calls.at(-3)?.rawBody ?? ''), {
    size: '1024x1024',
    messages: [{ role: 'user', content: 'A lighthouse' }],
  })
})

t.test('uses the image product if no model is named', async (t) => {
  for (const body of [{ prompt: 'A house' }, { prompt: 'A house', model: null }]) {
    const response = await post(body)
    t.equal(response.status, 200)
    t.match(await response.json(), { created: Number, data: [{ url: /^http/ }] })
  }
})

t.test('refuses an invalid request before any hold and names the field', async (t) => {
  const before = (await g.listTurns(id)).length
  const requests = g.demo.stats().requests
  for (const [body, param, code = 'invalid_request'] of [
    [{}, 'prompt'],
    [{ prompt: '  ' }, 'prompt'],
    [{ prompt: 'x', stream: true }, 'stream'],
    [{ prompt: 'x', n: 2 }, 'n'],
    [{ prompt: 'x', n: 0 }, 'n'],
    [{ prompt: 'x', response_format: 'file' }, 'response_format'],
    [{ prompt: 'x', model: 'svc' }, 'model'],
    [{ prompt: 'x', model: 'dall-e-3' }, 'model', 'official_models_only'],
  ] as const) {
    const { error } = await expectErrorEnvelope(
      t,
      await post(body),
      { status: 400, code, stage: 'validation' },
      JSON.stringify(body),
    )
    t.equal(error.param, param, JSON.stringify(body))
  }
  t.equal((await g.listTurns(id)).length, before)
  t.equal(g.demo.stats().requests, requests)
})

t.test('refunds text without an image', async (t) => {
  g.demo.script(() => ({
    body: {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'x',
      choices: [{ index: 0, message: { role: 'assistant', content: 'I would rather not.' }, finish_reason: 'stop' }],
    },
  }))
  const { debug } = await expectErrorEnvelope(t, await post({ prompt: 'x' }), { status: 502, code: 'upstream_error' })
  t.equal(debug.quotaRefunded, true)
  g.demo.script()
})

t.test('passes the requested number and size to an upstream of the images API', async (t) => {
  const painting = await startGateway(t, { images: { style: 'generations' } })
  const { token } = await painting.createMember()
  const own = new OpenAI({ baseURL: `${painting.url}/v1`, apiKey: token, maxRetries: 0 })
  const { data = [] } = await own.images.generate({ model: 'svc-img', prompt: 'Two houses', n: 2, size: '256x256' })
  t.ok(data.length > 0)
  const call = painting.demo.calls.at(-1)
  t.equal(call?.path, '/v1/images/generations')
  const sent = JSON.parse(call?.rawBody ?? '') as Record<string, unknown>
  t.match(sent, { prompt: 'Two houses', n: 2, size: '256x256' })
  t.notOk('messages' in sent)
})

t.test('accepts POST only on the path and answers 404 on its neighbours', async (t) => {
  const headers = { authorization: `Bearer ${token}` }
  const got = await fetch(`${g.url}/v1/images/generations`, { headers })
  t.equal(got.headers.get('allow'), 'POST')
  await expectErrorEnvelope(t, got, { status: 405, code: 'method_not_allowed' })
  for (const path of ['edits', 'variations'])
    await expectErrorEnvelope(t, await fetch(`${g.url}/v1/images/${path}`, { method: 'POST', headers }), {
      status: 404,
      code: 'not_found',
    })
})
