/** Checks every entry of both programs against the help, completions and documentation that are generated from it. */
import t from 'tap'
import type { Program } from '../../../src/command-table/command.ts'
import { isCommandGroup } from '../../../src/command-table/command.ts'
import { flattenCommands } from '../../../src/command-table/flatten-commands.ts'
import { parseCommandLine } from '../../../src/command-table/parse-command-line.ts'
import { svcProgram } from '../../../src/cli/program.ts'
import { operatorProgram } from '../../../src/operator/program.ts'

const programs: readonly Program<unknown>[] = [svcProgram, operatorProgram]
const places = programs.flatMap((program) =>
  flattenCommands(program.commands).map((place) => ({ ...place, program, name: `${program.name} ${place.path.join(' ')}` })),
)

t.test('every text is in both languages, and summaries have no full stop', async (t) => {
  for (const { name, spec } of places) {
    const rows = isCommandGroup(spec) ? [] : [...(spec.arguments ?? []), ...(spec.options ?? [])]
    for (const { summary } of [spec, ...rows]) {
      const texts = typeof summary === 'string' ? [summary] : [summary.en, summary.zh]
      t.ok(
        texts.every((text) => text.length > 0 && !/[.。]$/.test(text)),
        `${name}: ${texts[0]}`,
      )
      // A plain string is the same in both languages, as the name of a thing.
      if (typeof summary !== 'string' && summary.en !== summary.zh) t.match(summary.zh, /[^ -~]/u, `${name}: ${summary.zh}`)
    }
  }
})

t.test("every command's help starts with an example", async (t) => {
  for (const { path, spec, program, name } of places) {
    for (const language of ['en', 'zh'] as const) {
      const request = parseCommandLine([...path, '--help'], program, language)
      const text = request.kind === 'help' ? request.text : ''
      t.match(text.split('\n').slice(0, 2).join('\n'), /^(?:Examples:|示例：)\n {2}\S/, `${name} --help (${language})`)
      t.ok(text.includes(spec.examples[0].line), `${name}: its own example`)
    }
  }
})

t.test('every example is a command line that the program accepts', async (t) => {
  for (const { spec, program, name } of places) {
    for (const { line } of spec.examples) {
      const commandLines = findCommandLines(program.name, line)
      for (const words of commandLines) {
        const request = parseCommandLine(words, program, 'en')
        t.ok(request.kind === 'run' || request.kind === 'help', `${name}: ${line}`)
      }
      t.ok(commandLines.length > 0, `${name}: ${line} is an example of it`)
    }
  }
})

t.test('every command loads what runs it', async (t) => {
  for (const { spec, name } of places) {
    if (isCommandGroup(spec)) continue
    const handler = await spec.load()
    t.type(typeof handler === 'function' ? handler : Object(handler).run, 'function', name)
  }
})

t.test('entries of one level have different names', async (t) => {
  const seen = new Map<string, string>()
  for (const { path, spec, program } of places) {
    for (const name of [spec.name, ...(spec.aliases ?? [])]) {
      const key = [program.name, ...path.slice(0, -1), name].join(' ')
      t.equal(seen.get(key), undefined, key)
      seen.set(key, spec.name)
    }
  }
})

t.test('the help of a program lists each command in a section', async (t) => {
  for (const { name, sections, commands } of programs) {
    const listed = sections.flatMap((section) => section.commands)
    t.same(listed.toSorted(), commands.flatMap((spec) => (spec.hidden === true ? [] : spec.name)).toSorted(), name)
  }
})

/** The arguments of each call of the program in a shell line, without quotes, pipes and redirections. */
function findCommandLines(program: string, line: string): readonly (readonly string[])[] {
  return [...line.matchAll(new RegExp(`(?:^|[\\s(])${program}(?:\\s+|$)((?:"[^"]*"|'[^']*'|[^|<>&)'"])*)`, 'g'))].map((match) =>
    [...(match[1] ?? '').matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((word) => word[1] ?? word[2] ?? word[3] ?? ''),
  )
}
