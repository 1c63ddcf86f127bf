/** Hosted web search through the SDKs of OpenAI and Anthropic, Claude Code and Codex: what each of them shows of a search, and what it costs. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type * as OpenAiPackage from 'openai'
import t from 'tap'
import type { Test } from 'tap'
import { runSvc } from '../../support/cli/run-svc.ts'
import { createTemporaryFolder } from '../../support/gateway/test-gateway.ts'
import { isSearch, searchOnce, startSearchingGateway } from '../tools/hosted-search/scripted-search.ts'
import type { SearchingGateway } from '../tools/hosted-search/scripted-search.ts'
import { openClientPackages } from './client-packages.ts'
import type { ClientPackages } from './client-packages.ts'
import { runProgram } from './support/run-program.ts'
import type { ReceivedRequest, ScriptedAnswer } from './support/scripted-model.ts'

type SearchingClient = SearchingGateway & { readonly packages: ClientPackages }

async function start(
  t: Test,
  answer: (request: ReceivedRequest, before: number) => ScriptedAnswer,
  overrides: Parameters<typeof startSearchingGateway>[2] = {},
): Promise<SearchingClient | undefined> {
  const packages = await openClientPackages(t)
  return packages === undefined ? undefined : { ...(await startSearchingGateway(t, answer, overrides)), packages }
}

/** The turns in their order, as model and state. */
async function listTurns({ gateway, account }: SearchingGateway): Promise<readonly string[]> {
  await gateway.waitUntilSettled()
  const turns = await gateway.listTurns(account)
  return turns.map(({ model, state }) => `${model} ${state}`).toReversed()
}

const threeTurns = ['svc-2.1 settled', 'svc-2.1-search settled', 'svc-2.1 settled']

interface Block {
  readonly type: string
  readonly text?: string
  readonly citations?: readonly { readonly url: string; readonly cited_text: string }[] | null
  readonly content?: readonly { readonly url: string }[]
  readonly input?: unknown
}

interface Anthropic {
  readonly messages: {
    create(request: object): Promise<{ readonly content: readonly Block[] }>
    stream(request: object): { finalMessage(): Promise<{ readonly content: readonly Block[] }> }
  }
}

for (const streamed of [false, true]) {
  const how = streamed ? 'streamed' : 'whole'

  t.test(`@anthropic-ai/sdk, ${how}`, async (t) => {
    const client = await start(t, searchOnce())
    if (client === undefined) return
    type Package = { readonly default: new (options: object) => Anthropic }
    const { default: Anthropic } = await client.packages.load<Package>('@anthropic-ai/sdk')
    const { messages } = new Anthropic({ apiKey: client.token, baseURL: client.gateway.url, maxRetries: 0 })
    const ask = (history: readonly object[]) => {
      const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 8 }]
      const request = { model: 'svc-2.1', max_tokens: 1000, messages: history, tools }
      return streamed ? messages.stream(request).finalMessage() : messages.create(request)
    }
    const question = { role: 'user', content: 'Which version?' }
    const answer = await ask([question])
    t.match(answer, {
      content: [
        { type: 'text', text: 'I search.' },
        { type: 'server_tool_use', name: 'web_search', input: { query: 'sqlite version' } },
        { type: 'web_search_tool_result', content: [{ url: 'https://sqlite.org/news', title: 'SQLite' }, {}] },
        {
          type: 'text',
          text: 'It is 3.99 [1].',
          citations: [{ url: 'https://sqlite.org/news', title: 'SQLite', cited_text: 'Version 3.99 was released.' }],
        },
      ],
      stop_reason: 'end_turn',
      usage: { input_tokens: 2400, output_tokens: 68, server_tool_use: { web_search_requests: 1 } },
    })
    t.equal(answer.content.length, 4)
    t.same(await listTurns(client), threeTurns)
    const next = await ask([question, { role: 'assistant', content: answer.content }, { role: 'user', content: 'Thanks!' }])
    t.match(next.content.at(-1)?.text, /3\.99/, 'the answer can be sent back')
  })

  t.test(`openai, ${how}`, async (t) => {
    const client = await start(t, searchOnce())
    if (client === undefined) return
    const { default: OpenAI } = await client.packages.load<typeof OpenAiPackage>('openai')
    const { responses } = new OpenAI({ apiKey: client.token, baseURL: `${client.gateway.url}/v1`, maxRetries: 0 })
    const ask = (input: unknown) => {
      const request = {
        model: 'svc-2.1',
        input: input as string,
        store: false,
        include: ['web_search_call.action.sources' as const],
        tools: [{ type: 'web_search' as const }],
      }
      return streamed ? responses.stream(request).finalResponse() : responses.create(request)
    }
    const response = await ask('Which version?')
    t.match(response, {
      status: 'completed',
      output: [
        { type: 'message', content: [{ text: 'I search.' }] },
        {
          type: 'web_search_call',
          status: 'completed',
          action: { type: 'search', query: 'sqlite version', sources: [{ type: 'url', url: 'https://sqlite.org/news' }, {}] },
        },
        {
          type: 'message',
          content: [
            {
              text: 'It is 3.99 [1].',
              annotations: [
                { type: 'url_citation', url: 'https://sqlite.org/news', title: 'SQLite', start_index: 11, end_index: 14 },
              ],
            },
          ],
        },
      ],
      usage: { input_tokens: 2400, output_tokens: 68 },
    })
    t.equal(response.output.length, 3)
    t.same(await listTurns(client), threeTurns)
    const next = await ask([
      { role: 'user', content: 'Which version?' },
      ...response.output,
      { role: 'user', content: 'Thanks!' },
    ])
    t.match(next.output_text, /3\.99/, 'the answer can be sent back')
  })
}

interface Ai {
  generateText(options: object): Promise<{ readonly text: string; readonly sources: readonly object[] }>
  streamText(options: object): { readonly text: PromiseLike<string>; readonly sources: PromiseLike<readonly object[]> }
}

interface AiProvider {
  (model: string): object
  readonly tools: Readonly<Record<string, (options: object) => object>>
}

type AiProviderPackage = Readonly<Record<string, (options: object) => AiProvider>>

for (const [name, create, tool] of [
  ['@ai-sdk/anthropic', 'createAnthropic', 'webSearch_20250305'],
  ['@ai-sdk/openai', 'createOpenAI', 'webSearch'],
] as const)
  t.test(`${name} reads the sources of an answer, whole and streamed`, async (t) => {
    const client = await start(t, searchOnce())
    if (client === undefined) return
    const { generateText, streamText } = await client.packages.load<Ai>('ai')
    const { [create]: createProvider } = await client.packages.load<AiProviderPackage>(name)
    const provider = createProvider?.({ apiKey: client.token, baseURL: `${client.gateway.url}/v1` })
    const options = {
      model: provider?.('svc-2.1'),
      prompt: 'Which version?',
      tools: { web_search: provider?.tools[tool]?.({}) },
      maxRetries: 0,
    }
    const whole = await generateText(options)
    const streamed = streamText(options)
    for (const { text, sources } of [whole, { text: await streamed.text, sources: await streamed.sources }]) {
      t.match(text, /It is 3\.99 \[1\]\./)
      t.match(sources, [{ sourceType: 'url', url: 'https://sqlite.org/news' }])
    }
    t.same(await listTurns(client), [...threeTurns, ...threeTurns])
  })

async function runClaude(t: Test, client: SearchingClient): Promise<{ readonly stdout: string; readonly result: string }> {
  const home = createTemporaryFolder(t)
  const { stdout, stderr, code } = await runProgram(
    client.packages.findProgram('claude'),
    ['-p', 'Find the version', '--model', 'svc-2.1', '--allowedTools', 'WebSearch'],
    {
      cwd: home,
      env: {
        PATH: process.env['PATH'],
        HOME: home,
        CLAUDE_CONFIG_DIR: join(home, '.claude'),
        ANTHROPIC_BASE_URL: client.gateway.url,
        ANTHROPIC_AUTH_TOKEN: client.token,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        CLAUDE_CODE_MAX_RETRIES: '1',
        ENABLE_TOOL_SEARCH: 'false',
        DISABLE_AUTOUPDATER: '1',
      },
    },
  )
  t.equal(code, 0, stderr)
  const last = client.model.requests.findLast(isMainTurn)
  return { stdout, result: String(last?.messages.find(({ role }) => role === 'tool')?.content) }
}

/** Claude Code's own turn, and not the one that it makes to search. */
function isMainTurn({ tools = [] }: ReceivedRequest): boolean {
  return tools.some((tool) => tool.function.name === 'WebSearch')
}

/** The main turn uses the tool once; the turn inside it searches. */
const searchByTool =
  (search?: (request: ReceivedRequest) => ScriptedAnswer) =>
  (request: ReceivedRequest): ScriptedAnswer => {
    if (isSearch(request) || !isMainTurn(request)) return searchOnce(search)(request)
    if (request.messages.some(({ role }) => role === 'tool')) return { text: 'All done.' }
    return { calls: [{ id: 'call_w', name: 'WebSearch', arguments: JSON.stringify({ query: 'sqlite version' }) }] }
  }

t.test('Claude Code searches by its own tool', async (t) => {
  const client = await start(t, searchByTool())
  if (client === undefined) return
  const { stdout, result } = await runClaude(t, client)
  t.match(stdout, /All done\./)
  t.match(result, /Links: \[\{"title":"SQLite","url":"https:\/\/sqlite\.org\/news"\}/)
  t.match(result, /It is 3\.99 \[1\]\./)
  t.same(await listTurns(client), ['svc-2.1 settled', ...threeTurns, 'svc-2.1 settled'])
})

t.test('Claude Code continues without results where the search engine is down', async (t) => {
  const client = await start(
    t,
    searchByTool(() => ({ status: 500 })),
  )
  if (client === undefined) return
  const { stdout, result } = await runClaude(t, client)
  t.match(stdout, /All done\./)
  t.match(result, /unavailable|It is 3\.99/)
  const [first, ...rest] = await listTurns(client)
  t.equal(first, 'svc-2.1 settled')
  t.same(rest, ['svc-2.1 settled', 'svc-2.1-search refunded', 'svc-2.1 settled', 'svc-2.1 settled'])
})

t.test('Claude Code reports that the plan has no search', async (t) => {
  const client = await start(t, searchByTool(), { plans: { max: { models: ['svc-2.1'] } } })
  if (client === undefined) return
  const { stdout, result } = await runClaude(t, client)
  t.match(stdout, /All done\./)
  t.match(result, /400 .*'tools\[0\]\.type'/)
  t.equal(client.listSearches().length, 0)
  t.same(await listTurns(client), ['svc-2.1 settled', 'svc-2.1 settled'])
})

for (const [mode, searches] of [
  ['what svc setup writes', 1],
  ['cached', 0],
] as const)
  t.test(`Codex searches with ${mode} ${searches} times`, async (t) => {
    const client = await start(t, (request) => {
      const hasSearch = request.tools?.some((tool) => tool.function.name === 'web_search') === true
      return isSearch(request) || hasSearch ? searchOnce()(request) : { text: 'It is 3.98.' }
    })
    if (client === undefined) return
    const home = createTemporaryFolder(t)
    const env = { XDG_CONFIG_HOME: join(home, '.config'), SVC_API_KEY: client.token }
    const setup = ['setup', 'codex', '--write', '--model', 'svc-2.1']
    t.equal((await runSvc(setup, { home, site: client.gateway.url, env })).code, 0)
    const file = join(home, '.codex/config.toml')
    if (mode === 'cached') writeFileSync(file, readFileSync(file, 'utf8').replace('web_search = "live"', 'web_search = "cached"'))
    const { stdout, stderr, code } = await runProgram(
      client.packages.findProgram('codex'),
      ['exec', '--skip-git-repo-check', 'Find the version'],
      { cwd: home, env: { PATH: process.env['PATH'], HOME: home, SVC_API_KEY: client.token } },
    )
    t.equal(code, 0, stderr)
    t.equal(client.listSearches().length, searches)
    if (searches === 0) return t.match(stdout, /It is 3\.98\./)
    t.match(stdout, /It is 3\.99 \[1\]\./)
    t.match(stderr, /web search: sqlite version/i)
    t.same(await listTurns(client), threeTurns)
  })
