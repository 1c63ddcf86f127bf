/** The modules that a workbench command loads, and the parsing of `svc ssh`; neither needs a workbench. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { svcProgram } from '../../../../src/cli/program.ts'
import { CommandLineError } from '../../../../src/command-table/command-line-error.ts'
import { parseCommandLine } from '../../../../src/command-table/parse-command-line.ts'

const root = join(import.meta.dirname, '../../../../src/cli/workbench-commands')

t.test('the command line loads only the protocol of the workbench', (t) => {
  const heavy = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) =>
      [...readFileSync(join(root, name), 'utf8').matchAll(/^import (?!type )[^;]*?from '([^']+)'/gm)]
        .map((match) => match[1] ?? '')
        .filter(
          (from) =>
            (from.includes('/workbench/') && !from.endsWith('/workbench/protocol/protocol.ts')) ||
            /^(?:zod|playwright-core)/.test(from),
        )
        .map((from) => `${name}: ${from}`),
    )
  t.strictSame(heavy, [])
  t.notMatch(readFileSync(join(root, '../workbench/protocol/protocol.ts'), 'utf8'), /^import (?!type )/m)
  t.end()
})

t.test('svc ssh accepts a destination or a subcommand, with options before or after', (t) => {
  const wordOf = (line: string): unknown => {
    const request = parseCommandLine(line.split(' '), svcProgram, 'en')
    return (
      request.kind === 'run' && [
        request.command.name,
        request.options.getNumber('port'),
        request.args.getText('destination'),
        request.globals.getFlag('json'),
      ]
    )
  }
  t.strictSame(wordOf('ssh me@host'), ['connect', undefined, 'me@host', false])
  t.strictSame(wordOf('ssh -p 2222 me@host --json'), ['connect', 2222, 'me@host', true])
  t.strictSame(wordOf('--json ssh me@host --port 2222'), ['connect', 2222, 'me@host', true])
  t.strictSame(wordOf('ssh connect list'), ['connect', undefined, 'list', false])
  t.match(parseCommandLine(['ssh', 'list'], svcProgram, 'en'), { kind: 'run', command: { name: 'list' } })
  t.throws(() => parseCommandLine(['browser', 'fill', '--selector', 'x'], svcProgram, 'en'), CommandLineError)
  t.end()
})
