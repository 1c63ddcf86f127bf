/** `svc setup` against a scripted service: what it shows, what it writes, and the files that it refuses. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { sendJson, startStubGateway } from '../../../../support/cli/stub-gateway.ts'
import { runSvc } from '../../../../support/cli/run-svc.ts'
import type { SvcResult } from '../../../../support/cli/run-svc.ts'
import { clientIds } from '../../../../../src/setup/client-ids.ts'

const model = (id: string, tier: string, ...capabilities: string[]) => ({
  id,
  name: id.toUpperCase(),
  tier,
  capabilities,
  context_length: 128_000,
  max_output_tokens: 32_768,
})
const data = [
  model('auto', 'light', 'chat'),
  model('svc-2.1', 'flagship', 'chat', 'vision'),
  model('svc-2.1-pro', 'flagship', 'chat'),
  model('svc-img', 'flagship', 'image'),
  model('bad\u001b]0;id', 'light', 'chat'),
]
const key = 'svc_live_0123456789abcdefghij'

interface Machine {
  readonly home: string
  readonly origin: string
  run(words: readonly string[], env?: Record<string, string>): Promise<SvcResult>
  read(path: string): string
  write(path: string, text: string, mode?: number): void
}

async function startMachine(t: Test): Promise<Machine> {
  const server = await startStubGateway({ 'GET /v1/models': (_, response) => sendJson(response, { object: 'list', data }) })
  t.teardown(() => server.close())
  const home = t.testdir()
  return {
    home,
    origin: server.origin,
    run: (words, env = {}) =>
      runSvc(words, { home, site: server.origin, env: { XDG_CONFIG_HOME: join(home, '.config'), SVC_API_KEY: key, ...env } }),
    read: (path) => readFileSync(join(home, path), 'utf8'),
    write(path, text, mode = 0o644) {
      mkdirSync(join(home, path, '..'), { recursive: true })
      writeFileSync(join(home, path), text)
      chmodSync(join(home, path), mode)
    },
  }
}

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)
const listBackups = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.bak'))

t.test('without a client, the clients and their files are listed, and nothing is sent', async (t) => {
  const { stdout, code } = await runSvc(['setup'], { home: t.testdir(), site: 'http://127.0.0.1:9' })
  t.equal(code, 0)
  t.match(stdout, /^codex +Codex +responses +~\/\.codex\/config\.toml$/m)
  t.match(stdout, /^cursor +Cursor +chat completions +–$/m)
  const json = await runSvc(['setup', '--json'], { home: t.testdir(), site: 'http://127.0.0.1:9' })
  t.same(
    JSON.parse(json.stdout).result.map(({ id }: { id: string }) => id),
    [...clientIds],
  )
  t.match(await runSvc(['setup', '--write'], { home: t.testdir() }), { code: 2, stderr: /Name the program/ })
  t.match(await runSvc(['setup', 'emacs'], { home: t.testdir() }), { code: 2 })
  t.match(await runSvc(['setup', 'codex'], { home: t.testdir() }), { code: 4, stderr: /You are not signed in/ })
})

t.test('every client is shown with the address and a product, and nothing is written', async (t) => {
  const machine = await startMachine(t)
  for (const id of clientIds) {
    const { code, stdout, stderr } = await machine.run(['setup', id])
    t.equal(code, 0, stderr)
    t.match(stdout, machine.origin, id)
    t.notMatch(stdout, key, `${id}: the key is not printed`)
    const document = JSON.parse((await machine.run(['setup', id, '--json'])).stdout)
    t.match(document, { ok: true, result: { client: id } })
    t.notMatch(JSON.stringify(document), key, id)
  }
  t.same(readdirSync(machine.home), [])
})

t.test('a new file is written after the difference was shown, and a second time nothing changes', async (t) => {
  const { run, read, home, origin } = await startMachine(t)
  const shown = await run(['setup', 'codex'])
  t.match(shown.stdout, /^--- \/dev\/null\n\+\+\+ .+\/\.codex\/config\.toml\n@@ .+\n\+model = "svc-2\.1"\n/)
  t.match(shown.stderr, /^Nothing was written\. To write it: svc setup codex --write\n$/)
  const { code, stdout, stderr } = await run(['setup', 'codex', '--write'])
  t.equal(code, 0)
  t.equal(stdout, shown.stdout)
  t.match(stderr, /^Wrote .+\/\.codex\/config\.toml\n$/)
  t.match(read('.codex/config.toml'), `base_url = "${origin}/v1"\nenv_key = "SVC_API_KEY"\n`)
  t.match(read('.codex/config.toml'), /^model = "svc-2\.1"\nmodel_provider = "svc"\nmodel_context_window = 128000\n/)
  t.same(readdirSync(join(home, '.codex')), ['config.toml'], 'no backup of nothing, and no draft')
  const again = await run(['setup', 'codex', '--write'])
  t.match(again, { code: 0, stdout: /config\.toml has these settings already\./, stderr: '' })
  t.same(readdirSync(join(home, '.codex')), ['config.toml'])
})

t.test('another model is chosen with --model, from the products that can chat', async (t) => {
  const { run } = await startMachine(t)
  t.match((await run(['setup', 'codex', '--model', 'svc-2.1-pro'])).stdout, /\+model = "svc-2\.1-pro"/)
  t.match(await run(['setup', 'codex', '-m', 'svc-img']), { code: 2, stderr: /no chat model svc-img/ })
})

t.test('an existing file keeps its settings, comments, mode and a backup', async (t) => {
  const { run, read, write, home } = await startMachine(t)
  const old = '# mine\nmodel = "gpt-5" # best\nweb_search = "live"\n\n[mcp_servers.docs]\ncommand = "docs"\n'
  write('.codex/config.toml', old, 0o640)
  const { stdout, stderr } = await run(['setup', 'codex', '--write'])
  t.match(stdout, /^-model = "gpt-5" # best\n\+model = "svc-2\.1" # best\n/m)
  const text = read('.codex/config.toml')
  for (const part of [
    '# mine\n',
    'web_search = "live"\n',
    '[mcp_servers.docs]\ncommand = "docs"\n',
    '\n[model_providers.svc]\nname = "svc"\n',
  ])
    t.ok(text.includes(part), part)
  t.equal(modeOf(join(home, '.codex/config.toml')), '640')
  const [backup = ''] = listBackups(join(home, '.codex'))
  t.match(backup, /^config\.toml\.\d{8}T\d{9}Z\.bak$/)
  t.match(stderr, backup)
  t.equal(read(`.codex/${backup}`), old)
  t.equal(modeOf(join(home, '.codex', backup)), '640')
  t.equal(readdirSync(join(home, '.codex')).length, 2)
})

t.test('the folder that a variable names is used', async (t) => {
  const { run, read, home } = await startMachine(t)
  await run(['setup', 'codex', '--write'], { CODEX_HOME: join(home, 'elsewhere') })
  t.match(read('elsewhere/config.toml'), 'svc-2.1')
  await run(['setup', 'opencode', '--write'], { XDG_CONFIG_HOME: join(home, 'xdg') })
  t.match(read('xdg/opencode/opencode.json'), 'svc-2.1')
  t.notOk(existsSync(join(home, '.codex')))
})

t.test('the file of several names that exists is changed', async (t) => {
  const { run, read, write, home } = await startMachine(t)
  write('.config/opencode/opencode.jsonc', '{\n  // mine\n  "theme": "dark"\n}\n')
  await run(['setup', 'opencode', '--write'])
  t.match(read('.config/opencode/opencode.jsonc'), /^\{\n {2}\/\/ mine\n {2}"theme": "dark",\n {2}"\$schema": /)
  t.notOk(existsSync(join(home, '.config/opencode/opencode.json')))
})

t.test('a file that contains the key is written with the key of the environment, and only its owner reads it', async (t) => {
  const { run, read, write, home, origin } = await startMachine(t)
  const session = { SVC_API_KEY: '', SVC_TOKEN: 'svc_sess_x' }
  t.match((await run(['setup', 'claude'], session)).stdout, /"ANTHROPIC_AUTH_TOKEN": "svc_live_…"/)
  t.match(await run(['setup', 'claude', '--write'], session), {
    code: 4,
    stderr: /contains the key, and SVC_API_KEY is not set[^]+svc keys/,
  })
  t.notOk(existsSync(join(home, '.claude')))

  const written = await run(['setup', 'claude', '--write'])
  t.equal(written.code, 0)
  t.notMatch(written.stdout + written.stderr, key)
  t.match(JSON.parse(read('.claude/settings.json')), { env: { ANTHROPIC_AUTH_TOKEN: key, ANTHROPIC_BASE_URL: origin } })
  t.equal(modeOf(join(home, '.claude/settings.json')), '600')

  const without = await run(['setup', 'claude', '--write', '--model', 'svc-2.1-pro'], session)
  t.equal(without.code, 0, 'the key that is there is kept')
  t.match(JSON.parse(read('.claude/settings.json')), { env: { ANTHROPIC_AUTH_TOKEN: key, ANTHROPIC_MODEL: 'svc-2.1-pro' } })

  write('.claude/settings.json', '{"env": {"ANTHROPIC_AUTH_TOKEN": "other-service-secret-123456"}}', 0o644)
  t.match(await run(['setup', 'claude', '--write'], session), { code: 4 }, 'the key of another service is not sent here')
  const replaced = await run(['setup', 'claude', '--write'])
  t.notMatch(replaced.stdout, /other-service-secret/)
  t.match(replaced.stderr, /Other users of this machine can read/)
})

t.test('the permissions of Claude Code stay as the member has set them', async (t) => {
  const { run, read, write } = await startMachine(t)
  for (const permissions of [
    undefined,
    { allow: ['Bash(ls)'] },
    ...['auto', 'default', 'plan', 'acceptEdits'].map((defaultMode) => ({ defaultMode, deny: ['Bash(rm)'] })),
  ]) {
    write('.claude/settings.json', JSON.stringify({ permissions }))
    t.equal((await run(['setup', 'claude', '--write'])).code, 0)
    const settings = JSON.parse(read('.claude/settings.json')) as { permissions?: object; env?: object }
    t.same(settings.permissions, permissions)
    t.match(settings.env, { ANTHROPIC_BASE_URL: String })
  }
})

t.test('a file that cannot be changed safely is refused and stays as it is', async (t) => {
  const { run, read, write, home } = await startMachine(t)
  const path = '.codex/config.toml'
  const refuse = async (code: string, pattern: RegExp) => {
    const result = await run(['setup', 'codex', '--write', '--json'])
    t.equal(result.code, 1, code)
    t.match(JSON.parse(result.stdout), { ok: false, error: { code, message: pattern } })
    t.same(listBackups(join(home, '.codex')), [], code)
  }
  write(path, 'model = "x"\n[broken\n')
  await refuse('settings_broken', /config\.toml:2 cannot be read/)
  t.equal(read(path), 'model = "x"\n[broken\n')
  write(path, 'model_providers = 1\n')
  await refuse('settings_conflict', /^model_providers in /)
  writeFileSync(join(home, path), Buffer.from([0x61, 0xff, 0xfe]))
  await refuse('file_unreadable', /it is not UTF-8/)
  write(path, 'model = "x"\n', 0o444)
  await refuse('file_readonly', /is read-only; nothing was written/)
  t.equal(read(path), 'model = "x"\n')
})

t.test('a folder in the place of the file, and a link to nothing, are refused', async (t) => {
  const { run, home } = await startMachine(t)
  mkdirSync(join(home, '.codex/config.toml'), { recursive: true })
  t.match(await run(['setup', 'codex', '--write']), { code: 1, stderr: /it is not a file/ })
  mkdirSync(join(home, '.claude'))
  symlinkSync(join(home, 'nowhere.json'), join(home, '.claude/settings.json'))
  t.match(await run(['setup', 'claude', '--write']), { code: 1, stderr: /a link to a file that does not exist/ })
})

t.test('a symbolic link stays one, and its file is changed', async (t) => {
  const { run, read, write, home } = await startMachine(t)
  write('dotfiles/codex.toml', 'model = "x"\n')
  mkdirSync(join(home, '.codex'))
  symlinkSync('../dotfiles/codex.toml', join(home, '.codex/config.toml'))
  t.equal((await run(['setup', 'codex', '--write'])).code, 0)
  t.equal(readlinkSync(join(home, '.codex/config.toml')), '../dotfiles/codex.toml')
  t.match(read('dotfiles/codex.toml'), /^model = "svc-2\.1"\n/)
  t.equal(listBackups(join(home, 'dotfiles')).length, 1)
})

t.test('of two files, none is written if one cannot be', async (t) => {
  const { run, write, home } = await startMachine(t)
  write('.aider.model.metadata.json', '{"a": 1')
  t.match(await run(['setup', 'aider', '--write']), { code: 1, stderr: /\.aider\.model\.metadata\.json:1 cannot be read/ })
  t.notOk(existsSync(join(home, '.aider.conf.yml')))
})

t.test('a client without a file is not written', async (t) => {
  const { run } = await startMachine(t)
  t.match(await run(['setup', 'cursor', '--write']), { code: 1, stderr: /Cursor has no settings file to write/ })
  t.match((await run(['setup', 'cursor'])).stdout, /^Cursor Settings, Models, API Keys:\n {2}OpenAI API Key: svc_live_…\n/)
})

t.test('text of a file is printed without control sequences', async (t) => {
  const { run, write } = await startMachine(t)
  write('.codex/config.toml', 'model = "x" # \u009b31m red \n')
  const { stdout } = await run(['setup', 'codex'])
  t.match(stdout, /-model = "x"/)
  t.notMatch(stdout, /\u009b/)
})
