/** Checks every entry of the command table against the help, completions and documentation that are generated from it. */
import t from 'tap'
import { isCommandGroup } from '../../../src/cli/command-table/command.ts'
import { commands } from '../../../src/cli/commands.ts'
import { parseCommandLine } from '../../../src/cli/command-table/parse-command-line.ts'
import { flattenCommands } from '../../../src/cli/command-table/flatten-commands.ts'

const places = flattenCommands(commands)

t.test('every entry has a summary without a full stop, in both languages', async (t) => {
  for (const { path, spec } of places) {
    const texts = typeof spec.summary === 'string' ? [spec.summary] : [spec.summary.en, spec.summary.zh]
    t.ok(
      texts.every((text) => text.length > 0 && !/[.。]$/.test(text)),
      path.join(' '),
    )
  }
})

t.test("every command's help starts with an example", async (t) => {
  for (const { path, spec } of places) {
    for (const language of ['en', 'zh'] as const) {
      const request = parseCommandLine([...path, '--help'], commands, language)
      const text = request.kind === 'help' ? request.text : ''
      t.match(
        text.split('\n').slice(0, 2).join('\n'),
        /^(?:Examples:|示例：)\n {2}\S/,
        `svc ${path.join(' ')} --help (${language})`,
      )
      t.ok(text.includes(spec.examples[0].line), `svc ${path.join(' ')}: its own example`)
    }
  }
})

t.test('every example is a command line that svc accepts', async (t) => {
  for (const { path, spec } of places) {
    for (const { line } of spec.examples) {
      for (const words of svcLines(line)) {
        const request = parseCommandLine(words, commands, 'en')
        t.ok(request.kind === 'run' || request.kind === 'help', `${path.join(' ')}: ${line}`)
      }
      t.ok(svcLines(line).length > 0, `${path.join(' ')}: ${line} is an example of svc`)
    }
  }
})

t.test('every command loads a handler', async (t) => {
  for (const { path, spec } of places) {
    if (!isCommandGroup(spec)) t.type((await spec.load()).run, 'function', path.join(' '))
  }
})

t.test('entries of one level have different names', async (t) => {
  const seen = new Map<string, string>()
  for (const { path, spec } of places) {
    for (const name of [spec.name, ...(spec.aliases ?? [])]) {
      const key = [...path.slice(0, -1), name].join(' ')
      t.equal(seen.get(key), undefined, key)
      seen.set(key, spec.name)
    }
  }
})

/** The arguments of each `svc …` in a shell line, without quotes, pipes and redirections. */
function svcLines(line: string): readonly (readonly string[])[] {
  return [...line.matchAll(/(?:^|[\s(])svc\s+((?:"[^"]*"|'[^']*'|[^|<>&)'"])*)/g)].map((match) =>
    [...(match[1] ?? '').matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((word) => word[1] ?? word[2] ?? word[3] ?? ''),
  )
}
