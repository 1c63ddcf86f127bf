/** What `svc setup` writes and shows, used by the programs and SDKs that it is for, against a gateway with a scripted model. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { findPython, openEnvironment } from '../../support/python/environment.ts'
import type { ClientSetup } from '../../../src/setup/client-setup.ts'
import type { ClientId } from '../../../src/setup/client-ids.ts'
import { runSvc } from '../../support/cli/run-svc.ts'
import { createTemporaryFolder, startGateway } from '../../support/gateway/test-gateway.ts'
import type { TestGateway } from '../../support/gateway/test-gateway.ts'
import { openClientPackages } from './client-packages.ts'
import { runProgram } from './support/run-program.ts'
import type { ProgramResult } from './support/run-program.ts'
import { startScriptedModel } from './support/scripted-model.ts'

interface Member {
  readonly gateway: TestGateway
  readonly home: string
  readonly key: string
  /** Runs a program in the member's project, with the key in the variable that `svc setup` names. */
  run(program: string, args: readonly string[], env?: Readonly<Record<string, string>>): Promise<ProgramResult>
  /** The API formats and products of the turns, which have to be charged. */
  listTurns(): Promise<readonly string[]>
}

async function startMember(t: Test): Promise<Member> {
  const model = await startScriptedModel(t, () => ({ text: 'All done.' }))
  const gateway = await startGateway(t, { upstreams: { main: { baseUrl: model.url } } })
  const { id, token: key } = await gateway.createMember()
  const home = createTemporaryFolder(t)
  mkdirSync(join(home, 'project'))
  return {
    gateway,
    home,
    key,
    run: (program, args, env = {}) =>
      runProgram(program, args, {
        cwd: join(home, 'project'),
        env: { PATH: process.env['PATH'], HOME: home, TERM: 'dumb', SVC_API_KEY: key, ...env },
      }),
    async listTurns() {
      await gateway.waitUntilSettled()
      const turns = await gateway.listTurns(id)
      t.ok(turns.length > 0 && turns.every(({ state, credits }) => state === 'settled' && (credits ?? 0) > 0))
      return [...new Set(turns.map(({ apiFormat, model }) => `${apiFormat} ${model}`))]
    },
  }
}

async function setUp({ gateway, home, key }: Member, ...words: readonly string[]) {
  const env = { XDG_CONFIG_HOME: join(home, '.config'), SVC_API_KEY: key }
  return runSvc(['setup', ...words, '--model', 'svc-2.1'], { home, site: gateway.url, env })
}

interface Program {
  readonly client: ClientId
  readonly program: string
  readonly platformPackage?: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly apiFormat: string
}

const programs: readonly Program[] = [
  {
    client: 'codex',
    program: 'codex',
    args: ['exec', '--skip-git-repo-check', 'Say hello'],
    apiFormat: 'responses',
  },
  { client: 'claude', program: 'claude', args: ['-p', 'Say hello'], env: { DISABLE_AUTOUPDATER: '1' }, apiFormat: 'messages' },
  {
    client: 'gemini',
    program: 'gemini',
    args: ['-p', 'Say hello'],
    env: { GEMINI_CLI_TRUST_WORKSPACE: 'true' },
    apiFormat: 'gemini',
  },
  {
    client: 'opencode',
    program: 'opencode',
    platformPackage: 'opencode-linux-x64',
    args: ['run', 'Say hello'],
    env: { OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' },
    apiFormat: 'chat_completions',
  },
  {
    client: 'cline',
    program: 'cline',
    platformPackage: '@cline/cli-linux-x64',
    args: ['Say hello'],
    apiFormat: 'chat_completions',
  },
  {
    client: 'continue',
    program: 'cn',
    args: ['--print', 'Say hello'],
    env: { CONTINUE_TELEMETRY_ENABLED: '0', CONTINUE_CLI_ENABLE_TELEMETRY: '0' },
    apiFormat: 'chat_completions',
  },
]

/** A file that the member has already, for the programs whose files people write by hand. A new file is compared with the text of the table. */
const ownFiles: Readonly<Partial<Record<ClientId, readonly [path: string, text: string]>>> = {
  codex: [
    '.codex/config.toml',
    '# mine\nmodel = "gpt-5"\n\n[analytics]\nenabled = false\n\n[model_providers.other]\nname = "other"\n',
  ],
  claude: ['.claude/settings.json', '{\n  "permissions": { "defaultMode": "auto", "allow": ["Bash(ls)"] }\n}\n'],
  gemini: ['.gemini/settings.json', '{\n  // mine\n  "ui": { "theme": "GitHub" }\n}\n'],
  opencode: ['.config/opencode/opencode.jsonc', '{\n  // mine\n  "share": "disabled",\n}\n'],
  continue: ['.continue/config.yaml', '# mine\nname: Mine\nversion: 0.0.1\nschema: v1\n'],
}

const isLinuxX64 = process.platform === 'linux' && process.arch === 'x64'

for (const { client, program, platformPackage, args, env, apiFormat } of programs) {
  const skip = platformPackage !== undefined && !isLinuxX64 ? `${program} is pinned for Linux on x64` : false
  t.test(`${client} answers with what svc setup has written`, { skip }, async (t) => {
    const packages = await openClientPackages(t)
    if (packages === undefined) return
    const member = await startMember(t)
    const own = ownFiles[client]
    if (own !== undefined) {
      mkdirSync(join(member.home, own[0], '..'), { recursive: true })
      writeFileSync(join(member.home, own[0]), own[1])
    }
    const written = await setUp(member, client, '--write')
    t.equal(written.code, 0, written.stderr)
    const { code, stdout, stderr } = await member.run(packages.findProgram(program, platformPackage), args, env)
    t.equal(code, 0, stderr.slice(-500))
    t.match(stdout, /All done\./)
    t.ok((await member.listTurns()).includes(`${apiFormat} svc-2.1`))
  })
}

/** The code of a client, for the gateway. */
async function readSnippet(member: Member, client: ClientId, title: string): Promise<string> {
  const { stdout } = await setUp(member, client, '--json')
  const { snippets } = (JSON.parse(stdout) as { result: ClientSetup }).result
  return snippets.find((each) => each.title === title)?.text ?? ''
}

for (const [client, apiFormat] of [
  ['ai-sdk', 'responses'],
  ['langchain', 'chat_completions'],
] as const) {
  t.test(`the TypeScript of ${client} prints an answer`, async (t) => {
    const packages = await openClientPackages(t)
    if (packages === undefined) return
    const member = await startMember(t)
    const project = join(member.home, 'project')
    symlinkSync(packages.modules, join(project, 'node_modules'))
    writeFileSync(join(project, 'package.json'), '{"type": "module"}')
    writeFileSync(join(project, 'hello.ts'), await readSnippet(member, client, 'TypeScript'))
    const { code, stdout, stderr } = await member.run(process.execPath, ['hello.ts'])
    t.equal(code, 0, stderr.slice(-500))
    t.equal(stdout, 'All done.\n')
    t.same(await member.listTurns(), [`${apiFormat} svc-2.1`])
  })
}

/** Where Python is missing, the test is skipped with the reason, and fails on CI. */
async function openPython(t: Test, environment: 'openai-3' | 'aider'): Promise<string | undefined> {
  const python = findPython()
  if (!('reason' in python)) return openEnvironment(environment, python)
  if (process.env['CI'] === 'true') t.fail(python.reason)
  else t.plan(0, python.reason)
  return undefined
}

t.test('the Python of langchain prints an answer', async (t) => {
  const python = await openPython(t, 'openai-3')
  if (python === undefined) return
  const member = await startMember(t)
  writeFileSync(join(member.home, 'project/hello.py'), await readSnippet(member, 'langchain', 'Python'))
  const { code, stdout, stderr } = await member.run(python, ['hello.py'])
  t.equal(code, 0, stderr.slice(-500))
  t.equal(stdout, 'All done.\n')
  t.same(await member.listTurns(), ['chat_completions svc-2.1'])
})

// Aider's environment has 410 MB, which takes longer to install than all other clients together.
const isAiderSkipped = process.env['TEST_AIDER'] !== '1' && 'TEST_AIDER=1 runs it'

t.test('aider answers with what svc setup has written', { skip: isAiderSkipped }, async (t) => {
  const python = await openPython(t, 'aider')
  if (python === undefined) return
  const member = await startMember(t)
  writeFileSync(join(member.home, '.aider.conf.yml'), '# mine\ndark-mode: true\n')
  t.equal((await setUp(member, 'aider', '--write')).code, 0)
  const quiet = ['--yes-always', '--no-git', '--no-check-update', '--no-analytics', '--no-show-release-notes']
  const { code, stdout, stderr } = await member.run(python, ['-m', 'aider', '--message', 'Say hello', ...quiet], {
    AIDER_OPENAI_API_KEY: member.key,
  })
  t.equal(code, 0, stderr.slice(-500))
  t.match(stdout, /All done\./)
  t.notMatch(stdout, /Warning for openai/, 'the context window is known')
  t.same(await member.listTurns(), ['chat_completions svc-2.1'])
})
