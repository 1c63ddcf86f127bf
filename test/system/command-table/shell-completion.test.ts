/** Runs the completion scripts in the shells that are installed. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import type { Program } from '../../../src/cli/command.ts'
import { svcProgram } from '../../../src/cli/program.ts'
import { operatorProgram } from '../../../src/operator/program.ts'
import type { Shell } from '../../../src/command-table/shell-completion.ts'
import { createCompletionScript } from '../../../src/command-table/shell-completion.ts'
import { requireProgram } from '../../support/require-program.ts'

/** Entries with every difficulty for a script: groups, aliases, choices, quotes and colons in the texts. */
const commands: Program['commands'] = [
  ...svcProgram.commands,
  {
    name: 'pane',
    aliases: ['p'],
    summary: 'it\'s a pane: $HOME `x` "y"',
    examples: [{ line: 'svc pane', text: '' }],
    commands: [
      {
        name: 'split',
        summary: 'split',
        examples: [{ line: 'svc pane split', text: '' }],
        options: [{ name: 'direction', short: 'd', kind: 'text', summary: 'where', choices: ['right', 'left'] }],
        load: async () => ({ run: async () => {} }),
      },
    ],
  },
]

const shells = ['bash', 'zsh', 'fish'] as const
const program: Program = { ...svcProgram, commands }

const operatorCases: readonly Case[] = [
  [[], 'ac', ['account'], ['audit']],
  [['account'], 'set-', ['set-plan', 'set-email'], ['list']],
  [['backup'], '', ['create', 'list', 'drill'], ['verify']],
  [['turns'], '--si', ['--since'], ['--limit']],
  [['completion'], '', ['bash', 'zsh', 'fish'], []],
]

/** Words before the cursor, the word under it, words that must be offered, words that must not. */
type Case = readonly [readonly string[], string, readonly string[], readonly string[]]

const memberCases: readonly Case[] = [
  [[], 'log', ['login', 'logout'], ['chat']],
  [['boost'], '', ['status', 'checkin', 'rush'], ['login']],
  [['--json', 'boost'], 'ch', ['checkin'], ['status']],
  [['completion'], '', ['bash', 'zsh', 'fish'], []],
  [['chat'], '--mo', ['--model'], ['--output']],
  [['pane', 'split', '--direction'], '', ['right', 'left'], ['split']],
  [['p', 'split', '-d'], 'r', ['right'], ['left']],
  [['p'], '', ['split'], ['login']],
]

const programs = [
  { name: 'svc', cases: memberCases, createScript: (shell: string) => createCompletionScript(shell, program, 'en') },
  {
    name: 'svc-gateway',
    cases: operatorCases,
    createScript: (shell: string) => createCompletionScript(shell, operatorProgram, 'en'),
  },
]

/** Each case with the name of its program and the script for a shell. */
function listCases(shell: string) {
  return programs.flatMap(({ name, cases, createScript }) => {
    const script = createScript(shell)
    return cases.map(([before, word, wanted, unwanted]) => ({ name, script, before, word, wanted, unwanted }))
  })
}

t.test('bash offers the words that can follow', async (t) => {
  if (requireProgram(t, 'bash') === undefined) return
  for (const { name, script, before, word, wanted, unwanted } of listCases('bash')) {
    const words = [name, ...before, word]
    const asked = `COMP_WORDS=(${words.map((item) => `'${item}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _${name}; printf '%s\\n' "\${COMPREPLY[@]}"`
    assertCompletions(t, words, complete('bash', ['--norc', '-c', `${script}\n${asked}`]), wanted, unwanted)
  }
})

t.test('zsh offers the words that can follow', async (t) => {
  if (requireProgram(t, 'zsh') === undefined) return
  // The completion system needs a terminal, so its two entry functions are replaced by functions that print their arguments.
  const doors = `
compdef() { :; }
_files() { :; }
_describe() { local name=\${@[-1]}; print -l -- "\${(@)\${(@P)name}%%:*}" }
compadd() { print -l -- "\${(@P)2}" }
`
  for (const { name, script, before, word, wanted, unwanted } of listCases('zsh')) {
    const list = [name, ...before, word]
    const asked = `words=(${list.map((item) => `'${item}'`).join(' ')}); CURRENT=${list.length}; PREFIX='${word}'; _${name}`
    const offered = complete('zsh', ['-f', '-c', `${doors}\n${script}\n${asked}`])
    assertCompletions(
      t,
      list,
      offered,
      wanted,
      unwanted.filter((item) => item.startsWith(word)),
    )
  }
})

t.test('fish offers the words that can follow', async (t) => {
  if (requireProgram(t, 'fish') === undefined) return
  const home = t.testdir()
  for (const { name, script, before, word, wanted, unwanted } of listCases('fish')) {
    const line = [name, ...before, word].join(' ')
    const offered = complete('fish', ['--no-config', '-c', `${script}\ncomplete -C '${line}'`], home)
    assertCompletions(t, [line], offered, wanted, unwanted)
  }
})

t.test('each script contains every command and option, in both languages', async (t) => {
  for (const shell of shells) {
    for (const language of ['en', 'zh'] as const) {
      const script = createCompletionScript(shell, program, language)
      for (const word of ['whoami', 'rush', 'unset', 'direction', 'no-stream'])
        t.match(script, word, `${shell} ${language}: ${word}`)
    }
  }
})

t.test('the choices of svc completion are the supported shells', async (t) => {
  const row = commands.find((row) => row.name === 'completion')
  t.match(row, { arguments: [{ choices: [...shells] }] })
})

function assertCompletions(
  t: Test,
  words: readonly string[],
  offered: readonly string[],
  wanted: readonly string[],
  unwanted: readonly string[],
): void {
  for (const item of wanted) t.ok(offered.includes(item), `${words.join(' ')}: ${item} is offered among ${offered.join(' ')}`)
  for (const item of unwanted) t.notOk(offered.includes(item), `${words.join(' ')}: ${item} is not offered`)
}

function complete(shell: Shell, words: readonly string[], home = '/nonexistent'): readonly string[] {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    XDG_CONFIG_HOME: join(home, 'config'),
    XDG_DATA_HOME: join(home, 'data'),
    LANG: 'C.UTF-8',
  }
  const { stdout, stderr, error } = spawnSync(shell, words, { encoding: 'utf8', env, timeout: 60_000 })
  if (error !== undefined || stderr !== '') throw new Error(`${shell}: ${error?.message ?? stderr}`)
  return stdout.split('\n').map((line) => (line.split('\t')[0] ?? '').trim())
}
