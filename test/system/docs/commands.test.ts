/** Every command that a document shows is one of this version, with the options that it is shown with. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { run } from '../../../src/operator/main.ts'
import { runSvc } from '../../support/cli/run-svc.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const documents = globSync(['*.md', '{docs,src,plugins,bench,examples,deploy}/**/*.md'], { cwd: root })

interface ShownCommand {
  readonly path: string
  readonly text: string
  /** Up to the first argument. */
  readonly words: readonly string[]
  readonly options: readonly string[]
}

/** Commands that begin with `prefix`, in code blocks and in backticks. */
function findCommands(prefix: string): ShownCommand[] {
  const pattern = new RegExp(`(?:^|[\`\\s"&;(])${prefix} ([a-z][^\`\\n#|&;)]*)`, 'gm')
  return documents.flatMap((path) =>
    [...readCode(path).matchAll(pattern)].map(([, line = '']) => {
      const all = line.trim().split(/\s+/)
      const end = all.findIndex((word) => !/^[a-z][a-z-]*$/.test(word))
      return {
        path,
        text: `${prefix} ${line.trim()}`,
        words: end < 0 ? all : all.slice(0, end),
        options: all.flatMap((word) => /^--[a-z-]+/.exec(word)?.[0] ?? []),
      }
    }),
  )
}

/** Code blocks and what stands in backticks; prose that mentions a program is no command. */
function readCode(path: string): string {
  return [...readFileSync(join(root, path), 'utf8').matchAll(/^```\w*\n([^]*?)^```|`([^`\n]+)`/gm)]
    .map(([, block, inline]) => block ?? `\`${inline}\``)
    .join('\n')
}

/** What of a command its help does not have. */
function findMissing({ words, options }: ShownCommand, usage: string, help: string): string[] {
  return [...(usage.includes(words.join(' ')) ? [] : [words.join(' ')]), ...options.filter((option) => !help.includes(option))]
}

t.test('operator commands exist with their options', async (t) => {
  const commands = findCommands('(?:npx )?svc-gateway')
  t.ok(commands.length > 20, `${commands.length} commands`)
  for (const command of commands) {
    const { code, stdout } = await run([...command.words, '--help'])
    const usage = /Usage: svc-gateway (.*)/.exec(stdout)?.[1] ?? ''
    t.same([code, ...findMissing(command, usage, stdout)], [0], `${command.path}: ${command.text}`)
  }
})

t.test('commands of svc exist with their options', async (t) => {
  const home = t.testdir()
  const commands = findCommands('npx svc')
  t.ok(commands.length >= 3, `${commands.length} commands`)
  for (const command of commands) {
    const words = command.words.slice(0, 1)
    const { code, stdout } = await runSvc([...words, '--help'], { home })
    t.same([code, ...findMissing({ ...command, words }, stdout, stdout)], [0], `${command.path}: ${command.text}`)
  }
})

t.test('scripts of package.json and programs of this repository exist', async (t) => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>
  }
  const named = documents.flatMap((path) =>
    [...readCode(path).matchAll(/npm (?:run ([\w:-]+)|(test|start)\b)/g)].map(([, name, own]) => name ?? own ?? ''),
  )
  t.ok(named.length > 10, `${named.length} scripts`)
  t.same(
    named.filter((name) => !(name in scripts)),
    [],
  )
  const programs = documents.flatMap((path) =>
    [...readCode(path).matchAll(/\bnode ((?:bench|bin|test)\/[\w/.-]+)/g)].map(([, file = '']) => file),
  )
  t.ok(programs.length > 5, `${programs.length} programs`)
  t.same(
    programs.filter((file) => !existsSync(join(root, file))),
    [],
  )
})
