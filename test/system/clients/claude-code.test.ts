/** The real Claude Code, headless, against a gateway with a scripted model: a task with tools, and what its user sees of each failure. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { createMovableClock } from '../../support/gateway/movable-clock.ts'
import { createTemporaryFolder, startGateway, waitUntil } from '../../support/gateway/test-gateway.ts'
import type { Overrides, StartOptions, TestGateway } from '../../support/gateway/test-gateway.ts'
import { anthropicKey, startAnthropicServer } from '../../support/upstream/anthropic-server.ts'
import { openClientPackages } from './client-packages.ts'
import { runProgram } from './support/run-program.ts'
import type { ProgramResult } from './support/run-program.ts'
import { fine, slowPlan, smallPlan, startScriptedModel, useUpMinute } from './support/scripted-model.ts'
import type { ReceivedRequest, ScriptedAnswer, ScriptedModel } from './support/scripted-model.ts'

interface ClaudeCode {
  readonly gateway: TestGateway
  readonly model: ScriptedModel
  readonly token: string
  /** Its working directory. */
  readonly project: string
  print(prompt: string, options?: PrintOptions): Promise<ProgramResult>
  /** Requests that reached the gateway, and turns that were charged. */
  count(): Promise<{ readonly requests: number; readonly charged: number }>
}

interface PrintOptions {
  readonly args?: readonly string[]
  readonly model?: string
  readonly env?: Readonly<Record<string, string>>
}

async function startClaudeCode(
  t: Test,
  answer: (request: ReceivedRequest, before: number) => ScriptedAnswer,
  overrides: Overrides = {},
  options: StartOptions = {},
): Promise<ClaudeCode | undefined> {
  const packages = await openClientPackages(t)
  if (packages === undefined) return undefined
  const model = await startScriptedModel(t, answer)
  const gateway = await startGateway(t, { upstreams: { main: { baseUrl: model.url } }, ...overrides }, options)
  const { id: account, token } = await gateway.createMember(Object.keys(overrides.plans ?? {})[0])
  const home = createTemporaryFolder(t)
  const project = join(home, 'project')
  mkdirSync(project)
  return {
    gateway,
    model,
    token,
    project,
    print(prompt, { args = [], model: modelId = 'svc-2.1', env = {} } = {}) {
      return runProgram(packages.findProgram('claude'), ['-p', prompt, '--model', modelId, ...args], {
        cwd: project,
        env: {
          PATH: process.env['PATH'],
          HOME: home,
          CLAUDE_CONFIG_DIR: join(home, '.claude'),
          ANTHROPIC_BASE_URL: gateway.url,
          ANTHROPIC_AUTH_TOKEN: token,
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
          CLAUDE_CODE_MAX_RETRIES: '2',
          DISABLE_AUTOUPDATER: '1',
          ...env,
        },
      })
    },
    async count() {
      await gateway.waitUntilSettled()
      const turns = await gateway.listTurns(account)
      return {
        requests: gateway.log.filter((line) => line.includes('"path":"/v1/messages"')).length,
        charged: turns.filter(({ state, credits }) => state === 'settled' && (credits ?? 0) > 0).length,
      }
    },
  }
}

const tooLong: ScriptedAnswer = {
  status: 400,
  error: {
    message:
      "This model's maximum context length is 128000 tokens. However, you requested 232000 tokens (200000 in the messages, 32000 in the completion).",
    code: 'context_length_exceeded',
  },
}

t.test('finishes a task with parallel calls, a tool server and an edit', async (t) => {
  const bash = (id: string, command: string) => ({
    id,
    name: 'Bash',
    arguments: JSON.stringify({ command, description: 'Print' }),
  })
  const claude = await startClaudeCode(t, ({ messages, tools = [] }) => {
    const results = messages.filter(({ role }) => role === 'tool')
    const lookup = tools.find((tool) => tool.function.name.endsWith('lookup'))?.function.name ?? 'lookup'
    switch (results.length) {
      case 0:
        return {
          reasoning: 'Look first.',
          text: 'Two commands.',
          calls: [bash('call_a', 'echo one'), bash('call_b', 'echo two')],
        }
      case 2:
        return { calls: [{ id: 'call_c', name: lookup, arguments: '{"word":"sky"}' }] }
      case 3:
        return { calls: [{ id: 'call_d', name: 'Read', arguments: JSON.stringify({ file_path: file }) }] }
      case 4: {
        const edit = { file_path: file, old_string: 'old', new_string: 'new "wörld"' }
        return { calls: [{ id: 'call_e', name: 'Edit', arguments: JSON.stringify(edit) }] }
      }
      default:
        return { text: 'All done.' }
    }
  })
  if (claude === undefined) return
  const file = join(claude.project, 'hello.txt')
  writeFileSync(file, 'old\n')
  const mcp = join(claude.project, 'mcp.json')
  const server = { command: process.execPath, args: [join(import.meta.dirname, 'support/mcp-demo.ts')] }
  writeFileSync(mcp, JSON.stringify({ mcpServers: { demo: server } }))
  const { code, stdout, stderr } = await claude.print('Do the task', {
    args: ['--mcp-config', mcp, '--strict-mcp-config', '--allowedTools', 'Bash', 'Read', 'Edit', 'mcp__demo__lookup'],
    env: { ENABLE_TOOL_SEARCH: 'false' },
  })
  t.equal(code, 0, stderr)
  t.match(stdout, /All done\./)
  t.equal(readFileSync(file, 'utf8'), 'new "wörld"\n')
  const last = claude.model.requests.at(-1)
  t.match(
    last?.messages.filter(({ role }) => role === 'tool'),
    [
      { tool_call_id: 'call_a', content: 'one' },
      { tool_call_id: 'call_b', content: 'two' },
      { tool_call_id: 'call_c', content: /found sky/ },
      { tool_call_id: 'call_d', content: /old/ },
      { tool_call_id: 'call_e', content: /updated successfully/ },
    ],
  )
  const [turn] = last?.messages.filter(({ role }) => role === 'assistant') ?? []
  t.match(turn, { content: 'Two commands.', reasoning_content: 'Look first.', tool_calls: [{ id: 'call_a' }, { id: 'call_b' }] })
  t.notMatch(JSON.stringify(claude.model.requests), /x-anthropic-billing-header/)
  t.equal(last?.['reasoning_effort'], undefined, 'the default effort is the upstream’s')
  // The cache of an upstream holds the beginning of a request.
  const histories = claude.model.requests.map(({ messages }) => messages.map((message) => JSON.stringify(message)))
  for (const [i, history] of histories.entries()) {
    const next = histories[i + 1]
    if (next !== undefined) t.same(next.slice(0, history.length), history, `request ${i + 1} begins like the one before`)
  }
  t.same(await claude.count(), { requests: 5, charged: 5 })
})

t.test('works on an upstream of the Messages API, whose cache it fills, and reports the cached tokens', async (t) => {
  const thinking = { type: 'thinking', thinking: 'Look first.', signature: 'c2lnbmVk' }
  const bash = (id: string, command: string) => ({ type: 'tool_use', id, name: 'Bash', input: { command, description: 'Print' } })
  const usage = { input_tokens: 400, cache_read_input_tokens: 15_000, cache_creation_input_tokens: 600, output_tokens: 30 }
  const server = await startAnthropicServer(t, (_request, before) =>
    before === 0
      ? { content: [thinking, bash('toolu_a', 'echo one'), bash('toolu_b', 'echo two')], usage }
      : { content: [{ type: 'text', text: 'All done.' }], usage },
  )
  const claude = await startClaudeCode(t, fine, {
    upstreams: { claude: { baseUrl: server.url, apiKey: anthropicKey, kind: 'anthropic' } },
    products: { 'svc-2.1': { targets: [{ upstream: 'claude', model: 'claude-one' }] } },
    prices: { flagship: { input: 1, cachedInput: 0.1, output: 2, discountPercent: 0 } },
  })
  if (claude === undefined) return
  const { code, stdout, stderr } = await claude.print('Do the task', {
    args: ['--allowedTools', 'Bash', '--output-format', 'json'],
    env: { ENABLE_TOOL_SEARCH: 'false' },
  })
  t.equal(code, 0, stderr)
  t.match(JSON.parse(stdout), {
    result: 'All done.',
    usage: { input_tokens: 800, cache_read_input_tokens: 30_000, cache_creation_input_tokens: 1_200, output_tokens: 60 },
  })
  t.same(server.rejected, [])
  const [first, last] = server.requests
  t.match(JSON.stringify(first), '"cache_control":{"type":"ephemeral"}')
  const [assistant, results] = last?.messages.slice(-2) ?? []
  t.match(assistant?.content, [thinking, { type: 'tool_use', id: 'toolu_a' }, { type: 'tool_use', id: 'toolu_b' }])
  // Both commands run at once, and their results come in the order in which they end.
  const outputs = Object.fromEntries(
    (Array.isArray(results?.content) ? results.content : []).map(({ tool_use_id: id, content }) => [id, JSON.stringify(content)]),
  )
  t.match(outputs, { toolu_a: /one/, toolu_b: /two/ }, JSON.stringify(results))
  t.same(await claude.count(), { requests: 2, charged: 2 })
  // Dollars per million tokens are credits per token; what was written to the cache costs as much as other input.
  const credits = 1_000 + 15_000 * 0.1 + 30 * 2
  const turn = { inputTokens: 16_000, cachedInputTokens: 15_000, outputTokens: 30, credits, estimated: false }
  t.match(await claude.gateway.listTurns(), [turn, turn])
})

t.test('shows an image of a tool to the model', async (t) => {
  const claude = await startClaudeCode(t, ({ messages }) => {
    const read = { id: 'call_a', name: 'Read', arguments: JSON.stringify({ file_path: file }) }
    return messages.some(({ role }) => role === 'tool') ? fine() : { calls: [read] }
  })
  if (claude === undefined) return
  const file = join(claude.project, 'dot.png')
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  writeFileSync(file, Buffer.from(png, 'base64'))
  const { code, stdout } = await claude.print('Look at it', { args: ['--allowedTools', 'Read'] })
  t.equal(code, 0)
  t.match(stdout, /All done\./)
  const [image] = claude.model.requests
    .at(-1)!
    .messages.flatMap(({ content }) => (Array.isArray(content) ? content : []) as { type: string; image_url?: { url: string } }[])
    .filter(({ type }) => type === 'image_url')
  t.match(image, { image_url: { url: /^data:image\/png;base64,iVBORw0KGgo/ } })
})

t.test('an empty quota is shown with its reset, after one request', async (t) => {
  const claude = await startClaudeCode(t, () => ({ text: 'Long.', usage: { prompt_tokens: 20, completion_tokens: 20_000 } }), {
    plans: smallPlan,
  })
  if (claude === undefined) return
  const first = await claude.gateway.chat(claude.token, { max_tokens: 22_000 })
  t.equal(first.status, 200)
  await first.text()
  const { code, stdout } = await claude.print('Say hello')
  t.equal(code, 1)
  t.match(stdout, /^API Error: 402 .+ premium models .+\. Resets in .+\./)
  t.same(await claude.count(), { requests: 1, charged: 1 }, 'the one charge is the turn before')
})

t.test('a limit of requests is waited for', async (t) => {
  const { clock, advance } = createMovableClock()
  const claude = await startClaudeCode(t, fine, { plans: slowPlan }, { clock })
  if (claude === undefined) return
  await useUpMinute(claude)
  const printed = claude.print('Say hello')
  await waitUntil(async () => (await claude.count()).requests > 0, 'a request that is refused')
  advance(60_000)
  const { code, stdout } = await printed
  t.equal(code, 0)
  t.match(stdout, /All done\./)
  t.same(await claude.count(), { requests: 2, charged: 1 })
})

t.test('an upstream that is down is tried again, at no cost', async (t) => {
  const claude = await startClaudeCode(t, () => ({ status: 500 }))
  if (claude === undefined) return
  const { code, stdout } = await claude.print('Say hello')
  t.equal(code, 1)
  t.match(stdout, /API Error: 502 The model service failed to answer\. You were not charged\./)
  t.same(await claude.count(), { requests: 3, charged: 0 })
})

t.test('a stream that is cut is no finished answer, and is repeated at no cost', async (t) => {
  const claude = await startClaudeCode(t, (_request, before) =>
    before === 0 ? { text: 'Half of a sentence', cutAfter: 2 } : fine(),
  )
  if (claude === undefined) return
  const { code, stdout } = await claude.print('Say hello')
  t.equal(code, 0)
  t.equal(stdout, 'All done.\n')
  t.same(await claude.count(), { requests: 2, charged: 1 })
})

t.test('without the repetition that is not streamed, a cut is shown with its sentence', async (t) => {
  const claude = await startClaudeCode(t, () => ({ text: 'Half of a sentence', cutAfter: 2 }))
  if (claude === undefined) return
  const { code, stdout } = await claude.print('Say hello', { env: { CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK: '1' } })
  t.equal(code, 1)
  t.match(stdout, /API Error: The model service failed to answer\. You were not charged\./)
  t.same(await claude.count(), { requests: 1, charged: 0 })
})

t.test('a call that was cut is not run', async (t) => {
  const claude = await startClaudeCode(t, (_request, before) => {
    const call = { id: 'call_a', name: 'Bash', arguments: JSON.stringify({ command: 'touch ran.txt', description: 'Touch' }) }
    return before === 0 ? { calls: [call], cutAfter: 4 } : fine()
  })
  if (claude === undefined) return
  const { code } = await claude.print('Do it', { args: ['--allowedTools', 'Bash'] })
  t.equal(code, 0)
  t.throws(() => readFileSync(join(claude.project, 'ran.txt')))
  t.same(await claude.count(), { requests: 2, charged: 1 })
})

t.test('silence is bridged by pings', async (t) => {
  const claude = await startClaudeCode(t, () => ({ ...fine(), silenceMs: 3_000 }), {
    timeouts: { heartbeatAfterMs: 250, heartbeatEveryMs: 250 },
  })
  if (claude === undefined) return
  const { code, stdout } = await claude.print('Say hello')
  t.equal(code, 0)
  t.match(stdout, /All done\./)
  t.same(await claude.count(), { requests: 1, charged: 1 })
  // Its own watchdog has five minutes.
  const response = await fetch(`${claude.gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${claude.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc-2.1', max_tokens: 50, stream: true, messages: [{ role: 'user', content: 'Hi' }] }),
  })
  t.match(await response.text(), /^event: message_start\n.+\n\n(?:event: ping\n.+\n\n){5,}event: content_block_start\n/)
})

t.test('a conversation that grew too long is shortened and continued', async (t) => {
  const bash = { id: 'call_a', name: 'Bash', arguments: JSON.stringify({ command: 'echo one', description: 'Print' }) }
  let refusals = 0
  const claude = await startClaudeCode(t, ({ messages }, before) => {
    if (before === 0) return { calls: [bash] }
    if (messages.some(({ role }) => role === 'tool') && refusals++ === 0) return tooLong
    return { text: `Answer ${before}.` }
  })
  if (claude === undefined) return
  const { code, stdout, stderr } = await claude.print('Do it', { args: ['--allowedTools', 'Bash'] })
  t.equal(code, 0, stderr)
  t.match(stdout, /^Answer \d\.\n$/)
  t.notMatch(stdout, /Answer 2/, 'that one is the summary')
  const { requests, charged } = await claude.count()
  t.equal(charged, requests - 1, 'the refusal is free')
})

t.test('a prompt that is too long alone ends with the sentence of Claude Code for it', async (t) => {
  const error = {
    message: "This model's maximum context length is 128000 tokens. However, your messages resulted in 200000 tokens.",
  }
  const claude = await startClaudeCode(t, () => ({ status: 400, error }))
  if (claude === undefined) return
  const { code, stdout } = await claude.print('Say hello')
  t.equal(code, 1)
  t.match(stdout, /^Prompt is too long/)
  t.same(await claude.count(), { requests: 1, charged: 0 })
})

t.test('an answer without text is charged once, because it is not requested again', async (t) => {
  const claude = await startClaudeCode(t, () => ({ reasoning: 'Hm.' }))
  if (claude === undefined) return
  const { code, stdout } = await claude.print('Say hello')
  t.equal(code, 0)
  t.equal(stdout, '(The model gave no answer.)\n')
  t.same(await claude.count(), { requests: 1, charged: 1 })
})

t.test('a wrong key ends after one request, and an unknown model after two', async (t) => {
  const claude = await startClaudeCode(t, fine)
  if (claude === undefined) return
  const wrongKey = await claude.print('Say hello', { env: { ANTHROPIC_AUTH_TOKEN: 'sk-other' } })
  t.match(wrongKey, { code: 1, stdout: /API Error: 401 You are not signed in, or your session or key is no longer valid\./ })
  t.same(await claude.count(), { requests: 1, charged: 0 })
  const unknown = await claude.print('Say hello', { model: 'no-such-model' })
  t.match(unknown, { code: 1, stdout: /There's an issue with the selected model \(no-such-model\)/ })
  t.same(await claude.count(), { requests: 3, charged: 0 })
  const key = await claude.print('Say hello', { env: { ANTHROPIC_AUTH_TOKEN: '', ANTHROPIC_API_KEY: claude.token } })
  t.match(key, { code: 0, stdout: 'All done.\n' })
})
