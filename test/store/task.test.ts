/** Long looks in threads of their own: what they answer, and that they end where nobody waits for them any more. */
import { setTimeout as after } from 'node:timers/promises'
import t from 'tap'
import { doneBy } from '../../src/store/task.ts'

const look = (kind: string, signal?: AbortSignal): Promise<unknown> =>
  doneBy(new URL('looking-thread.ts', import.meta.url), { kind }, signal).catch((error: unknown) => error)

t.test('a look gives its answer, or why there is none', async (t) => {
  t.equal(await look('plain'), 'plain')
  t.match(await look('failing'), { message: 'no such thing', code: 'NOTHING' })
})

t.test('a look that would go on for ever ends where it is given up', async (t) => {
  const giving = new AbortController()
  const looking = look('endless', giving.signal)
  await after(200)
  giving.abort()
  t.equal(await looking, giving.signal.reason)
})

t.test('nobody hears the answer to what he has given up, whenever that was', async (t) => {
  const giving = new AbortController()
  const looking = look('deaf', giving.signal)
  giving.abort()
  t.equal(await looking, giving.signal.reason)
  t.equal(await look('plain', giving.signal), giving.signal.reason)
})
