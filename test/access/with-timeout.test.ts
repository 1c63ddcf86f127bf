import { setTimeout as after } from 'node:timers/promises'
import t from 'tap'
import { withTimeout } from '../../src/access/with-timeout.ts'
import { pauseThread } from '../support/pause-thread.ts'

t.test('rejects what does not settle in time, and passes on every other outcome', async (t) => {
  for (const timeoutMs of [0, 20, 600]) {
    const started = performance.now()
    await t.rejects(withTimeout(new Promise(() => undefined), timeoutMs), { message: `no answer within ${timeoutMs} ms` })
    t.ok(performance.now() - started >= timeoutMs - 1)
  }
  t.equal(await withTimeout(Promise.resolve('now'), 20), 'now')
  t.equal(await withTimeout(after(300, 'later'), 10_000), 'later', 'after more than one step')
  await t.rejects(withTimeout(Promise.reject(new Error('refused')), 20), { message: 'refused' })
})

t.test('waits on after a pause, for what arrives late because of it', async (t) => {
  const { promise, resolve } = Promise.withResolvers<string>()
  const answer = withTimeout(promise, 500)
  await pauseThread(700)
  setTimeout(() => resolve('late'), 20)
  t.equal(await answer, 'late')
})
