/** The real Codex, headless, against a gateway with a scripted model: a task with tools, and what its user sees of each failure. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { createMovableClock } from '../../support/gateway/movable-clock.ts'
import { createTemporaryFolder, startGateway, waitUntil } from '../../support/gateway/test-gateway.ts'
import type { Overrides, StartOptions, TestGateway } from '../../support/gateway/test-gateway.ts'
import { responsesKey, startResponsesServer } from '../../support/upstream/responses-server.ts'
import { openClientPackages } from './client-packages.ts'
import { runProgram } from './support/run-program.ts'
import type { ProgramResult } from './support/run-program.ts'
import { fine, slowPlan, smallPlan, startScriptedModel, useUpMinute } from './support/scripted-model.ts'
import type { ReceivedRequest, ScriptedAnswer, ScriptedModel } from './support/scripted-model.ts'

interface Codex {
  readonly gateway: TestGateway
  readonly model: ScriptedModel
  readonly account: string
  readonly token: string
  /** Its working directory. */
  readonly project: string
  exec(prompt: string, options?: ExecOptions): Promise<ProgramResult>
  /** Requests that reached the gateway, and turns that were charged. */
  count(): Promise<{ readonly requests: number; readonly charged: number }>
}

interface ExecOptions {
  readonly model?: string
  readonly key?: string
  /** Lines of the configuration file, before its tables. */
  readonly settings?: string
  /** Lines of the provider's table. */
  readonly provider?: string
}

/** A catalog entry makes Codex offer \`apply_patch\`, a tool with free text. */
const catalogEntry = {
  slug: 'svc-2.1',
  display_name: 'svc-2.1',
  description: 'From the gateway',
  default_reasoning_level: null,
  supported_reasoning_levels: [],
  shell_type: 'unified_exec',
  visibility: 'list',
  supported_in_api: true,
  priority: 1,
  availability_nux: null,
  upgrade: null,
  base_instructions: 'You are a coding agent.',
  supports_reasoning_summaries: false,
  default_reasoning_summary: 'none',
  support_verbosity: false,
  default_verbosity: null,
  apply_patch_tool_type: 'freeform',
  truncation_policy: { mode: 'tokens', limit: 10_000 },
  supports_parallel_tool_calls: true,
  supports_image_detail_original: false,
  context_window: 128_000,
  max_context_window: 128_000,
  effective_context_window_percent: 95,
  experimental_supported_tools: [],
  input_modalities: ['text', 'image'],
  supports_search_tool: false,
}

async function startCodex(
  t: Test,
  answer: (request: ReceivedRequest, before: number) => ScriptedAnswer,
  overrides: Overrides = {},
  options: StartOptions = {},
): Promise<Codex | undefined> {
  const packages = await openClientPackages(t)
  if (packages === undefined) return undefined
  const model = await startScriptedModel(t, answer)
  const gateway = await startGateway(t, { upstreams: { main: { baseUrl: model.url } }, ...overrides }, options)
  const { id: account, token } = await gateway.createMember(Object.keys(overrides.plans ?? {})[0])
  const home = createTemporaryFolder(t)
  const project = join(home, 'project')
  mkdirSync(project)
  mkdirSync(join(home, '.codex'))
  writeFileSync(join(home, '.codex/catalog.json'), JSON.stringify({ models: [catalogEntry] }))
  return {
    gateway,
    model,
    account,
    token,
    project,
    exec(prompt, { model: modelId = 'svc-2.1', key = token, settings = '', provider = '' } = {}) {
      const config = `model = "${modelId}"
model_provider = "svc"
${settings}
[analytics]
enabled = false
[model_providers.svc]
name = "svc"
base_url = "${gateway.url}/v1"
env_key = "SVC_API_KEY"
wire_api = "responses"
${provider}
`
      writeFileSync(join(home, '.codex/config.toml'), config)
      return runProgram(packages.findProgram('codex'), ['exec', '--skip-git-repo-check', '-s', 'danger-full-access', prompt], {
        cwd: project,
        env: { PATH: process.env['PATH'], HOME: home, CODEX_HOME: join(home, '.codex'), SVC_API_KEY: key, TERM: 'xterm' },
      })
    },
    async count() {
      await gateway.waitUntilSettled()
      const turns = await gateway.listTurns(account)
      return {
        requests: gateway.log.filter((line) => line.includes('"path":"/v1/responses"')).length,
        charged: turns.filter(({ state, credits }) => state === 'settled' && (credits ?? 0) > 0).length,
      }
    },
  }
}

t.test('finishes a task with parallel calls, a tool server and an edit', async (t) => {
  const codex = await startCodex(t, ({ messages, tools = [] }) => {
    const results = messages.filter(({ role }) => role === 'tool')
    const findTool = (name: string) => tools.find((tool) => tool.function.name.endsWith(name))?.function.name ?? name
    const run = (id: string, cmd: string) => ({ id, name: findTool('exec_command'), arguments: JSON.stringify({ cmd }) })
    switch (results.length) {
      case 0:
        return { reasoning: 'Look first.', text: 'Two commands.', calls: [run('call_a', 'echo one'), run('call_b', 'echo two')] }
      case 2:
        return { calls: [{ id: 'call_c', name: findTool('demo__lookup'), arguments: '{"word":"sky"}' }] }
      case 3: {
        const input = '*** Begin Patch\n*** Add File: hello.txt\n+hello "wörld"\n*** End Patch\n'
        return { calls: [{ id: 'call_d', name: findTool('apply_patch'), arguments: JSON.stringify({ input }) }] }
      }
      default:
        return { text: 'All done.' }
    }
  })
  if (codex === undefined) return
  const settings = `model_catalog_json = ${JSON.stringify(join(codex.project, '../.codex/catalog.json'))}
[mcp_servers.demo]
command = ${JSON.stringify(process.execPath)}
args = [${JSON.stringify(join(import.meta.dirname, 'support/mcp-demo.ts'))}]
`
  const { code, stdout, stderr } = await codex.exec('Do the task', { settings })
  t.equal(code, 0, stderr)
  t.match(stdout, /All done\./)
  t.equal(readFileSync(join(codex.project, 'hello.txt'), 'utf8'), 'hello "wörld"\n')
  const results = codex.model.requests.at(-1)?.messages.filter(({ role }) => role === 'tool')
  t.match(results, [
    { tool_call_id: 'call_a', content: /one/ },
    { tool_call_id: 'call_b', content: /two/ },
    { tool_call_id: 'call_c', content: /found sky/ },
    { tool_call_id: 'call_d', content: /Success\. Updated the following files:\nA hello\.txt/ },
  ])
  t.equal(results?.length, 4)
  const [turn] = codex.model.requests.at(-1)?.messages.filter(({ role }) => role === 'assistant') ?? []
  t.match(turn, { content: 'Two commands.', reasoning_content: 'Look first.', tool_calls: [{ id: 'call_a' }, { id: 'call_b' }] })
  t.same(await codex.count(), { requests: 4, charged: 4 })
})

t.test('finishes a task with an upstream of its own API, whose reasoning returns', async (t) => {
  const patch = '*** Begin Patch\n*** Add File: hello.txt\n+hello "wörld"\n*** End Patch\n'
  const server = await startResponsesServer(t, ({ input, tools = [] }) => {
    const results = typeof input === 'string' ? [] : input.filter(({ type }) => String(type).endsWith('_output'))
    const find = (end: string) => tools.find(({ name }) => String(name).endsWith(end))?.['name']
    const reasoning = { type: 'reasoning', summary: [], encrypted_content: `gAAAA${results.length}` }
    if (results.length === 0) {
      const args = JSON.stringify({ cmd: 'echo one' })
      return { output: [reasoning, { type: 'function_call', call_id: 'call_a', name: find('exec_command'), arguments: args }] }
    }
    if (results.length === 1)
      return { output: [reasoning, { type: 'custom_tool_call', call_id: 'call_b', name: find('apply_patch'), input: patch }] }
    return { output: [{ type: 'message', text: 'All done.' }] }
  })
  const codex = await startCodex(t, fine, {
    upstreams: { main: { baseUrl: server.url, apiKey: responsesKey, responses: true } },
  })
  if (codex === undefined) return
  const settings = `model_catalog_json = ${JSON.stringify(join(codex.project, '../.codex/catalog.json'))}`
  const { code, stdout, stderr } = await codex.exec('Do the task', { settings })
  t.equal(code, 0, stderr)
  t.match(stdout, /All done\./)
  t.equal(readFileSync(join(codex.project, 'hello.txt'), 'utf8'), 'hello "wörld"\n')
  const input = server.requests.at(-1)?.input ?? ''
  const items = typeof input === 'string' ? [] : input.filter(({ type }) => type !== 'message')
  t.match(items, [
    { type: 'reasoning', encrypted_content: 'gAAAA0' },
    { type: 'function_call', call_id: 'call_a' },
    { type: 'function_call_output', output: /one/ },
    { type: 'reasoning', encrypted_content: 'gAAAA1' },
    { type: 'custom_tool_call', call_id: 'call_b', input: patch },
    { type: 'custom_tool_call_output', output: /A hello\.txt/ },
  ])
  t.same(server.rejected, [])
  t.same(await codex.count(), { requests: 3, charged: 3 })
})

t.test('a model of its own catalog calls tools that stand in the input, under an alias', async (t) => {
  const input = 'const r = await tools.exec_command({ cmd: "echo marker-1" }); text(r.output)'
  const codex = await startCodex(
    t,
    ({ messages, tools = [] }) => {
      const name = tools.find((tool) => tool.function.name === 'functions__exec')?.function.name ?? 'none'
      return messages.some(({ role }) => role === 'tool')
        ? fine()
        : { calls: [{ id: 'call_a', name, arguments: JSON.stringify({ input }) }] }
    },
    { apiFormats: { responses: { aliases: { 'gpt-*': 'svc-2.1' } } } },
  )
  if (codex === undefined) return
  const { code, stdout } = await codex.exec('Say hello', { model: 'gpt-6.1-sol' })
  t.equal(code, 0)
  t.match(stdout, /All done\./)
  t.match(codex.model.requests.at(-1)?.messages.at(-1), { role: 'tool', tool_call_id: 'call_a', content: /marker-1/ })
  t.same(await codex.count(), { requests: 2, charged: 2 })
})

t.test('an empty quota is shown with its reset, after one request', async (t) => {
  const codex = await startCodex(t, () => ({ text: 'Long.', usage: { prompt_tokens: 20, completion_tokens: 20_000 } }), {
    plans: smallPlan,
  })
  if (codex === undefined) return
  const first = await codex.gateway.chat(codex.token, { max_tokens: 22_000 })
  t.equal(first.status, 200)
  await first.text()
  const { code, stderr } = await codex.exec('Say hello')
  t.equal(code, 1)
  t.match(stderr, /You.ve hit your usage limit\. What is left of your included usage.+, or try again at/)
  t.same(await codex.count(), { requests: 1, charged: 1 }, 'the one charge is the turn before')
})

t.test('a limit of requests is waited for', async (t) => {
  const { clock, advance } = createMovableClock()
  const codex = await startCodex(t, fine, { plans: slowPlan }, { clock })
  if (codex === undefined) return
  await useUpMinute(codex)
  const ended = codex.exec('Say hello')
  await waitUntil(async () => (await codex.count()).requests > 0, 'a request that is refused')
  advance(60_000)
  const { code, stdout } = await ended
  t.equal(code, 0)
  t.match(stdout, /All done\./)
  t.same(await codex.count(), { requests: 2, charged: 1 })
})

t.test('an upstream that is down is tried again, at no cost', async (t) => {
  const codex = await startCodex(t, () => ({ status: 500 }))
  if (codex === undefined) return
  const { code, stderr } = await codex.exec('Say hello', { provider: 'request_max_retries = 2\nstream_max_retries = 2' })
  t.equal(code, 1)
  t.match(stderr, /The model service failed to answer\. You were not charged\./)
  t.same(await codex.count(), { requests: 9, charged: 0 })
})

t.test('a stream that is cut is no finished answer, and is repeated at no cost', async (t) => {
  const codex = await startCodex(t, (_request, before) => (before === 0 ? { text: 'Half of a sentence', cutAfter: 2 } : fine()))
  if (codex === undefined) return
  const { code, stdout } = await codex.exec('Say hello')
  t.equal(code, 0)
  t.match(stdout, /All done\./)
  t.same(await codex.count(), { requests: 2, charged: 1 })
})

t.test('a call that was cut is not run', async (t) => {
  const codex = await startCodex(t, ({ tools = [] }, before) => {
    const name = tools.find((tool) => tool.function.name === 'exec_command')?.function.name ?? ''
    const call = { id: 'call_a', name, arguments: JSON.stringify({ cmd: 'touch ran.txt' }) }
    return before === 0 ? { calls: [call], cutAfter: 4 } : fine()
  })
  if (codex === undefined) return
  const { code } = await codex.exec('Say hello')
  t.equal(code, 0)
  t.throws(() => readFileSync(join(codex.project, 'ran.txt')))
  t.same(await codex.count(), { requests: 2, charged: 1 })
})

t.test('silence is bridged by events that Codex counts', async (t) => {
  const codex = await startCodex(t, () => ({ ...fine(), silenceMs: 6_000 }), {
    timeouts: { heartbeatAfterMs: 250, heartbeatEveryMs: 250 },
  })
  if (codex === undefined) return
  const { code, stdout } = await codex.exec('Say hello', {
    provider: 'stream_idle_timeout_ms = 4000\nstream_max_retries = 0',
  })
  t.equal(code, 0)
  t.match(stdout, /All done\./)
  t.same(await codex.count(), { requests: 1, charged: 1 })
})

t.test('a conversation that is too long ends with the sentence of Codex for it', async (t) => {
  const error = {
    message: "This model's maximum context length is 128000 tokens. However, your messages resulted in 200000 tokens.",
    code: 'context_length_exceeded',
  }
  const codex = await startCodex(t, () => ({ status: 400, error }))
  if (codex === undefined) return
  const { code, stderr } = await codex.exec('Say hello')
  t.equal(code, 1)
  t.match(stderr, /Codex ran out of room in the model's context window/)
  t.same(await codex.count(), { requests: 1, charged: 0 })
})

t.test('a wrong key and an unknown model are answered once, with the sentence alone', async (t) => {
  const codex = await startCodex(t, fine)
  if (codex === undefined) return
  for (const [options, sentence] of [
    [{ key: 'svc_live_wrong' }, /ERROR: You are not signed in, or your session or key is no longer valid\.\n/],
    [{ model: 'other-model' }, /ERROR: This service does not offer this model\. Available models: .*svc-2\.1/],
  ] as const) {
    const before = await codex.count()
    const { code, stderr } = await codex.exec('Say hello', options)
    t.equal(code, 1)
    t.match(stderr, sentence)
    t.same(await codex.count(), { requests: before.requests + 1, charged: 0 })
  }
})
