/** Standard input as the value of a command. */
import { PassThrough } from 'node:stream'
import t from 'tap'
import type { Context } from '../../src/cli/context.ts'
import { readInput } from '../../src/cli/read-input.ts'

t.test('standard input is read to its end, and Ctrl-C ends the waiting for it', async (t) => {
  const stdin = () => new PassThrough() as unknown as Context['stdin'] & PassThrough
  const whole = stdin()
  whole.end('all of it')
  t.equal(await readInput({ stdin: whole, signal: new AbortController().signal }), 'all of it')
  const open = stdin()
  const stop = new AbortController()
  const reading = readInput({ stdin: open, signal: stop.signal })
  stop.abort()
  await t.rejects(reading, { name: 'AbortError' })
})
