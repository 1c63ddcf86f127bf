/** Agents of others that speak the Messages API, headless, against a gateway with a scripted model: a task with two parallel commands. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { createTemporaryFolder, startGateway } from '../../support/gateway/test-gateway.ts'
import { openClientPackages } from './client-packages.ts'
import { runProgram } from './support/run-program.ts'
import { startScriptedModel } from './support/scripted-model.ts'
import type { ReceivedRequest, ScriptedAnswer } from './support/scripted-model.ts'

interface Setting {
  /** Without `/v1`. */
  readonly url: string
  readonly token: string
}

interface Agent {
  readonly program: string
  /** The package of its binary, where the one for all platforms lists some that npm does not have. */
  readonly platformPackage?: string
  readonly args: readonly string[]
  /** Files in the home folder. */
  readonly files?: (setting: Setting) => Readonly<Record<string, unknown>>
  readonly env?: (setting: Setting) => Readonly<Record<string, string>>
}

const prompt = 'Do the task'

const agents: readonly Agent[] = [
  {
    program: 'opencode',
    platformPackage: 'opencode-linux-x64',
    args: ['run', '--auto', '--model', 'svc/svc-2.1', prompt],
    files: ({ url, token }) => ({
      '.config/opencode/opencode.json': {
        provider: {
          svc: {
            npm: '@ai-sdk/anthropic',
            options: { baseURL: `${url}/v1`, apiKey: token },
            models: { 'svc-2.1': { name: 'svc-2.1', limit: { context: 128_000, output: 16_000 } } },
          },
        },
      },
    }),
    env: () => ({ OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' }),
  },
  {
    program: 'cn',
    args: ['--print', '--auto', '--config', 'config.yaml', prompt],
    files: ({ url, token }) => ({
      'project/config.yaml': `name: svc
version: 1.0.0
schema: v1
models:
  - name: svc
    provider: anthropic
    model: svc-2.1
    apiBase: ${url}/v1/
    apiKey: ${token}
    roles: [chat]
    capabilities: [tool_use]
`,
    }),
    env: () => ({ CONTINUE_TELEMETRY_ENABLED: '0', CONTINUE_CLI_ENABLE_TELEMETRY: '0' }),
  },
  {
    program: 'copilot',
    args: ['-p', prompt, '--allow-all-tools'],
    env: ({ url, token }) => ({
      COPILOT_PROVIDER_TYPE: 'anthropic',
      COPILOT_PROVIDER_BASE_URL: url,
      COPILOT_PROVIDER_API_KEY: token,
      COPILOT_MODEL: 'svc-2.1',
      COPILOT_AUTO_UPDATE: 'false',
    }),
  },
  {
    program: 'pi',
    args: ['--print', '--offline', '--provider', 'svc', '--model', 'svc-2.1', prompt],
    files: ({ url, token }) => ({
      '.pi/agent/models.json': {
        providers: { svc: { baseUrl: url, api: 'anthropic-messages', apiKey: token, models: [{ id: 'svc-2.1' }] } },
      },
    }),
  },
  {
    program: 'cline',
    platformPackage: '@cline/cli-linux-x64',
    args: ['--provider', 'anthropic', '--model', 'svc-2.1', prompt],
    files: ({ url, token }) => ({
      '.cline/data/settings/providers.json': {
        version: 1,
        lastUsedProvider: 'anthropic',
        modes: {},
        providers: {
          anthropic: {
            settings: { provider: 'anthropic', apiKey: token, model: 'svc-2.1', baseUrl: `${url}/v1` },
            updatedAt: '2026-11-24T00:00:00.000Z',
            tokenSource: 'manual',
          },
        },
      },
    }),
  },
]

/** The agents name their shell and its fields in different ways. */
function answerTask({ messages, tools = [] }: ReceivedRequest): ScriptedAnswer {
  const shell = tools.find((tool) => /^(?:bash|run_commands)$/i.test(tool.function.name))?.function
  if (shell === undefined) return { text: 'A title' }
  if (messages.some(({ role }) => role === 'tool')) return { text: 'All done.' }
  const run = (id: string, command: string) => {
    const input = shell.name === 'run_commands' ? { commands: [command] } : { command, description: 'Print' }
    return { id, name: shell.name, arguments: JSON.stringify(input) }
  }
  return { text: 'Two commands.', calls: [run('call_a', 'echo one-$((40+1))'), run('call_b', 'echo two-$((40+2))')] }
}

const isLinuxX64 = process.platform === 'linux' && process.arch === 'x64'

for (const { program, platformPackage, args, files, env } of agents) {
  const skip = platformPackage !== undefined && !isLinuxX64 ? `${program} is pinned for Linux on x64` : false
  t.test(program, { skip }, async (t) => {
    const packages = await openClientPackages(t)
    if (packages === undefined) return
    const model = await startScriptedModel(t, answerTask)
    const gateway = await startGateway(t, { upstreams: { main: { baseUrl: model.url } } })
    const { id, token } = await gateway.createMember()
    const setting = { url: gateway.url, token }
    const home = createTemporaryFolder(t)
    mkdirSync(join(home, 'project'))
    for (const [path, content] of Object.entries(files?.(setting) ?? {})) {
      mkdirSync(dirname(join(home, path)), { recursive: true })
      writeFileSync(join(home, path), typeof content === 'string' ? content : JSON.stringify(content))
    }
    const { code, stdout, stderr } = await runProgram(packages.findProgram(program, platformPackage), args, {
      cwd: join(home, 'project'),
      env: { PATH: process.env['PATH'], HOME: home, TERM: 'dumb', ...env?.(setting) },
    })
    t.equal(code, 0, stderr.slice(-500))
    t.match(stdout, /All done\./)
    t.match(
      model.requests.at(-1)?.messages.filter(({ role }) => role === 'tool'),
      [
        { tool_call_id: 'call_a', content: /one-41/ },
        { tool_call_id: 'call_b', content: /two-42/ },
      ],
    )
    await gateway.waitUntilSettled()
    const turns = await gateway.listTurns(id)
    t.equal(turns.length, model.requests.length, 'a turn for each request')
    t.ok(turns.every(({ state, apiFormat }) => state === 'settled' && apiFormat === 'messages'))
  })
}
