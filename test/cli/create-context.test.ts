/** The real context of a command, as far as it can be had without a terminal. */
import { PassThrough } from 'node:stream'
import t from 'tap'
import { createContext } from '../../src/cli/create-context.ts'
import { ofThisProcess } from '../../src/cli/surroundings.ts'
import { Values } from '../../src/cli/values.ts'

const names = ['json', 'quiet', 'verbose', 'timeout', 'no-color', 'socket', 'no-start']

t.test('--timeout is whole milliseconds that a timer can wait, however long it is', async (t) => {
  const environment = { variables: {}, platform: process.platform, home: t.testdir() }
  const timeoutOf = (seconds: number | undefined) => {
    const values = new Values(new Map(names.map((name) => [name, name === 'timeout' ? seconds : undefined])))
    return createContext(values, { ...ofThisProcess(), environment, onInterrupt: () => {} }, 'en').timeoutMs
  }
  t.equal(timeoutOf(undefined), undefined)
  t.equal(timeoutOf(0.25), 250)
  t.equal(timeoutOf(16.1), 16_100)
  const longest = timeoutOf(1e9) ?? 0
  t.ok(longest > 1e9 && longest + 60_000 < 2 ** 31, String(longest))
})

t.test('a terminal is as wide as it is now, not as it was at the start', async (t) => {
  const terminal = Object.assign(new PassThrough(), { isTTY: true, columns: 80 })
  const { stdout } = createContext(
    new Values(new Map(names.map((name) => [name, undefined]))),
    { ...ofThisProcess(), stdout: terminal, onInterrupt: () => {} },
    'en',
  )
  t.equal(stdout.columns, 80)
  terminal.columns = 40
  t.equal(stdout.columns, 40)
})
