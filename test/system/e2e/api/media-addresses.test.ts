/** Pictures, video, sound and files that a message names by address, in every API format. */
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'

const user = (content: unknown) => ({ messages: [{ role: 'user', content }] })

/** Requests that name an address: path, and body without the model. */
function listRequests(url: string): readonly (readonly [path: string, body: Record<string, unknown>])[] {
  const picture = { type: 'image_url', image_url: { url } }
  const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }
  return [
    ['/v1/chat/completions', user([picture])],
    ['/v1/chat/completions', user([{ type: 'image_url', image_url: url }])],
    ['/v1/chat/completions', user([{ type: 'video_url', video_url: { url } }])],
    ['/v1/chat/completions', user([{ type: 'audio_url', audio_url: { url } }])],
    ['/v1/chat/completions', user([{ type: 'input_audio', input_audio: { data: url, format: 'wav' } }])],
    ['/v1/chat/completions', user([{ type: 'file', file: { file_data: url } }])],
    ['/v1/chat/completions', user([{ type: 'text', text: 'x'.repeat(200_000) }, picture])],
    [
      '/v1/chat/completions',
      {
        messages: [
          { role: 'user', content: 'look' },
          { role: 'assistant', tool_calls: [call] },
          { role: 'tool', tool_call_id: 'call_1', content: [picture] },
        ],
      },
    ],
    ['/v1/responses', { input: [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }] }],
    ['/v1/responses', { input: [{ role: 'user', content: [{ type: 'input_file', file_url: url }] }] }],
    [
      '/v1/responses',
      { input: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: url, format: 'wav' } }] }] },
    ],
    [
      '/v1/responses',
      {
        input: [
          { role: 'user', content: 'look' },
          { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
          { type: 'function_call_output', call_id: 'call_1', output: [{ type: 'input_image', image_url: url }] },
        ],
      },
    ],
    ['/v1/messages', { max_tokens: 9, ...user([{ type: 'image', source: { type: 'url', url } }]) }],
    ['/v1/messages', { max_tokens: 9, ...user([{ type: 'document', source: { type: 'url', url } }]) }],
    [
      '/v1/messages',
      {
        max_tokens: 9,
        messages: [
          { role: 'user', content: 'look' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'look', input: {} }] },
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: 'call_1', content: [{ type: 'image', source: { type: 'url', url } }] }],
          },
        ],
      },
    ],
  ]
}

function post(g: TestGateway, token: string, path: string, body: Record<string, unknown>): Promise<Response> {
  return fetch(`${g.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc-2.1', ...body }),
  })
}

t.test('no address of a member reaches an upstream at a private address, and no turn begins', async (t) => {
  let requests = 0
  const inside = createServer((_, response) => void response.end(String(++requests))).listen(0, '127.0.0.1')
  await once(inside, 'listening')
  t.teardown(() => inside.close())
  const { port } = inside.address() as AddressInfo
  const g = await startGateway(t)
  const { token } = await g.createMember()
  for (const url of [`http://127.0.0.1:${port}/secret.png`, 'https://images.example.com/a.png'])
    for (const [path, body] of listRequests(url)) {
      const response = await post(g, token, path, body)
      const text = await response.text()
      t.equal(response.status, 400, `${path} ${JSON.stringify(body).slice(-150)}`)
      t.match(text, /base64|contents|Base64/, 'and says what to send instead')
      t.notMatch(text, String(port))
    }
  t.equal(g.demo.stats().requests, 0)
  t.same(await g.listTurns(), [])
  t.equal(requests, 0)
})

t.test('an upstream elsewhere receives no address of a private host', async (t) => {
  const g = await startGateway(t, { upstreams: { main: { mediaByAddress: 'https' } } })
  const { token } = await g.createMember()
  for (const url of [
    'http://93.184.216.34/a.png',
    'https://127.0.0.1/a.png',
    'https://2130706433/',
    'https://[::ffff:127.0.0.1]/',
  ])
    for (const [path, body] of listRequests(url)) t.equal((await post(g, token, path, body)).status, 400, `${url} ${path}`)
  t.equal(g.demo.stats().requests, 0)
  const [[path, body] = ['', {}]] = listRequests('https://93.184.216.34/a.png')
  t.equal((await post(g, token, path, body)).status, 200)
})

t.test('the strictest of the targets that may serve decides', async (t) => {
  const targets = [
    { upstream: 'open', model: 'demo-flagship', weight: 1 },
    { upstream: 'main', model: 'demo-flagship', weight: 0 },
  ]
  const g = await startGateway(t, {
    upstreams: { open: { baseUrl: 'demo', mediaByAddress: 'any' } },
    products: { 'svc-2.1': { targets } },
  })
  const { token } = await g.createMember()
  const [[path, body] = ['', {}]] = listRequests('https://93.184.216.34/a.png')
  t.equal((await post(g, token, path, body)).status, 400)
})

t.test('an upstream that may fetch everything receives addresses, for products with vision alone', async (t) => {
  const g = await startGateway(t, {
    upstreams: { main: { mediaByAddress: 'any' } },
    products: {
      'svc-2.1-text': {
        name: 'Text',
        tier: 'flagship',
        contextLength: 8_192,
        maxOutputTokens: 8_192,
        targets: [{ upstream: 'main', model: 'demo-flagship' }],
      },
    },
  })
  const { token } = await g.createMember()
  const url = 'http://10.0.0.1/a.mp4'
  for (const part of [
    { type: 'image_url', image_url: { url } },
    { type: 'video_url', video_url: { url } },
    { type: 'audio_url', audio_url: { url } },
  ]) {
    t.equal((await post(g, token, '/v1/chat/completions', user([part]))).status, 200, part.type)
    t.ok(g.demo.calls.at(-1)?.rawBody.includes(url), part.type)
    const blind = await post(g, token, '/v1/chat/completions', { model: 'svc-2.1-text', ...user([part]) })
    t.equal(blind.status, 400, part.type)
    t.match(await blind.json(), { code: 'invalid_request' })
  }
})
