/** The modules that each start of `svc` loads: no more than its command needs. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { toCleanCommand } from '../../runner/clean-command.ts'
import { createSvcEnvironment, svcEntryFile } from '../../support/cli/run-svc.ts'

/** Prints the path of every file that is imported. */
const spy = `import { registerHooks } from 'node:module'
registerHooks({ load(url, context, next) { if (url.startsWith('file:')) process.stderr.write('import ' + url + '\\n'); return next(url, context) } })`

async function importsOf(home: string, ...words: readonly string[]): Promise<readonly string[]> {
  const spied = ['--import', `data:text/javascript,${encodeURIComponent(spy)}`, svcEntryFile, ...words]
  const [program, all] = toCleanCommand(process.execPath, spied)
  const { stderr } = await promisify(execFile)(program, all, { env: createSvcEnvironment({ home }) })
  return [...stderr.matchAll(/^import (\S+)$/gm)].map((match) => match[1] ?? '')
}

t.test('svc --version imports the version and its parser alone', async (t) => {
  const names = (await importsOf(t.testdir(), '--version')).map((url) => url.slice(url.lastIndexOf('/') + 1))
  t.strictSame(names, ['main.ts', 'print-version.ts', 'version.ts', 'parse-json.ts'])
})

t.test('help imports the table and the parser, but no command and nothing heavy', async (t) => {
  const urls = await importsOf(t.testdir(), '--help')
  const packages = new Set(urls.flatMap((url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []))
  t.strictSame([...packages], ['commander'])
  t.notMatch(urls.join('\n'), /\/service\/(?!index\.ts)/, 'no code behind a row')
})

t.test('a command of the service imports no code of the server', async (t) => {
  const urls = await importsOf(t.testdir(), 'keys')
  t.notMatch(urls.join('\n'), /\/src\/(?!cli\/|command-table\/|system\/|setup\/client-ids\.ts)/)
})
