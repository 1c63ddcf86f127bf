/** Command lines read against the table, and the words in which a wrong one is refused. */
import t from 'tap'
import type { Command, Row } from '../../src/cli/command.ts'
import { CommandFailure } from '../../src/cli/failure.ts'
import { parse } from '../../src/cli/program.ts'

const load: Command['load'] = async () => ({ run: async () => {} })
const examples: Command['examples'] = [{ line: 'svc', text: 'example' }]

/** A small table with everything a row can have. */
const rows: readonly Row[] = [
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

function run(line: string) {
  const request = parse(line.split(' '), rows, 'en')
  if (request.kind !== 'run') throw new Error(`${line}: ${request.kind}`)
  return request
}

t.test('nested commands, their options and arguments are read by the table', async (t) => {
  const made = run('workspace new --title build --env A=1 --env B=2')
  t.equal(made.command.name, 'new')
  t.equal(made.options.text('title'), 'build')
  t.strictSame(made.options.list('env'), ['A=1', 'B=2'])
  t.equal(made.options.flag('no-wait'), false)
  t.equal(run('workspace new --title x --no-wait').options.flag('no-wait'), true)
  t.strictSame(run('split a b c').args.list('words'), ['a', 'b', 'c'])
  t.strictSame(run('split').args.list('words'), [])
  t.equal(run('split -d left --size 30').options.number('size'), 30)
  t.equal(run('workspace focus ws_1').args.need('id'), 'ws_1')
})

t.test('aliases lead to the same command', async (t) => {
  t.equal(run('ws list').command.name, 'list')
  t.equal(run('workspace select ws_1').command.name, 'focus')
})

t.test('global options stand before or after the command', async (t) => {
  for (const line of [
    '--json --timeout 2 workspace list',
    'workspace --json list --timeout 2',
    'workspace list --json --timeout=2',
  ]) {
    const { globals } = run(line)
    t.equal(globals.flag('json'), true, line)
    t.equal(globals.number('timeout'), 2, line)
    t.equal(globals.flag('no-color'), false, line)
  }
  t.equal(run('workspace list --no-color --no-start').globals.flag('no-start'), true)
})

t.test('words after -- are words, whatever they look like', async (t) => {
  const request = run('split -- --json -d')
  t.strictSame(request.args.list('words'), ['--json', '-d'])
  t.equal(request.globals.flag('json'), false)
})

t.test('a group with a default command runs it; without one it says what is missing', async (t) => {
  t.equal(run('boost').command.name, 'status')
  t.equal(run('boost --json').command.name, 'status')
  t.equal(run('boost checkin').command.name, 'checkin')
  t.match(failure('workspace').message, 'A command is missing')
})

t.test('help and version are asked for, not printed, at every level', async (t) => {
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
    const request = parse(line.split(' '), rows, 'en')
    t.equal(request.kind === 'help' && request.text.startsWith('Examples:\n'), true, line)
  }
  t.equal(parse([], rows, 'en').kind, 'help', 'no words at all')
  t.equal(parse(['--version'], rows, 'en').kind, 'version')
  t.equal(parse(['-V'], rows, 'en').kind, 'version')
  t.match(parse(['--help'], rows, 'zh'), { text: /^示例:/ })
})

t.test('a wrong command line is refused with exit 2, the word at fault, and what was probably meant', async (t) => {
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
    t.equal(thrown.exit, 'usage', line)
    t.match(thrown.message, sentence, line)
    if (hint !== undefined) t.match(JSON.stringify(thrown.hints), hint, line)
  }
})

t.test('the sentences are there in Chinese', async (t) => {
  t.match(failure('workspace new').text, { zh: /缺少选项/ })
  t.match(failure('worspace').text, { zh: /没有名为“worspace”的命令/ })
})

t.test('asking for a name the row does not have is a bug and says so', async (t) => {
  t.throws(() => run('workspace list').options.text('titel'), TypeError)
  t.throws(() => run('split').args.need('words'), TypeError)
})

function failure(line: string): CommandFailure {
  try {
    parse(line.split(' '), rows, 'en')
  } catch (error) {
    if (error instanceof CommandFailure) return error
    throw error
  }
  throw new Error(`accepted: ${line}`)
}
