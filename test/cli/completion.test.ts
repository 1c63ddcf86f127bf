/** The completion scripts, run by the shells themselves where they are installed. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import type { Row } from '../../src/cli/command.ts'
import { commands } from '../../src/cli/commands.ts'
import type { Shell } from '../../src/cli/completion.ts'
import { completionScript, shells } from '../../src/cli/completion.ts'
import { requireProgram } from '../support/real-parts.ts'

/** Rows with everything a script must cope with: groups, aliases, choices, quotes and colons in the texts. */
const rows: readonly Row[] = [
  ...commands,
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

const cases: readonly (readonly [readonly string[], string, readonly string[], readonly string[]])[] = [
  // words before the cursor, the word under it, some that must be offered, some that must not
  [[], 'log', ['login', 'logout'], ['chat']],
  [['boost'], '', ['status', 'checkin', 'rush'], ['login']],
  [['--json', 'boost'], 'ch', ['checkin'], ['status']],
  [['completion'], '', ['bash', 'zsh', 'fish'], []],
  [['chat'], '--mo', ['--model'], ['--output']],
  [['pane', 'split', '--direction'], '', ['right', 'left'], ['split']],
  [['p', 'split', '-d'], 'r', ['right'], ['left']],
  [['p'], '', ['split'], ['login']],
]

t.test('bash offers what can follow', async (t) => {
  if (requireProgram(t, 'bash') === undefined) return
  for (const [before, word, wanted, unwanted] of cases) {
    const words = ['svc', ...before, word]
    const asked = `COMP_WORDS=(${words.map((item) => `'${item}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _svc; printf '%s\\n' "\${COMPREPLY[@]}"`
    expect(t, words, run('bash', ['--norc', '-c', `${completionScript('bash', rows, 'en')}\n${asked}`]), wanted, unwanted)
  }
})

t.test('zsh offers what can follow', async (t) => {
  if (requireProgram(t, 'zsh') === undefined) return
  // The completion system needs a terminal; its two doors are replaced, and what the function hands to them is printed.
  const doors = `
compdef() { :; }
_files() { :; }
_describe() { local name=\${@[-1]}; print -l -- "\${(@)\${(@P)name}%%:*}" }
compadd() { print -l -- "\${(@P)2}" }
`
  for (const [before, word, wanted, unwanted] of cases) {
    const list = ['svc', ...before, word]
    const asked = `words=(${list.map((item) => `'${item}'`).join(' ')}); CURRENT=${list.length}; PREFIX='${word}'; _svc`
    const offered = run('zsh', ['-f', '-c', `${doors}\n${completionScript('zsh', rows, 'en')}\n${asked}`])
    expect(
      t,
      list,
      offered,
      wanted,
      unwanted.filter((item) => item.startsWith(word)),
    )
  }
})

t.test('fish offers what can follow', async (t) => {
  if (requireProgram(t, 'fish') === undefined) return
  const home = t.testdir()
  for (const [before, word, wanted, unwanted] of cases) {
    const line = ['svc', ...before, word].join(' ')
    const offered = run('fish', ['--no-config', '-c', `${completionScript('fish', rows, 'en')}\ncomplete -C '${line}'`], home)
    expect(t, [line], offered, wanted, unwanted)
  }
})

t.test('the scripts are made from the table: every command and option is in each of them, in both languages', async (t) => {
  for (const shell of shells) {
    for (const language of ['en', 'zh'] as const) {
      const script = completionScript(shell, rows, language)
      for (const word of ['whoami', 'rush', 'unset', 'direction', 'no-stream'])
        t.match(script, word, `${shell} ${language}: ${word}`)
    }
  }
})

t.test('the choices of svc completion are the shells there are', async (t) => {
  const row = commands.find((row) => row.name === 'completion')
  t.match(row, { arguments: [{ choices: [...shells] }] })
})

function expect(
  t: Test,
  words: readonly string[],
  offered: readonly string[],
  wanted: readonly string[],
  unwanted: readonly string[],
): void {
  for (const item of wanted) t.ok(offered.includes(item), `${words.join(' ')}: ${item} is offered among ${offered.join(' ')}`)
  for (const item of unwanted) t.notOk(offered.includes(item), `${words.join(' ')}: ${item} is not offered`)
}

function run(shell: Shell, words: readonly string[], home = '/nonexistent'): readonly string[] {
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
