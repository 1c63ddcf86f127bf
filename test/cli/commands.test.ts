/** The table of commands, held to what help, completion and documentation make of it. */
import t from 'tap'
import { isGroup } from '../../src/cli/command.ts'
import { commands } from '../../src/cli/commands.ts'
import { parse } from '../../src/cli/program.ts'
import { walk } from '../../src/cli/walk.ts'

const places = walk(commands)

t.test('every row has a summary without a full stop, in both languages', async (t) => {
  for (const { path, row } of places) {
    const texts = typeof row.summary === 'string' ? [row.summary] : [row.summary.en, row.summary.zh]
    t.ok(
      texts.every((text) => text.length > 0 && !/[.。]$/.test(text)),
      path.join(' '),
    )
  }
})

t.test("every command's help starts with an example", async (t) => {
  for (const { path, row } of places) {
    for (const language of ['en', 'zh'] as const) {
      const request = parse([...path, '--help'], commands, language)
      const text = request.kind === 'help' ? request.text : ''
      t.match(
        text.split('\n').slice(0, 2).join('\n'),
        /^(?:Examples|示例):\n {2}\S/,
        `svc ${path.join(' ')} --help (${language})`,
      )
      t.ok(text.includes(row.examples[0].line), `svc ${path.join(' ')}: its own example`)
    }
  }
})

t.test('every example is a command line that svc accepts', async (t) => {
  for (const { path, row } of places) {
    for (const { line } of row.examples) {
      for (const words of svcLines(line)) {
        const request = parse(words, commands, 'en')
        t.ok(request.kind === 'run' || request.kind === 'help', `${path.join(' ')}: ${line}`)
      }
      t.ok(svcLines(line).length > 0, `${path.join(' ')}: ${line} is an example of svc`)
    }
  }
})

t.test('every command has code behind it', async (t) => {
  for (const { path, row } of places) {
    if (!isGroup(row)) t.type((await row.load()).run, 'function', path.join(' '))
  }
})

t.test('no two rows of a level share a name', async (t) => {
  const seen = new Map<string, string>()
  for (const { path, row } of places) {
    for (const name of [row.name, ...(row.aliases ?? [])]) {
      const key = [...path.slice(0, -1), name].join(' ')
      t.equal(seen.get(key), undefined, key)
      seen.set(key, row.name)
    }
  }
})

/** The words of each `svc …` in a shell line: quotes are taken off, what a shell does with pipes and redirections is left out. */
function svcLines(line: string): readonly (readonly string[])[] {
  return [...line.matchAll(/(?:^|[\s(])svc\s+((?:"[^"]*"|'[^']*'|[^|<>&)'"])*)/g)].map((match) =>
    [...(match[1] ?? '').matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((word) => word[1] ?? word[2] ?? word[3] ?? ''),
  )
}
