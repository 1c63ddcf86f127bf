/** Tasks in threads of their own: their results, and their end when the caller no longer waits. */
import { setTimeout as after } from 'node:timers/promises'
import t from 'tap'
import { runInWorker } from '../../../src/store/worker-task.ts'

const look = (kind: string, signal?: AbortSignal): Promise<unknown> =>
  runInWorker(new URL('./task-thread.ts', import.meta.url), { kind }, signal).catch((error: unknown) => error)

t.test('a task returns its result or its error', async (t) => {
  t.equal(await look('plain'), 'plain')
  t.match(await look('failing'), { message: 'no such thing', code: 'NOTHING' })
})

t.test('an endless task ends when it is cancelled', async (t) => {
  const giving = new AbortController()
  const looking = look('endless', giving.signal)
  await after(200)
  giving.abort()
  t.equal(await looking, giving.signal.reason)
})

t.test('a cancelled caller gets no result, whenever it cancelled', async (t) => {
  const giving = new AbortController()
  const looking = look('deaf', giving.signal)
  giving.abort()
  t.equal(await looking, giving.signal.reason)
  t.equal(await look('plain', giving.signal), giving.signal.reason)
})
