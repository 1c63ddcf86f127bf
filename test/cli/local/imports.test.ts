/** What starting a command of the workbench costs, and how `svc ssh` is read: the two things that need no workbench. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { localCommands } from '../../../src/cli/local/index.ts'
import { parse } from '../../../src/cli/program.ts'

const root = join(import.meta.dirname, '../../../src/cli/local')

t.test('of the workbench the command line loads the protocol alone, so that it starts quickly', (t) => {
  const heavy = readdirSync(root).flatMap((name) =>
    [...readFileSync(join(root, name), 'utf8').matchAll(/^import (?!type )[^;]*?from '([^']+)'/gm)]
      .map((match) => match[1] ?? '')
      .filter(
        (from) =>
          (from.includes('/workbench/') && !from.endsWith('/workbench/protocol.ts')) || /^(?:zod|playwright-core)/.test(from),
      )
      .map((from) => `${name}: ${from}`),
  )
  t.strictSame(heavy, [])
  t.notMatch(readFileSync(join(root, '../workbench/protocol.ts'), 'utf8'), /^import (?!type )/m)
  t.end()
})

t.test('svc ssh takes a destination, and its subcommands, with options before or after', (t) => {
  const wordOf = (line: string): unknown => {
    const request = parse(line.split(' '), localCommands, 'en')
    return (
      request.kind === 'run' && [
        request.command.name,
        request.options.number('port'),
        request.args.text('destination'),
        request.globals.flag('json'),
      ]
    )
  }
  t.strictSame(wordOf('ssh me@host'), ['connect', undefined, 'me@host', false])
  t.strictSame(wordOf('ssh -p 2222 me@host --json'), ['connect', 2222, 'me@host', true])
  t.strictSame(wordOf('--json ssh me@host --port 2222'), ['connect', 2222, 'me@host', true])
  t.strictSame(wordOf('ssh connect list'), ['connect', undefined, 'list', false])
  t.match(parse(['ssh', 'list'], localCommands, 'en'), { kind: 'run', command: { name: 'list' } })
  t.throws(() => parse(['browser', 'fill', '--selector', 'x'], localCommands, 'en'), { code: 'usage' })
  t.end()
})
