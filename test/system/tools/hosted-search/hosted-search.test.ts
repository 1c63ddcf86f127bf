/** Hosted search within a turn, from the request to the ledger, in both API formats. */
import t from 'tap'
import { maxLaterParts } from '../../../../src/domain/billing/ledger.ts'
import { maxHostedSearches } from '../../../../src/exchange/hosted-search.ts'
import { waitUntil } from '../../../support/gateway/test-gateway.ts'
import { callSearch, isSearch, searchAnswer, searchOnce, startSearchingGateway } from './scripted-search.ts'
import type { SearchingGateway } from './scripted-search.ts'

type Json = Readonly<Record<string, unknown>>

interface SearchFormat {
  readonly path: string
  readonly tool: Json
  readonly ownTool: Json
  readonly forced: Json
  /** A request with these tools. */
  toBody(tools: readonly Json[]): Json
  /** One line for each block or item of an answer. */
  summarize(answer: Json): readonly string[]
  /** The whole answer that a stream has. */
  readStream(text: string): Json
  readonly endEvent: string
  readonly failureEvent: string
}

const look = { type: 'object', properties: {} }

const messages: SearchFormat = {
  path: '/v1/messages',
  tool: { type: 'web_search_20250305', name: 'web_search', max_uses: 8 },
  ownTool: { name: 'look', input_schema: look },
  forced: { type: 'tool', name: 'web_search' },
  toBody: (tools) => ({ max_tokens: 100, messages: [{ role: 'user', content: 'Which version?' }], tools }),
  summarize: ({ content }) =>
    (content as Json[]).map(({ type, text, input, content, citations, name }) => {
      if (type === 'text')
        return `text ${String(text)} ${((citations ?? []) as Json[]).map(({ url }) => String(url)).join(' ')}`.trim()
      if (type === 'web_search_tool_result')
        return `result ${Array.isArray(content) ? content.map(({ url }: Json) => String(url)).join(' ') : String((content as Json)['error_code'])}`
      return `${String(type)} ${String(name)} ${JSON.stringify(input)}`
    }),
  readStream(text) {
    const blocks: Record<string, unknown>[] = []
    let usage: unknown
    for (const event of readEvents(text)) {
      const block = blocks[event['index'] as number] ?? {}
      const delta = (event['delta'] ?? {}) as Json
      if (event['type'] === 'content_block_start') blocks.push({ ...(event['content_block'] as Json) })
      if (event['type'] === 'message_delta') ({ usage } = event)
      if (typeof delta['text'] === 'string') block['text'] = String(block['text']) + delta['text']
      if (typeof delta['partial_json'] === 'string') block['input'] = JSON.parse(delta['partial_json'])
      if (delta['citation'] !== undefined) block['citations'] = [...((block['citations'] ?? []) as unknown[]), delta['citation']]
    }
    return { content: blocks, usage }
  },
  endEvent: 'event: message_stop',
  failureEvent: 'event: error',
}

const responses: SearchFormat = {
  path: '/v1/responses',
  tool: { type: 'web_search_preview' },
  ownTool: { type: 'function', name: 'look', parameters: look },
  forced: { type: 'web_search_preview' },
  toBody: (tools) => ({ input: 'Which version?', include: ['web_search_call.action.sources'], tools }),
  summarize: ({ output }) =>
    (output as Json[]).map(({ type, content, action, status, name, arguments: args }) => {
      if (type === 'message') {
        const [{ text = '', annotations = [] } = {}] = content as Json[]
        return `text ${String(text)} ${(annotations as Json[]).map(({ url }) => String(url)).join(' ')}`.trim()
      }
      if (type === 'function_call') return `tool_use ${String(name)} ${String(args)}`
      const { query, sources } = action as Json
      return `search ${String(query)} ${String(status)} ${(sources as Json[]).map(({ url }) => String(url)).join(' ')}`.trim()
    }),
  readStream: (text) => readEvents(text).findLast(({ type }) => type === 'response.completed')?.['response'] as Json,
  endEvent: 'event: response.completed',
  failureEvent: 'event: response.failed',
}

function readEvents(text: string): readonly Json[] {
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json = '']) => JSON.parse(json) as Json)
}

function post(
  { gateway, token }: SearchingGateway,
  { path }: Pick<SearchFormat, 'path'>,
  body: Json,
  { headers = {}, signal }: { readonly headers?: Readonly<Record<string, string>>; readonly signal?: AbortSignal } = {},
): Promise<Response> {
  return fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'svc-2.1', ...body }),
    ...(signal === undefined ? {} : { signal }),
  })
}

/** The turns in their order, as model and state. */
async function listTurns({ gateway, account }: SearchingGateway): Promise<readonly string[]> {
  await gateway.waitUntilSettled()
  const turns = await gateway.listTurns(account)
  return turns.map(({ model, state }) => `${model} ${state}`).toReversed()
}

const threeTurns = ['svc-2.1 settled', 'svc-2.1-search settled', 'svc-2.1 settled']
const searchBlocks: Readonly<Record<string, readonly string[]>> = {
  '/v1/messages': [
    'server_tool_use web_search {"query":"sqlite version"}',
    'result https://sqlite.org/news https://other.example/page',
  ],
  '/v1/responses': ['search sqlite version completed https://sqlite.org/news https://other.example/page'],
}

for (const format of [messages, responses]) {
  const { path, tool, ownTool, forced, toBody } = format
  const blocks = searchBlocks[path] ?? []

  t.test(`${path} runs a search as its only tool, streamed as whole, and charges each call`, async (t) => {
    const all: Json[] = []
    for (const stream of [false, true]) {
      const searching = await startSearchingGateway(t, searchOnce())
      const response = await post(searching, format, { ...toBody([tool]), stream })
      t.equal(response.status, 200)
      t.equal(response.headers.get('x-svc-fields-dropped'), null)
      const answer = stream ? format.readStream(await response.text()) : ((await response.json()) as Json)
      all.push(answer)
      t.same(format.summarize(answer), ['text I search.', ...blocks, 'text It is 3.99 [1]. https://sqlite.org/news'])
      t.same(await listTurns(searching), threeTurns)
      const turns = await searching.gateway.listTurns(searching.account)
      t.equal(new Set(turns.map(({ requestId }) => requestId)).size, 1, 'the turns have the id of the request')
      const ofModel = turns.filter(({ model }) => model === 'svc-2.1')
      t.match(ofModel, [{ apiFormat: path.slice(4) }, { apiFormat: path.slice(4) }])
      const sum = ofModel.reduce((tokens, { inputTokens }) => tokens + inputTokens, 0)
      t.match(answer['usage'], { input_tokens: sum, output_tokens: 68 }, 'the usage is the ledger’s')
      const [, , last] = searching.model.requests
      t.match(last?.messages.at(-2), {
        role: 'assistant',
        content: 'I search.',
        tool_calls: [{ function: { name: 'web_search' } }],
      })
      t.match(last?.messages.at(-1), { role: 'tool', content: /"answer":"The newest version is 3.99 \[1\].".*sqlite\.org/ })
    }
    const [whole, streamed] = all
    t.same(format.summarize(streamed ?? {}), format.summarize(whole ?? {}))
  })

  t.test(`${path} runs a search beside tools of the client's own`, async (t) => {
    const searching = await startSearchingGateway(t, (request) => {
      const answer = searchOnce()(request)
      if (isSearch(request) || answer.calls !== undefined) return answer
      return { text: 'Now look.', calls: [{ id: 'call_l', name: 'look', arguments: '{}' }] }
    })
    const response = await post(searching, format, { ...toBody([ownTool, tool]), stream: true })
    t.same(format.summarize(format.readStream(await response.text())), [
      'text I search.',
      ...blocks,
      'text Now look.',
      'tool_use look {}',
    ])
    t.same(await listTurns(searching), threeTurns)
  })

  t.test(`${path} leaves out a search that is called beside another tool`, async (t) => {
    for (const stream of [false, true]) {
      const searching = await startSearchingGateway(t, () => ({
        calls: [callSearch('a'), { id: 'call_l', name: 'look', arguments: '{}' }],
      }))
      const response = await post(searching, format, { ...toBody([ownTool, tool]), stream })
      const answer = stream ? format.readStream(await response.text()) : ((await response.json()) as Json)
      t.same(format.summarize(answer), ['tool_use look {}'])
      t.same(await listTurns(searching), ['svc-2.1 settled'])
    }
  })

  t.test(`${path} forces the first search only`, async (t) => {
    const searching = await startSearchingGateway(t, searchOnce())
    await (await post(searching, format, { ...toBody([ownTool, tool]), tool_choice: forced })).text()
    const choices = searching.model.requests.filter((request) => !isSearch(request)).map((request) => request['tool_choice'])
    t.same(choices, [{ type: 'function', function: { name: 'web_search' } }, undefined])
  })

  t.test(`${path} ends a turn whose model never stops to search`, async (t) => {
    const searching = await startSearchingGateway(t, (request, before) =>
      isSearch(request) ? searchAnswer : { calls: [callSearch(`query ${before}`, `call_${before}`)] },
    )
    const limit = path === '/v1/messages' ? {} : { max_tool_calls: 2 }
    const response = await post(searching, format, { ...toBody([{ ...tool, max_uses: 2 }]), ...limit })
    t.equal(response.status, 200)
    const answer = (await response.json()) as Json
    t.equal(searching.listSearches().length, 2)
    t.same(await listTurns(searching), [...threeTurns, 'svc-2.1-search settled', 'svc-2.1 settled'])
    t.equal(searching.model.requests.at(-1)?.['tool_choice'], 'none')
    t.match(searching.model.requests.at(-1)?.messages.at(-1)?.content, /"number":3,/, 'sources are numbered on')
    t.notMatch(JSON.stringify(answer), /tool_use","id":"call|function_call/)
  })

  t.test(`${path} gives the model a failed search, and charges nothing for it`, async (t) => {
    const searching = await startSearchingGateway(
      t,
      searchOnce(() => ({ status: 500 })),
    )
    for (const stream of [false, true]) {
      const response = await post(searching, format, { ...toBody([tool]), stream })
      const answer = stream ? format.readStream(await response.text()) : ((await response.json()) as Json)
      const [, failed, ...rest] = format.summarize(answer)
      t.same(
        [failed, ...rest],
        path === '/v1/messages'
          ? ['server_tool_use web_search {"query":"sqlite version"}', 'result unavailable', 'text It is 3.99 [1].']
          : ['search sqlite version failed', 'text It is 3.99 [1].'],
      )
    }
    t.match(searching.model.requests.at(-1)?.messages.at(-1)?.content, /^The search failed: .*You were not charged/)
    const turns = ['svc-2.1 settled', 'svc-2.1-search refunded', 'svc-2.1 settled']
    t.same(await listTurns(searching), [...turns, ...turns])
  })

  t.test(`${path} charges what was done before a call of the model that fails`, async (t) => {
    for (const [name, fault] of [
      ['an error', { status: 500 }],
      ['a cut', { text: 'It is a long answer, which is cut', cutAfter: 3 }],
    ] as const)
      for (const stream of [false, true]) {
        const searching = await startSearchingGateway(t, (request) => {
          const answer = searchOnce()(request)
          return isSearch(request) || answer.calls !== undefined ? answer : fault
        })
        const response = await post(searching, format, { ...toBody([tool]), stream })
        const text = await response.text()
        t.same(await listTurns(searching), ['svc-2.1 settled', 'svc-2.1-search settled', 'svc-2.1 refunded'], name)
        const turns = await searching.gateway.listTurns(searching.account)
        const credits = turns.reduce((sum, turn) => sum + turn.credits, 0)
        t.match(text, `the calls before it were charged ${credits} credits`, name)
        t.match(text, 'The model service failed to answer. The call that failed was not charged', name)
        // The codes of an upstream promise a refund.
        t.notMatch(text, /upstream_|You were not charged|本次未计费/, name)
        if (stream) {
          t.match(text, format.failureEvent, name)
          t.notMatch(text, format.endEvent, name)
        } else {
          t.ok(response.status >= 500, name)
          t.match(JSON.parse(text), { code: 'temporarily_unavailable', debug: { quotaRefunded: false } }, name)
          t.equal(response.headers.get('x-should-retry'), 'false', 'sent again, the calls before are charged again')
        }
      }
  })

  t.test(`${path} charges a call of the model that is refused within its answer, and one that fails there not`, async (t) => {
    for (const [code, state] of [
      [400, 'settled'],
      [500, 'refunded'],
    ] as const) {
      const fault = { text: 'It is a long answer, which is refused', errorAfter: 3, error: { message: 'no', code } }
      const searching = await startSearchingGateway(t, (request) => {
        const answer = searchOnce()(request)
        return isSearch(request) || answer.calls !== undefined ? answer : fault
      })
      const text = await (await post(searching, format, { ...toBody([tool]), stream: true })).text()
      t.same(await listTurns(searching), ['svc-2.1 settled', 'svc-2.1-search settled', `svc-2.1 ${state}`])
      if (state === 'refunded') t.match(text, format.failureEvent)
      else {
        t.notMatch(text, format.failureEvent)
        t.match(text, /"stop_reason":"max_tokens"|"reason":"max_output_tokens"/)
      }
    }
  })

  t.test(`${path} tells a repeated idempotency key what the whole turn cost`, async (t) => {
    for (const [name, answer, state] of [
      ['complete', undefined, 'settled'],
      ['failed', { status: 500 }, 'refunded'],
    ] as const) {
      const searching = await startSearchingGateway(t, (request) => {
        const usual = searchOnce()(request)
        return isSearch(request) || usual.calls !== undefined ? usual : (answer ?? usual)
      })
      const send = () => post(searching, format, { ...toBody([tool]), stream: true }, { headers: { 'idempotency-key': 'k' } })
      await (await send()).text()
      t.same(await listTurns(searching), ['svc-2.1 settled', 'svc-2.1-search settled', `svc-2.1 ${state}`], name)
      const turns = await searching.gateway.listTurns(searching.account)
      const credits = turns.reduce((sum, turn) => sum + turn.credits, 0)
      const repeated = await send()
      t.equal(repeated.status, 409)
      t.match(await repeated.text(), `charged once: ${credits} credits`, name)
    }
  })

  t.test(`${path} makes no further call for a client that has left`, async (t) => {
    for (const stream of [false, true]) {
      let leave = (): void => undefined
      const left = new AbortController()
      const searching = await startSearchingGateway(
        t,
        searchOnce(() => {
          leave()
          return { ...searchAnswer, silenceMs: 300 }
        }),
      )
      leave = () => left.abort()
      await t.rejects(post(searching, format, { ...toBody([tool]), stream }, { signal: left.signal }).then((r) => r.text()))
      await waitUntil(async () => (await searching.gateway.listTurns(searching.account)).length === 2, 'both turns')
      const [model, search, ...rest] = await listTurns(searching)
      t.same([model, rest], ['svc-2.1 settled', []])
      t.match(search, /^svc-2\.1-search (?:settled|refunded)$/)
      t.equal(searching.model.requests.length, 2)
    }
  })

  t.test(`${path} charges the output so far of a client that leaves the last call`, async (t) => {
    const left = new AbortController()
    const searching = await startSearchingGateway(t, (request) => {
      const answer = searchOnce()(request)
      if (isSearch(request) || answer.calls !== undefined) return answer
      setTimeout(() => left.abort(), 100)
      return { text: 'Slow', silenceMs: 5_000 }
    })
    await t.rejects(post(searching, format, { ...toBody([tool]), stream: true }, { signal: left.signal }).then((r) => r.text()))
    t.same(await listTurns(searching), threeTurns)
  })

  t.test(`${path} refuses or drops the search where the plan has none`, async (t) => {
    const plans = { max: { models: ['svc-2.1'] } }
    const searching = await startSearchingGateway(t, () => ({ text: 'Fine.' }), { plans })
    const field = path === '/v1/messages' ? 'tools[0].type' : 'tools[0]'
    for (const [body, param] of [
      [toBody([tool]), field],
      [{ ...toBody([ownTool, tool]), tool_choice: forced }, path === '/v1/messages' ? 'tool_choice.name' : 'tool_choice'],
    ] as const) {
      const response = await post(searching, format, body)
      t.equal(response.status, 400)
      t.ok((await response.text()).includes(`'${param}'`), param)
    }
    const response = await post(searching, format, toBody([ownTool, tool]))
    t.equal(response.status, 200)
    t.equal(response.headers.get('x-svc-fields-dropped'), `tools.${String(tool['type'])}`)
    t.same(await listTurns(searching), ['svc-2.1 settled'])
    t.match(searching.model.requests, [{ tools: [{ function: { name: 'look' } }] }])
  })

  t.test(`${path} uses one of the plan's slots for all calls of a turn`, async (t) => {
    const searching = await startSearchingGateway(
      t,
      searchOnce(() => ({ ...searchAnswer, silenceMs: 200 })),
      { plans: { max: { concurrency: 1 } } },
    )
    const [first, second] = await Promise.all([post(searching, format, toBody([tool])), post(searching, format, toBody([tool]))])
    t.same([first.status, second.status].toSorted(), [200, 429])
    t.same(await listTurns(searching), threeTurns)
  })

  t.test(`${path} runs two turns at once, with a charge for each call`, async (t) => {
    const searching = await startSearchingGateway(t, searchOnce())
    const all = await Promise.all([1, 2].map(async () => (await post(searching, format, toBody([tool]))).json() as Promise<Json>))
    for (const answer of all) t.equal(format.summarize(answer).at(-1), 'text It is 3.99 [1]. https://sqlite.org/news')
    t.same((await listTurns(searching)).toSorted(), [...threeTurns, ...threeTurns].toSorted())
  })

  t.test(`${path} refuses a repeated request before any call`, async (t) => {
    const searching = await startSearchingGateway(t, searchOnce())
    const headers = { 'idempotency-key': 'once' }
    t.equal((await post(searching, format, toBody([tool]), { headers })).status, 200)
    t.equal((await post(searching, format, toBody([tool]), { headers })).status, 409)
    t.same(await listTurns(searching), threeTurns)
  })

  t.test(`${path} runs a search for a body that the parser's thread reads`, async (t) => {
    const searching = await startSearchingGateway(t, searchOnce())
    const long = 'word '.repeat(40_000)
    const body = path === '/v1/messages' ? { messages: [{ role: 'user', content: long }] } : { input: long }
    const answer = (await (await post(searching, format, { ...toBody([tool]), ...body })).json()) as Json
    t.equal(format.summarize(answer).at(-1), 'text It is 3.99 [1]. https://sqlite.org/news')
    t.equal(searching.model.requests.at(-1)?.messages[0]?.content, long)
    t.same(await listTurns(searching), threeTurns)
  })

  t.test(`${path} keeps the connection of a stream alive while it searches`, async (t) => {
    const searching = await startSearchingGateway(
      t,
      searchOnce(() => ({ ...searchAnswer, silenceMs: 400 })),
      { timeouts: { heartbeatEveryMs: 50 } },
    )
    const text = await (await post(searching, format, { ...toBody([tool]), stream: true })).text()
    t.ok(text.split(/^event: (?:ping|keepalive)$/m).length > 3)
  })

  t.test(`${path} keeps to the domains of the request`, async (t) => {
    const searching = await startSearchingGateway(t, searchOnce())
    const domains = { allowed_domains: ['SQLite.org'] }
    const filtered = path === '/v1/messages' ? domains : { filters: domains }
    const answer = (await (await post(searching, format, toBody([{ ...tool, ...filtered }]))).json()) as Json
    t.match(format.summarize(answer).join('\n'), 'https://sqlite.org/news')
    t.notMatch(JSON.stringify(answer), 'other.example')
    t.equal(searching.listSearches()[0]?.messages[0]?.content, 'sqlite version site:sqlite.org')
    const result = String(searching.model.requests.at(-1)?.messages.at(-1)?.content)
    t.notMatch(result, /answer|other\.example/, 'an answer may come from what was left out')
  })

  t.test(`${path} reports a query that cannot be searched for to the model`, async (t) => {
    const searching = await startSearchingGateway(t, (request) => {
      const answer = searchOnce()(request)
      return answer.calls === undefined ? answer : { calls: [callSearch('')] }
    })
    t.equal((await post(searching, format, toBody([tool]))).status, 200)
    t.match(searching.model.requests.at(-1)?.messages.at(-1)?.content, /^The search was not made/)
    t.same(await listTurns(searching), ['svc-2.1 settled', 'svc-2.1 settled'])
  })
}

t.test('has one turn for each call of many requests at once, of which some fail', async (t) => {
  const expected: string[] = []
  let count = 0
  const searching = await startSearchingGateway(t, (request) => {
    // Every fifth call fails, whichever it is.
    const fails = ++count % 5 === 0
    expected.push(`${isSearch(request) ? 'svc-2.1-search' : 'svc-2.1'} ${fails ? 'refunded' : 'settled'}`)
    return fails ? { status: 500 } : searchOnce()(request)
  })
  const statuses = await Promise.all(
    Array.from({ length: 40 }, async (_, i) => {
      const format = i % 2 === 0 ? messages : responses
      const response = await post(searching, format, { ...format.toBody([format.tool]), stream: i % 4 > 1 })
      await response.text()
      return response.status
    }),
  )
  t.ok(statuses.includes(200) && statuses.some((status) => status >= 500))
  t.same((await listTurns(searching)).toSorted(), expected.toSorted())
})

t.test('has an idempotency key for each turn that searches can add', async (t) => {
  // Each search is followed by a call of the model.
  t.equal(maxLaterParts, 2 * maxHostedSearches)
})

const pool = (day: number) => ({ day, week: day, month: day })
const toPlans = (day: { readonly fast: number; readonly premium: number }) => ({
  max: { pools: { fast: pool(day.fast), premium: pool(day.premium) } },
})

t.test('continues without a search that the balance does not cover', async (t) => {
  const searching = await startSearchingGateway(t, searchOnce(), { plans: toPlans({ fast: 1e6, premium: 1 }) })
  const body = { ...messages.toBody([messages.tool]), model: 'svc-2.1-fast' }
  const answer = (await (await post(searching, messages, body)).json()) as Json
  t.same(messages.summarize(answer).slice(2), ['result too_many_requests', 'text It is 3.99 [1].'])
  t.equal(searching.listSearches().length, 0)
  t.same(await listTurns(searching), ['svc-2.1-fast settled', 'svc-2.1-fast settled'])
})

t.test('refuses the next call of the model where the balance is used up, and names the charge', async (t) => {
  const searching = await startSearchingGateway(t, searchOnce(), { plans: toPlans({ fast: 115, premium: 115 }) })
  const response = await post(searching, messages, messages.toBody([messages.tool]))
  t.equal(response.status, 402)
  const [turn, ...others] = await searching.gateway.listTurns(searching.account)
  t.same(others, [])
  t.equal(turn?.state, 'settled')
  t.match(await response.json(), { code: 'quota_exceeded', error: { message: `were charged ${turn?.credits} credits` } })
})

t.test('counts the tokens of a prompt with a search as its only tool', async (t) => {
  const searching = await startSearchingGateway(t, searchOnce())
  const { max_tokens: _, ...body } = messages.toBody([messages.tool])
  const response = await post(searching, { path: '/v1/messages/count_tokens' }, body)
  t.equal(response.status, 200)
  t.same(await listTurns(searching), [])
})

t.test('a turn with a large picture searches without parsing its request in the serving thread', async (t) => {
  const data = 'iVBORw0KGgoA'.repeat(100_000)
  const bodies: Json[] = [
    {
      ...messages.toBody([messages.tool]),
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data } },
            { type: 'text', text: 'Which version?' },
          ],
        },
      ],
    },
    {
      ...responses.toBody([responses.tool]),
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_image', image_url: `data:image/png;base64,${data}` },
            { type: 'input_text', text: 'Which version?' },
          ],
        },
      ],
    },
  ]
  for (const [index, format] of [messages, responses].entries()) {
    const searching = await startSearchingGateway(t, searchOnce())
    const { bodyParser } = searching.gateway.services
    const refuseParsing = (chat: object): void =>
      void Object.defineProperty(chat, 'body', { get: () => t.fail('the request is parsed in the serving thread') })
    for (const name of ['parse', 'extend'] as const) {
      const run = bodyParser[name].bind(bodyParser) as (...input: readonly unknown[]) => Promise<object>
      Object.assign(bodyParser, {
        [name]: async (...input: readonly unknown[]) => {
          const chat = await run(...input)
          refuseParsing(chat)
          return chat
        },
      })
    }
    const response = await post(searching, format, { ...bodies[index] })
    t.equal(response.status, 200, format.path)
    t.match(format.summarize((await response.json()) as Json).at(-1), /It is 3.99/)
    t.same(await listTurns(searching), threeTurns)
    const [first, , last] = searching.model.requests
    t.equal(last?.messages.length, (first?.messages.length ?? 0) + 2)
    t.equal(JSON.stringify(last?.messages.slice(0, -2)), JSON.stringify(first?.messages), 'the picture is sent again')
    t.match(last?.messages.slice(-2), [{ role: 'assistant' }, { role: 'tool' }])
  }
})
