/** The manual page and the README's table match the command table. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { isCommandGroup } from '../../../src/command-table/command.ts'
import { svcProgram } from '../../../src/cli/program.ts'
import { operatorProgram } from '../../../src/operator/program.ts'
import { environmentVariables } from '../../../src/cli/environment-variables.ts'
import { exitCodes } from '../../../src/cli/exit-code.ts'
import { renderManPage, renderMarkdownTable } from '../../../src/command-table/man-page.ts'
import { settings } from '../../../src/cli/user-config/settings.ts'
import { flattenCommands } from '../../../src/command-table/flatten-commands.ts'
import { requireProgram } from '../../support/require-program.ts'

const page = renderManPage(svcProgram, '1.2.3', 'en')

t.test('the manual page names every command, every option and every exit code', async (t) => {
  const plain = page.replaceAll('\\-', '-').replaceAll('\\e', '\\')
  for (const { path, spec } of flattenCommands(svcProgram.commands)) {
    t.match(plain, `.SS svc ${path.join(' ')}`, path.join(' '))
    if (isCommandGroup(spec)) continue
    for (const option of spec.options ?? []) t.match(plain, `--${option.name}`, `${path.join(' ')} --${option.name}`)
  }
  for (const { code, en } of Object.values(exitCodes)) t.match(plain, `\\fB${code}\\fR\n${en}`)
  t.match(plain, '"svc 1.2.3"')
})

t.test('the manual page names every variable once, and every setting', async (t) => {
  const names = environmentVariables.map(({ name }) => name)
  t.same(names, [...new Set(names)])
  for (const { variable } of Object.values(settings)) t.ok(names.includes(variable), variable)
  const config = JSON.stringify(svcProgram.commands.find(({ name }) => name === 'config'))
  t.match(config, Object.keys(settings).slice(0, -1).join(', '), 'svc config names them all')
})

t.test('groff formats the page without a warning, in both languages', async (t) => {
  const groff = requireProgram(t, 'groff')
  if (groff === undefined) return
  for (const language of ['en', 'zh'] as const) {
    for (const [input, variable] of [
      [renderManPage(svcProgram, '1.2.3', language), 'SVC_SITE_URL'],
      [renderManPage(operatorProgram, '1.2.3', language), 'GATEWAY_CONFIG'],
    ] as const) {
      const words = ['-man', '-mzh', '-Tutf8', '-Kutf8', '-ww', '-P-cbu']
      const { stdout, stderr, status } = spawnSync(groff, words, { input, encoding: 'utf8' })
      t.equal(status, 0)
      t.equal(stderr, '', language)
      t.match(stdout, variable)
    }
  }
})

t.test("the README's table has one line for each command", async (t) => {
  const lines = renderMarkdownTable(svcProgram, 'en').trimEnd().split('\n')
  const count = flattenCommands(svcProgram.commands).filter(({ spec }) => !isCommandGroup(spec)).length
  t.equal(lines.length, count + 2)
  t.match(lines, [/^\| Command/, /^\|---/, /^\| `svc login/])
  for (const line of lines) t.equal(line.split(/(?<!\\)\|/).length, 5, line)
})

t.test('the README of the command line contains the current table (otherwise run svc man --markdown)', async (t) => {
  const readme = readFileSync(new URL('../../../src/cli/README.md', import.meta.url), 'utf8')
  t.ok(readme.endsWith(`\n\n${renderMarkdownTable(svcProgram, 'en')}`))
})
