/** Reads standard input as the value of an argument. */
import { PassThrough } from 'node:stream'
import t from 'tap'
import type { Context } from '../../../src/cli/context.ts'
import { readStdin } from '../../../src/cli/read-stdin.ts'

t.test('reads standard input to its end, and stops at Ctrl-C', async (t) => {
  const stdin = () => new PassThrough() as unknown as Context['stdin'] & PassThrough
  const whole = stdin()
  whole.end('all of it')
  t.equal(await readStdin({ stdin: whole, signal: new AbortController().signal }), 'all of it')
  const open = stdin()
  const stop = new AbortController()
  const reading = readStdin({ stdin: open, signal: stop.signal })
  stop.abort()
  await t.rejects(reading, { name: 'AbortError' })
})
