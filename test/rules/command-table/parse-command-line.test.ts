/** Parses command lines against the table and checks the messages that refuse wrong ones. */
import t from 'tap'
import type { Command, CommandSpec, Program } from '../../../src/command-table/command.ts'
import { CommandLineError } from '../../../src/command-table/command-line-error.ts'
import { svcProgram } from '../../../src/cli/program.ts'
import { parseCommandLine } from '../../../src/command-table/parse-command-line.ts'

const load = async () => null
const examples: Command<null>['examples'] = [{ line: 'svc', text: 'example' }]

/** A small table with every feature of an entry. */
const commands: readonly CommandSpec<null>[] = [
  {
    name: 'workspace',
    aliases: ['ws'],
    summary: 'workspaces',
    examples,
    commands: [
      { name: 'list', summary: 'list', examples, load },
      {
        name: 'new',
        summary: 'new',
        examples,
        options: [
          { name: 'title', kind: 'text', placeholder: 'text', summary: 'title', required: true },
          { name: 'env', kind: 'list', placeholder: 'K=V', summary: 'variables' },
          { name: 'no-wait', kind: 'flag', summary: 'do not wait' },
        ],
        load,
      },
      { name: 'focus', aliases: ['select'], summary: 'focus', examples, arguments: [{ name: 'id', summary: 'id' }], load },
    ],
  },
  {
    name: 'split',
    summary: 'split',
    examples,
    arguments: [{ name: 'words', optional: true, variadic: true, summary: 'words' }],
    options: [
      { name: 'direction', short: 'd', kind: 'text', summary: 'where', choices: ['left', 'right'] },
      { name: 'size', kind: 'number', summary: 'percent' },
    ],
    load,
  },
  {
    name: 'boost',
    summary: 'boost',
    examples,
    defaultCommand: 'status',
    commands: [
      { name: 'status', summary: 'status', examples, load },
      { name: 'checkin', summary: 'check in', examples, load },
    ],
  },
]

const program: Program<null> = { ...svcProgram, commands }

function run(line: string) {
  const request = parseCommandLine(line.split(' '), program, 'en')
  if (request.kind !== 'run') throw new Error(`${line}: ${request.kind}`)
  return request
}

t.test('parses nested commands, their options and their arguments', async (t) => {
  const made = run('workspace new --title build --env A=1 --env B=2')
  t.equal(made.command.name, 'new')
  t.equal(made.options.getText('title'), 'build')
  t.strictSame(made.options.getList('env'), ['A=1', 'B=2'])
  t.equal(made.options.getFlag('no-wait'), false)
  t.equal(run('workspace new --title x --no-wait').options.getFlag('no-wait'), true)
  t.strictSame(run('split a b c').args.getList('words'), ['a', 'b', 'c'])
  t.strictSame(run('split').args.getList('words'), [])
  t.equal(run('split -d left --size 30').options.getNumber('size'), 30)
  t.equal(run('workspace focus ws_1').args.requireText('id'), 'ws_1')
})

t.test('aliases lead to the same command', async (t) => {
  t.equal(run('ws list').command.name, 'list')
  t.equal(run('workspace select ws_1').command.name, 'focus')
})

t.test('accepts global options before and after the command', async (t) => {
  for (const line of [
    '--json --timeout 2 workspace list',
    'workspace --json list --timeout 2',
    'workspace list --json --timeout=2',
  ]) {
    const { globals } = run(line)
    t.equal(globals.getFlag('json'), true, line)
    t.equal(globals.getNumber('timeout'), 2, line)
    t.equal(globals.getFlag('no-color'), false, line)
  }
  t.equal(run('workspace list --no-color --no-start').globals.getFlag('no-start'), true)
})

t.test('treats everything after -- as arguments', async (t) => {
  const request = run('split -- --json -d')
  t.strictSame(request.args.getList('words'), ['--json', '-d'])
  t.equal(request.globals.getFlag('json'), false)
})

t.test('runs the default command of a group, and reports a missing command without one', async (t) => {
  t.equal(run('boost').command.name, 'status')
  t.equal(run('boost --json').command.name, 'status')
  t.equal(run('boost checkin').command.name, 'checkin')
  t.match(failure('workspace').message, 'A command is missing')
})

t.test('returns help and version requests without printing, at every level', async (t) => {
  for (const line of [
    '--help',
    '-h',
    'help',
    'help workspace new',
    'workspace --help',
    'workspace new --help',
    'workspace new -h',
    'boost --help',
  ]) {
    const request = parseCommandLine(line.split(' '), program, 'en')
    t.equal(request.kind === 'help' && request.text.startsWith('Examples:\n'), true, line)
  }
  t.equal(parseCommandLine([], program, 'en').kind, 'help', 'no words at all')
  t.equal(parseCommandLine(['--version'], program, 'en').kind, 'version')
  t.equal(parseCommandLine(['-V'], program, 'en').kind, 'version')
  t.match(parseCommandLine(['--help'], program, 'zh'), { text: /^示例：/ })
})

t.test('refuses a wrong command line with the argument at fault, and a suggestion', async (t) => {
  const cases: readonly (readonly [string, RegExp, RegExp?])[] = [
    ['worspace list', /no command 'worspace'/, /did you mean: workspace/],
    ['workspace lst', /no command 'lst'/, /did you mean: list/],
    ['boost chekin', /no command 'chekin'/, /did you mean: checkin/],
    ['boost zzz', /no command 'zzz'/],
    ['xyzzy', /no command 'xyzzy'/],
    ['split --directon left', /no option '--directon'/, /did you mean: --direction/],
    ['workspace new', /'--title <text>' is missing/],
    ['workspace focus', /<id> is missing/],
    ['workspace new --title', /'--title <text>' needs a value/],
    ['split -d up', /'up' is invalid.*left, right/],
    ['split --size ten', /'ten' is invalid.*number/],
    ['split --size -5', /'-5' is invalid.*number|needs a value/],
    ['workspace list extra', /no command|too many/],
    ['--timeout soon workspace list', /'soon' is invalid/],
  ]
  for (const [line, sentence, hint] of cases) {
    const thrown = failure(line)
    t.match(thrown.message, sentence, line)
    if (hint !== undefined) t.match(JSON.stringify(thrown.hints), hint, line)
  }
})

t.test('refuses in Chinese too', async (t) => {
  t.match(failure('workspace new').text, { zh: /缺少选项/ })
  t.match(failure('worspace').text, { zh: /没有名为“worspace”的命令/ })
})

t.test('throws for a name that the entry does not define', async (t) => {
  t.throws(() => run('workspace list').options.getText('titel'), TypeError)
  t.throws(() => run('split').args.requireText('words'), TypeError)
})

function failure(line: string): CommandLineError {
  try {
    parseCommandLine(line.split(' '), program, 'en')
  } catch (error) {
    if (error instanceof CommandLineError) return error
    throw error
  }
  throw new Error(`accepted: ${line}`)
}
