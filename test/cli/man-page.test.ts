/** The manual page and the tables of the READMEs hold the table of commands as it is now. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { isGroup } from '../../src/cli/command.ts'
import { commands } from '../../src/cli/commands.ts'
import { environmentTable } from '../../src/cli/environment-table.ts'
import { exitCodes } from '../../src/cli/exit-code.ts'
import { manPage, markdownTable } from '../../src/cli/man-page.ts'
import { settings } from '../../src/cli/settings.ts'
import { walk } from '../../src/cli/walk.ts'
import { requireProgram } from '../support/real-parts.ts'

const page = manPage(commands, '1.2.3', 'en')

t.test('the manual page names every command, every option and every exit code', async (t) => {
  const plain = page.replaceAll('\\-', '-').replaceAll('\\e', '\\')
  for (const { path, row } of walk(commands)) {
    t.match(plain, `.SS svc ${path.join(' ')}`, path.join(' '))
    if (isGroup(row)) continue
    for (const option of row.options ?? []) t.match(plain, `--${option.name}`, `${path.join(' ')} --${option.name}`)
  }
  for (const { code, en } of Object.values(exitCodes)) t.match(plain, `\\fB${code}\\fR\n${en}`)
  t.match(plain, '"svc 1.2.3"')
})

t.test('the manual page names every variable once, and every setting', async (t) => {
  const names = environmentTable.map(({ name }) => name)
  t.same(names, [...new Set(names)])
  for (const { variable } of Object.values(settings)) t.ok(names.includes(variable), variable)
  const config = JSON.stringify(commands.find(({ name }) => name === 'config'))
  t.match(config, Object.keys(settings).slice(0, -1).join(', '), 'svc config names them all')
})

t.test('groff formats it without a warning, in both languages', async (t) => {
  const groff = requireProgram(t, 'groff')
  if (groff === undefined) return
  for (const language of ['en', 'zh'] as const) {
    const { stdout, stderr, status } = spawnSync(groff, ['-man', '-mzh', '-Tutf8', '-Kutf8', '-ww', '-P-cbu'], {
      input: manPage(commands, '1.2.3', language),
      encoding: 'utf8',
    })
    t.equal(status, 0)
    t.equal(stderr, '', language)
    t.match(stdout, 'SVC_SITE_URL')
  }
})

t.test("the README's table has one line for each command", async (t) => {
  const lines = markdownTable(commands, 'en').trimEnd().split('\n')
  const count = walk(commands).filter(({ row }) => !isGroup(row)).length
  t.equal(lines.length, count + 2)
  t.match(lines, [/^\| Command/, /^\|---/, /^\| `svc login/])
  for (const line of lines) t.equal(line.split(/(?<!\\)\|/).length, 5, line)
})

t.test('the README of the command line holds the table as it is now (else: svc man --markdown)', async (t) => {
  const readme = readFileSync(new URL('../../src/cli/README.md', import.meta.url), 'utf8')
  t.ok(readme.endsWith(`\n\n${markdownTable(commands, 'en')}`))
})
