/** The program from outside: exit codes, standard output and standard error. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { isCommandGroup } from '../../../src/command-table/command.ts'
import { serviceCommands } from '../../../src/cli/service-commands/index.ts'
import { flattenCommands } from '../../../src/command-table/flatten-commands.ts'
import { toCleanCommand } from '../../runner/clean-command.ts'
import { runSvcProcess, runSvc, createSvcEnvironment, svcEntryFile } from '../../support/cli/run-svc.ts'

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))

t.test('version and help print on standard output, exit with 0 and use no network', async (t) => {
  const home = t.testdir()
  for (const words of [['--version'], ['-V'], ['--version', '--no-color'], ['chat', '--version']]) {
    t.strictSame(await runSvc(words, { home }), { code: 0, stdout: `${version}\n`, stderr: '' }, words.join(' '))
  }
  t.strictSame(await runSvcProcess(['--version'], { home }), { code: 0, stdout: `${version}\n`, stderr: '' }, 'as a program')
  t.equal((await runSvc(['--version', '--json'], { home })).stdout, `{"ok":true,"result":{"version":"${version}"}}\n`)
  for (const words of [['--help'], [], ['boost', '-h']]) {
    const ended = await runSvc(words, { home })
    t.equal(ended.code, 0)
    t.match(ended.stdout, /^Examples:\n/)
    t.equal(ended.stderr, '')
  }
})

t.test('a misspelt command suggests the right one and exits 2, also as JSON', async (t) => {
  const home = t.testdir()
  const ended = await runSvcProcess(['serch', 'x'], { home })
  t.strictSame(ended, {
    code: 2,
    stdout: '',
    stderr: "error: There is no command 'serch'.\n  did you mean: search\n  help: add --help\n",
  })
  const json = await runSvc(['serch', '--json'], { home })
  t.match(JSON.parse(json.stdout), { ok: false, error: { code: 'usage', message: "There is no command 'serch'." } })
})

t.test('--json prints one document for every command of the service, on success and on failure', async (t) => {
  const home = t.testdir()
  const words: Readonly<Record<string, readonly string[]>> = {
    chat: ['hi'],
    search: ['hi'],
    image: ['hi'],
    'config get': ['model'],
    'config set': ['model', 'svc'],
    'config unset': ['model'],
    completion: ['bash'],
  }
  for (const { path, spec } of flattenCommands(serviceCommands)) {
    if (isCommandGroup(spec)) continue
    const line = [...path, ...(words[path.join(' ')] ?? []), '--json']
    const { stdout, stderr, code } = await runSvc(line, { home, env: { SVC_API_KEY: 'svc_live_x' } })
    const document = JSON.parse(stdout)
    t.equal(document.ok, code === 0, `svc ${line.join(' ')}: ${code}`)
    t.type(document.ok ? document.result : document.error.code, document.ok ? 'object' : 'string')
    t.notMatch(stderr, /\n\s+at /)
  }
})

t.test('styles are printed only on a terminal or where they are forced', async (t) => {
  const home = t.testdir()
  const label = async (env: Record<string, string>, words: string[] = []) =>
    (await runSvc(['serch', ...words], { home, env })).stderr.split(' ')[0]
  t.equal(await label({}), 'error:', 'a pipe')
  t.match(await label({ FORCE_COLOR: '1' }), '\u001b[')
  t.equal(await label({ FORCE_COLOR: '0' }), 'error:')
  t.equal(await label({ FORCE_COLOR: '1' }, ['--no-color']), 'error:')
})

t.test('addresses are links of a terminal that has them', async (t) => {
  const link = (address: string) => `\u001b]8;;${address}\u001b\\${address}\u001b]8;;\u001b\\`
  const options = { home: t.testdir(), site: 'http://127.0.0.1:9' }
  const env = { FORCE_COLOR: '1', FORCE_HYPERLINK: '1' }
  t.equal((await runSvcProcess(['keys'], { ...options, env })).stdout, `${link('http://127.0.0.1:9/keys')}\n`)
  t.equal((await runSvc(['keys'], options)).stdout, 'http://127.0.0.1:9/keys\n')
})

t.test('names a broken settings file with exit 1 and no stack trace', async (t) => {
  const home = t.testdir({ svc: { 'config.json': '[]' } })
  const ended = await runSvc(['config'], { home })
  t.equal(ended.code, 1)
  t.match(ended.stderr, /is not a JSON object: .*config\.json/)
  t.notMatch(ended.stderr, /\n\s+at /)
})

t.test('a reader that closes the pipe causes no failure', async (t) => {
  const home = t.testdir()
  const cases = [
    { words: ['--version'], code: 0 },
    { words: ['--help'], code: 0 },
    { words: ['serch', '--json'], code: 2 },
  ]
  for (const { words, code } of cases) {
    const [program, all] = toCleanCommand(process.execPath, [svcEntryFile, ...words])
    const child = spawn(program, all, { env: createSvcEnvironment({ home }), stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.destroy()
    const ended = new Promise((resolve) => child.on('close', resolve))
    t.notMatch(await text(child.stderr), /EPIPE|\n\s+at /, words.join(' '))
    t.equal(await ended, code, words.join(' '))
  }
})
