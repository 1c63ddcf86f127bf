/** The real context of a command, without a terminal. */
import { PassThrough } from 'node:stream'
import t from 'tap'
import { createContext } from '../../../src/cli/create-context.ts'
import { fromProcess } from '../../../src/cli/process-io.ts'
import { ParsedValues } from '../../../src/command-table/parsed-values.ts'

const names = ['json', 'quiet', 'verbose', 'timeout', 'no-color', 'socket', 'no-start']

t.test('--timeout becomes whole milliseconds within the range of a timer', async (t) => {
  const environment = { variables: {}, platform: process.platform, home: t.testdir() }
  const timeoutOf = (seconds: number | undefined) => {
    const values = new ParsedValues(new Map(names.map((name) => [name, name === 'timeout' ? seconds : undefined])))
    return createContext(values, { ...fromProcess(), environment, onInterrupt: () => {} }, 'en').timeoutMs
  }
  t.equal(timeoutOf(undefined), undefined)
  t.equal(timeoutOf(0.25), 250)
  t.equal(timeoutOf(16.1), 16_100)
  const longest = timeoutOf(1e9) ?? 0
  t.ok(longest > 1e9 && longest + 60_000 < 2 ** 31, String(longest))
})

t.test('the width of a terminal is read at each use', async (t) => {
  const terminal = Object.assign(new PassThrough(), { isTTY: true, columns: 80 })
  const { stdout } = createContext(
    new ParsedValues(new Map(names.map((name) => [name, undefined]))),
    { ...fromProcess(), stdout: terminal, onInterrupt: () => {} },
    'en',
  )
  t.equal(stdout.columns, 80)
  terminal.columns = 40
  t.equal(stdout.columns, 40)
})
