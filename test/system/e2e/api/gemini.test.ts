/** The endpoints of the Gemini API, from the request to the ledger. */
import t from 'tap'
import { setUpAnthropicGateway, setUpGeminiGateway, setUpResponsesGateway } from '../../../support/gateway/scripted-gateway.ts'
import { startGateway } from '../../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../../support/gateway/test-gateway.ts'

const path = '/v1beta/models/svc-2.1'
const contents = [{ role: 'user', parts: [{ text: 'Hello!' }] }]

interface Answer {
  readonly candidates: readonly {
    readonly content: { readonly role: string; readonly parts: readonly Readonly<Record<string, unknown>>[] }
    readonly finishReason?: string
  }[]
  readonly usageMetadata?: Readonly<Record<string, number>>
  readonly error?: { readonly code: number; readonly message: string; readonly status: string }
}

function post(
  { url }: Pick<TestGateway, 'url'>,
  address: string,
  body: unknown,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  return fetch(url + address, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

const readEvents = (text: string): readonly Answer[] =>
  text
    .split('\n\n')
    .filter((frame) => frame.trim() !== '')
    .map((frame) => JSON.parse(frame.trim().slice('data: '.length)) as Answer)

const getText = ({ candidates }: Answer): string => candidates[0]?.content.parts.map(({ text }) => text ?? '').join('') ?? ''

t.test('answers whole, for a key of each kind of header', async (t) => {
  const gateway = await startGateway(t)
  const { id, token } = await gateway.createMember()
  for (const headers of [{ authorization: `Bearer ${token}` }, { 'x-goog-api-key': token }] as Record<string, string>[]) {
    const response = await post(gateway, `${path}:generateContent`, { contents }, headers)
    t.equal(response.status, 200)
    const answer = (await response.json()) as Answer
    t.match(getText(answer), /gateway/i)
    t.match(answer, { candidates: [{ content: { role: 'model' }, finishReason: 'STOP', index: 0 }], modelVersion: 'svc-2.1' })
    const [turn] = await gateway.listTurns(id)
    t.match(turn, { state: 'settled', model: 'svc-2.1', apiFormat: 'gemini' })
    t.match(answer.usageMetadata, { promptTokenCount: turn?.inputTokens, candidatesTokenCount: turn?.outputTokens })
  }
})

t.test('streams, and names the reason and the usage after the settlement', async (t) => {
  const gateway = await startGateway(t)
  const { id, token } = await gateway.createMember()
  const headers = { 'x-goog-api-key': token }
  const response = await post(gateway, `${path}:streamGenerateContent?alt=sse`, { contents }, headers)
  t.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  const events = readEvents(await response.text())
  t.ok(events.length > 2)
  t.ok(
    events.every(({ candidates }) => (candidates[0]?.content.parts.length ?? 0) > 0),
    'each event has parts',
  )
  t.same(
    events.map(({ candidates }) => candidates[0]?.finishReason).filter((reason) => reason !== undefined),
    ['STOP'],
  )
  const [turn] = await gateway.listTurns(id)
  t.match(turn, { state: 'settled', apiFormat: 'gemini' })
  t.equal(events.at(-1)?.usageMetadata?.['candidatesTokenCount'], turn?.outputTokens)
  const refused = await post(gateway, `${path}:streamGenerateContent`, { contents }, headers)
  t.equal(refused.status, 400)
  t.match(((await refused.json()) as Answer).error?.message, /alt=sse/)
})

t.test('renders each refusal in Google’s form, and charges nothing', async (t) => {
  const gateway = await startGateway(t)
  const { id, token } = await gateway.createMember()
  const key = { 'x-goog-api-key': token }
  const generate = `${path}:generateContent`
  const cases: readonly (readonly [string, Response, number, string, string])[] = [
    ['no key', await post(gateway, generate, { contents }, {}), 401, 'UNAUTHENTICATED', 'sign_in_required'],
    [
      'a wrong key',
      await post(gateway, generate, { contents }, { 'x-goog-api-key': 'sk-x' }),
      401,
      'UNAUTHENTICATED',
      'sign_in_required',
    ],
    ['no JSON', await post(gateway, generate, '{', key), 400, 'INVALID_ARGUMENT', 'invalid_request'],
    ['an array', await post(gateway, generate, '[]', key), 400, 'INVALID_ARGUMENT', 'invalid_request'],
    ['nothing', await post(gateway, generate, '', key), 400, 'INVALID_ARGUMENT', 'invalid_request'],
    ['no contents', await post(gateway, generate, {}, key), 400, 'INVALID_ARGUMENT', 'invalid_request'],
    [
      'another type',
      await post(gateway, generate, 'x', { ...key, 'content-type': 'text/plain' }),
      415,
      'INVALID_ARGUMENT',
      'unsupported_media_type',
    ],
    [
      'an unknown model',
      await post(gateway, '/v1beta/models/no:generateContent', { contents }, key),
      404,
      'NOT_FOUND',
      'official_models_only',
    ],
    [
      'a broken model',
      await post(gateway, '/v1beta/models/%E0%A4%A:generateContent', { contents }, key),
      404,
      'NOT_FOUND',
      'official_models_only',
    ],
    [
      'another method',
      await fetch(`${gateway.url}/v1beta/models`, { method: 'POST', headers: key }),
      405,
      'UNIMPLEMENTED',
      'method_not_allowed',
    ],
    ['another endpoint', await post(gateway, `${path}:embedContent`, {}, key), 404, 'NOT_FOUND', 'not_found'],
    ['an unknown id', await fetch(`${gateway.url}/v1beta/models/no`, { headers: key }), 404, 'NOT_FOUND', 'not_found'],
  ]
  for (const [name, response, status, google, code] of cases) {
    const failure = (await response.json()) as Answer & { code: string }
    t.equal(response.status, status, name)
    t.match(failure, { error: { code: status, status: google }, code }, name)
    t.equal(Object.keys(failure)[0], 'error', 'the SDK for Python looks for it at the start')
  }
  for (const [param, fields] of Object.entries({
    contents: { contents: [{ role: 'user', parts: [{ unknown: 1 }] }] },
    'contents[0].role': { contents: [{ role: 'robot', parts: [] }] },
    'contents[0].parts[0]': { contents: [{ role: 'user', parts: ['x'] }] },
    'contents[0].parts[0].text': { contents: [{ role: 'user', parts: [{ text: 7 }] }] },
    'contents[0].parts[0].inlineData.mimeType': { contents: [{ parts: [{ inlineData: { data: 'AAAA' } }] }] },
    'contents[0].parts[0].inlineData.data': {
      contents: [{ parts: [{ inlineData: { mimeType: 'image/png', data: 'aGVsbG8=' } }] }],
    },
    'contents[0].parts[0].fileData.fileUri': {
      contents: [{ parts: [{ fileData: { fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/abc' } }] }],
    },
    'contents[0].parts[0].functionCall.name': { contents: [{ role: 'model', parts: [{ functionCall: {} }] }] },
    'tools[0].codeExecution': { tools: [{ codeExecution: {} }] },
    'toolConfig.functionCallingConfig.mode': { toolConfig: { functionCallingConfig: { mode: 'SOMETIMES' } } },
    'generationConfig.candidateCount': { generationConfig: { candidateCount: 2 } },
    'generationConfig.temperature': { generationConfig: { temperature: 'warm' } },
    cachedContent: { cachedContent: 'cachedContents/abc' },
  })) {
    const response = await post(gateway, generate, { contents, ...fields }, key)
    t.equal(response.status, 400, param)
    t.match(await response.json(), { error: { details: [{}, { fieldViolations: [{ field: param }] }] } }, param)
  }
  t.same(await gateway.listTurns(id), [])
})

t.test('refuses a key in the address, and writes it nowhere', async (t) => {
  const gateway = await startGateway(t)
  const { id, token } = await gateway.createMember()
  for (const response of [
    await post(gateway, `${path}:generateContent?key=${token}`, { contents }, {}),
    await post(gateway, `${path}:streamGenerateContent?alt=sse&key=${token}`, { contents }, { 'x-goog-api-key': token }),
    await post(gateway, `${path}:countTokens?key=${token}`, { contents }, {}),
    await fetch(`${gateway.url}/v1beta/models?key=${token}`),
    await fetch(`${gateway.url}/v1beta/models/svc-2.1?key=${token}`),
  ]) {
    const text = await response.text()
    t.equal(response.status, 400)
    t.match(text, /x-goog-api-key/)
    t.notOk(text.includes(token))
  }
  t.same(await gateway.listTurns(id), [])
  t.notOk(gateway.log.some((line) => line.includes(token)))
  t.notOk((await gateway.scrapeMetrics()).includes(token))
})

t.test('accepts a key in the address where the configuration does', async (t) => {
  const gateway = await startGateway(t, { apiFormats: { gemini: { keyInAddress: true } } })
  const { id, token } = await gateway.createMember()
  const response = await post(gateway, `${path}:generateContent?key=${token}`, { contents }, {})
  t.equal(response.status, 200)
  await response.text()
  t.equal((await fetch(`${gateway.url}/v1beta/models?key=${token}`)).status, 200)
  const wrong = await post(gateway, `${path}:generateContent?key=sk-wrong-key-in-address`, { contents }, {})
  t.equal(wrong.status, 401)
  t.equal((await gateway.listTurns(id)).length, 1)
  for (const key of [token, 'sk-wrong-key-in-address']) t.notOk(gateway.log.some((line) => line.includes(key)))
})

t.test('lists the products of the plan, in pages', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.createMember()
  const list = async (query: string) =>
    (await (await fetch(`${gateway.url}/v1beta/models${query}`, { headers: { 'x-goog-api-key': token } })).json()) as {
      models: { name: string }[]
      nextPageToken?: string
    }
  const all = await list('')
  t.ok(all.models.some(({ name }) => name === 'models/svc-2.1'))
  t.equal(all.nextPageToken, undefined)
  const names: string[] = []
  for (let token: string | undefined = ''; token !== undefined;) {
    const page = await list(`?pageSize=1${token === '' ? '' : `&pageToken=${token}`}`)
    names.push(...page.models.map(({ name }) => name))
    token = page.nextPageToken
  }
  t.same(
    names,
    all.models.map(({ name }) => name),
  )
  const one = await fetch(`${gateway.url}/v1beta/models/svc-2.1`, { headers: { 'x-goog-api-key': token } })
  t.match(await one.json(), { name: 'models/svc-2.1', inputTokenLimit: 128_000, supportedGenerationMethods: ['generateContent'] })
})

t.test('counts tokens without a charge', async (t) => {
  const gateway = await startGateway(t)
  const { id, token } = await gateway.createMember()
  const count = async (body: unknown) =>
    (await (await post(gateway, `${path}:countTokens`, body, { 'x-goog-api-key': token })).json()) as { totalTokens: number }
  const { totalTokens: short } = await count({ contents })
  t.ok(short > 0)
  const systemInstruction = { parts: [{ text: 'Be brief. '.repeat(100) }] }
  const whole = { generateContentRequest: { model: 'models/svc-2.1', contents, systemInstruction } }
  t.ok((await count(whole)).totalTokens > short + 200)
  t.ok((await count({ contents: [{ parts: [{ text: 'word '.repeat(40_000) }] }] })).totalTokens >= 40_000)
  t.same(await gateway.listTurns(id), [])
})

t.test('translates a large body in the thread of the parser', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.createMember()
  const large = [{ role: 'user', parts: [{ text: 'The quick brown fox. '.repeat(20_000) }] }]
  for (const [address, status] of [
    [`${path}:generateContent`, 200],
    ['/v1beta/models/no:generateContent', 404],
  ] as const) {
    const response = await post(gateway, address, { contents: large }, { 'x-goog-api-key': token })
    t.equal(response.status, status)
    await response.text()
  }
})

t.test('never ends a failed stream like a complete one', async (t) => {
  const gateway = await startGateway(t)
  const { id, token } = await gateway.createMember()
  gateway.demo.script(() => ({ cut: { afterEvents: 3 } }))
  const address = `${path}:streamGenerateContent?alt=sse`
  const text = await (await post(gateway, address, { contents }, { 'x-goog-api-key': token })).text()
  t.notMatch(text, /finishReason/)
  t.match(readEvents(text).at(-1), { error: { code: 502, status: 'UNAVAILABLE' }, code: 'upstream_error' })
  t.match(await gateway.listTurns(id), [{ state: 'refunded' }])
})

t.test('sends an empty quota in Google’s form', async (t) => {
  const gateway = await startGateway(t, { plans: { free: { pools: { fast: { day: 1, week: 1, month: 1 } } } } })
  const { token } = await gateway.createMember('free')
  const response = await post(gateway, '/v1beta/models/svc-2.1-fast:generateContent', { contents }, { 'x-goog-api-key': token })
  t.equal(response.status, 402)
  t.match(await response.json(), { error: { code: 402, status: 'RESOURCE_EXHAUSTED' }, code: 'quota_exceeded' })
})

t.test('takes the names of Google’s models as aliases', async (t) => {
  const gateway = await startGateway(t)
  const { id, token } = await gateway.createMember()
  const address = '/v1beta/models/gemini-3-flash-preview:generateContent'
  const response = await post(gateway, address, { contents }, { 'x-goog-api-key': token })
  t.equal(response.status, 200)
  await response.text()
  t.match(await gateway.listTurns(id), [{ model: 'svc-2.1-fast', requestedModel: 'gemini-3-flash-preview', apiFormat: 'gemini' }])
})

const declarations = [
  { name: 'look', description: 'Looks.', parameters: { type: 'OBJECT', properties: { at: { type: 'STRING', nullable: true } } } },
]
const tools = [{ functionDeclarations: declarations }]
const question = { contents, tools, generationConfig: { thinkingConfig: { includeThoughts: true } } }

/** A call, its result and the answer, each whole and streamed; returns the second request's contents. */
async function runTools(
  { gateway, token }: { readonly gateway: TestGateway; readonly token: string },
  { stream }: { readonly stream: boolean },
): Promise<{ readonly parts: readonly Readonly<Record<string, unknown>>[]; readonly second: Response }> {
  const address = `${path}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`
  const key = { 'x-goog-api-key': token }
  const text = await (await post(gateway, address, question, key)).text()
  const events = stream ? readEvents(text) : [JSON.parse(text) as Answer]
  const turns = events.map(({ candidates }) => candidates[0]?.content).filter((content) => content !== undefined)
  const parts = turns.flatMap((content) => content.parts)
  const results = parts.flatMap(({ functionCall }) => {
    if (functionCall === undefined) return []
    const { id, name } = functionCall as { id: string; name: string }
    return { functionResponse: { id, name, response: { output: 'Seen.' } } }
  })
  const history = [...contents, ...turns, { role: 'user', parts: results }]
  return { parts, second: await post(gateway, address, { ...question, contents: history }, key) }
}

for (const stream of [false, true]) {
  const how = stream ? 'streamed' : 'whole'

  t.test(`runs tools on a Gemini upstream and returns its signature, ${how}`, async (t) => {
    const { server, ...scripted } = await setUpGeminiGateway(t, (_, before) =>
      before % 2 === 0
        ? {
            parts: [
              { text: 'Hm.', thought: true },
              { text: 'Looking.' },
              { functionCall: { id: 'fc_1', name: 'look', args: { at: 'x' } }, thoughtSignature: 'U0lH' },
              { functionCall: { id: 'fc_2', name: 'look', args: {} } },
            ],
          }
        : {},
    )
    const { parts, second } = await runTools(scripted, { stream })
    t.equal(second.status, 200)
    await second.text()
    t.same(
      parts
        .filter(({ thought }) => thought === true)
        .map(({ text }) => text)
        .join(''),
      'Hm.',
    )
    const signatures = parts.map(({ thoughtSignature }) => thoughtSignature).filter((signature) => signature !== undefined)
    t.equal(signatures.length, 1)
    t.notMatch(Buffer.from(String(signatures[0]), 'base64').toString(), /SIG/, 'it is sealed')
    t.same(server.requests[1]?.contents, [
      ...contents,
      {
        role: 'model',
        parts: [
          // A streamed answer returns as one turn for each event, which the API does not take.
          ...(stream ? [] : [{ text: 'Hm.', thought: true }]),
          { text: 'Looking.' },
          { functionCall: { id: 'fc_1', name: 'look', args: { at: 'x' } }, thoughtSignature: 'U0lH' },
          { functionCall: { id: 'fc_2', name: 'look', args: {} } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'fc_1', name: 'look', response: { output: 'Seen.' } } },
          { functionResponse: { id: 'fc_2', name: 'look', response: { output: 'Seen.' } } },
        ],
      },
    ])
    t.match(server.requests[0], {
      generationConfig: { thinkingConfig: { includeThoughts: true } },
      tools,
    })
    t.same(server.rejected, [])
  })

  t.test(`runs tools on an Anthropic upstream and returns its signed thinking, ${how}`, async (t) => {
    const { server, ...scripted } = await setUpAnthropicGateway(t, (_, before) =>
      before % 2 === 0
        ? {
            content: [
              { type: 'thinking', thinking: 'Hm.', signature: 'sig' },
              { type: 'text', text: 'Looking.' },
              { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'x' } },
            ],
          }
        : {},
    )
    const { parts, second } = await runTools(scripted, { stream })
    t.equal(second.status, 200)
    await second.text()
    t.match(parts.at(-1), { functionCall: { id: 'toolu_1', args: { at: 'x' } }, thoughtSignature: /^[A-Za-z0-9+/]+=*$/ })
    t.match(server.requests[1]?.messages, [
      {},
      {
        role: 'assistant',
        content: [{ type: 'thinking', thinking: 'Hm.', signature: 'sig' }, { type: 'text' }, { type: 'tool_use', id: 'toolu_1' }],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1' }] },
    ])
    t.same(server.rejected, [])
  })
}

t.test('runs tools on an upstream of the Responses API', async (t) => {
  const { server, ...scripted } = await setUpResponsesGateway(t)
  const response = await post(scripted.gateway, `${path}:generateContent`, question, { 'x-goog-api-key': scripted.token })
  t.equal(response.status, 200)
  t.ok(getText((await response.json()) as Answer).length > 0)
  t.same(server.rejected, [])
})

t.test('streams an answer that is a call alone', async (t) => {
  const { gateway, account, token } = await setUpGeminiGateway(t, () => ({
    parts: [{ functionCall: { name: 'look', args: { at: 'x' } } }],
  }))
  const address = `${path}:streamGenerateContent?alt=sse`
  const response = await post(gateway, address, question, { 'x-goog-api-key': token })
  t.equal(response.status, 200)
  t.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  t.match(readEvents(await response.text()), [{ candidates: [{ content: { parts: [{ functionCall: { name: 'look' } }] } }] }])
  t.match(await gateway.listTurns(account), [{ state: 'settled' }])
})

t.test('serves the same below the version that newer SDKs name', async (t) => {
  const gateway = await startGateway(t)
  const { token } = await gateway.createMember()
  const key = { 'x-goog-api-key': token }
  const answer = await post(gateway, '/v1/models/svc-2.1:generateContent', { contents }, key)
  t.match(getText((await answer.json()) as Answer), /gateway/i)
  const counted = await post(gateway, '/v1/models/svc-2.1:countTokens', { contents }, key)
  t.match(await counted.json(), { totalTokens: Number })
  const failed = await post(gateway, '/v1/models/no:generateContent', { contents }, key)
  t.match(await failed.json(), { error: { code: 404, status: 'NOT_FOUND' } })
  const unknown = await post(gateway, '/v1/models/svc-2.1:embedContent', {}, key)
  t.match(await unknown.json(), { error: { code: 404, status: 'NOT_FOUND' } })
  const list = (await (await fetch(`${gateway.url}/v1/models`, { headers: key })).json()) as { models: { name: string }[] }
  t.ok(list.models.some(({ name }) => name === 'models/svc-2.1'))
  const one = await fetch(`${gateway.url}/v1/models/svc-2.1`, { headers: key })
  t.match(await one.json(), { name: 'models/svc-2.1', inputTokenLimit: 128_000 })
  const other = await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${token}` } })
  t.notOk('models' in ((await other.json()) as object), 'other clients')
})

t.test('keeps the steps of a loop of tools apart', async (t) => {
  const { server, gateway, token } = await setUpGeminiGateway(t)
  const step = (at: string) => [
    { role: 'model', parts: [{ functionCall: { name: 'look', args: { at } } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'look', response: { output: at } } }] },
  ]
  const body = { ...question, contents: [...contents, ...step('x'), ...step('y')] }
  t.equal((await post(gateway, `${path}:generateContent`, body, { 'x-goog-api-key': token })).status, 200)
  t.match(server.requests[0]?.contents, [
    {},
    { role: 'model', parts: [{ functionCall: { args: { at: 'x' } } }] },
    { role: 'user', parts: [{ functionResponse: { response: { output: 'x' } } }] },
    { role: 'model', parts: [{ functionCall: { args: { at: 'y' } } }] },
    { role: 'user', parts: [{ functionResponse: { response: { output: 'y' } } }] },
  ])
  t.same(server.rejected, [])
})

t.test('keeps the signature of one account from another', async (t) => {
  const { server, gateway, token } = await setUpGeminiGateway(t, () => ({
    parts: [{ functionCall: { id: 'fc_1', name: 'look', args: {} }, thoughtSignature: 'U0lH' }],
  }))
  const address = `${path}:generateContent`
  const first = (await (await post(gateway, address, question, { 'x-goog-api-key': token })).json()) as Answer
  const other = await gateway.createMember()
  const content = first.candidates[0]?.content
  const result = { role: 'user', parts: [{ functionResponse: { id: 'fc_1', name: 'look', response: { output: 'x' } } }] }
  const body = { ...question, contents: [...contents, content, result] }
  t.equal((await post(gateway, address, body, { 'x-goog-api-key': other.token })).status, 200)
  t.match(server.requests[1]?.contents[1]?.parts, [{ thoughtSignature: 'skip_thought_signature_validator' }])
})

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC'

t.test('passes pictures on in both directions, in either spelling of the fields', async (t) => {
  const drawn = { inlineData: { mimeType: 'image/png', data: pixel } }
  const { server, gateway, token } = await setUpGeminiGateway(t, () => ({ parts: [{ text: 'Here:' }, drawn] }))
  const key = { 'x-goog-api-key': token }
  const parts = [{ text: 'Look:' }, { inline_data: { mime_type: 'image/png', data: pixel } }]
  const body = { contents: [{ role: 'user', parts }], system_instruction: { parts: [{ text: 'Be brief.' }] } }
  const answer = (await (await post(gateway, `${path}:generateContent`, body, key)).json()) as Answer
  t.match(answer.candidates[0]?.content.parts, [{ text: 'Here:' }, drawn])
  t.same(server.requests[0]?.contents, [{ role: 'user', parts: [{ text: 'Look:' }, drawn] }])
  t.same(server.requests[0]?.systemInstruction, { parts: [{ text: 'Be brief.' }] })
  const text = await (await post(gateway, `${path}:streamGenerateContent?alt=sse`, body, key)).text()
  t.match(
    readEvents(text)
      .flatMap(({ candidates }) => candidates[0]?.content.parts ?? [])
      .find((part) => 'inlineData' in part),
    drawn,
  )
})

t.test('passes the settings of a request on to an upstream of the same API', async (t) => {
  const { server, gateway, token } = await setUpGeminiGateway(t)
  const generationConfig = {
    temperature: 0.5,
    topP: 0.9,
    topK: 40,
    maxOutputTokens: 1_000,
    stopSequences: ['END'],
    seed: 7,
    presencePenalty: 0.1,
    responseMimeType: 'application/json',
    responseJsonSchema: { type: 'object', properties: { a: { type: 'string' } } },
    thinkingConfig: { thinkingBudget: 512 },
    mediaResolution: 'MEDIA_RESOLUTION_LOW',
  }
  const safetySettings = [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }]
  const toolConfig = { functionCallingConfig: { mode: 'ANY' } }
  const response = await post(
    gateway,
    `${path}:generateContent`,
    { contents, tools, toolConfig, generationConfig, safetySettings, labels: { team: 'a' } },
    { 'x-goog-api-key': token },
  )
  t.equal(response.status, 200)
  t.equal(response.headers.get('x-svc-fields-dropped'), 'labels')
  t.same(server.requests[0]?.generationConfig, generationConfig)
  t.match(server.requests[0], { safetySettings, toolConfig })
})

t.test('refuses pictures from a model that the operator has not opened for them', async (t) => {
  const { gateway, token } = await setUpGeminiGateway(t)
  const body = { contents, generationConfig: { responseModalities: ['TEXT', 'IMAGE'] } }
  const response = await post(gateway, `${path}:generateContent`, body, { 'x-goog-api-key': token })
  t.equal(response.status, 400)
  t.match(await response.json(), {
    error: { details: [{}, { fieldViolations: [{ field: 'generationConfig.responseModalities' }] }] },
  })
})
