/** Waits of the clock: none counts the time in which the thread stood still. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { createClock, systemClock } from '../../../src/system/clock.ts'
import { ClientPace } from '../../../src/upstream/client-pace.ts'
import { pauseThread } from '../../support/processes/pause-thread.ts'
import { waitUntil } from '../../support/wait-until.ts'

t.test('a wait does not count the time in which the thread stood still', async (t) => {
  let stoodStillMs = 0
  const clock = createClock({ monotonicMs: () => performance.now() + stoodStillMs })
  const order: string[] = []
  clock.after(150, () => order.push('short'))
  clock.after(30_000, () => order.push('long')).unref()
  stoodStillMs = 3_600_000
  await waitUntil(() => order.length > 0, 'the first one')
  await pauseThread(1_000)
  t.same(order, ['short'])
})

t.test('what arrived while the thread stood still is handled before a wait ends', async (t) => {
  const { promise, resolve } = Promise.withResolvers<string>()
  const answer = systemClock.within(100, promise)
  const worker = new MessageChannel()
  worker.port1.addEventListener('message', () => resolve('late'))
  worker.port1.start()
  worker.port2.postMessage('answer')
  const busyUntil = performance.now() + 300
  while (performance.now() < busyUntil);
  t.equal(await answer, 'late')
  worker.port1.close()
})

t.test('active time moves with the clock, and counts a pause as one step', async (t) => {
  let ms = 5_000
  const clock = createClock({ monotonicMs: () => ms })
  const pace = new ClientPace()
  ms += 50
  t.equal(clock.activeMs(), 50)
  pace.recordBlocked(clock.activeMs())
  ms += 60_000
  t.equal(clock.activeMs(), 200)
  t.equal(pace.isSlow(clock.activeMs()), false, 'the client is not slow')
  clock.after(1, () => undefined).cancel()
  ms += 50
  t.equal(clock.activeMs(), 250, 'the next timer begins another step')
  t.equal(clock.activeMs(ms - 10), 240, 'for a caller that has read the clock')
  pace.recordDrain(clock.activeMs())
  t.equal(pace.isSlow(clock.activeMs()), false)
})

t.test('within settles as its promise does, or rejects', async (t) => {
  await t.rejects(systemClock.within(20, new Promise(() => undefined)), {
    name: 'TimeoutError',
    message: 'no answer within 20 ms',
  })
  t.equal(await systemClock.within(10_000, Promise.resolve('now')), 'now')
  t.equal(
    await systemClock.within(
      60_000,
      systemClock.wait(600).then(() => 'later'),
    ),
    'later',
    'after more than one step',
  )
  await t.rejects(systemClock.within(10_000, Promise.reject(new Error('refused'))), { message: 'refused' })
})

t.test('a wait ends with its signal, and a deadline is a signal', async (t) => {
  const controller = new AbortController()
  const waiting = systemClock.wait(60_000, controller.signal)
  controller.abort(new Error('the client has disconnected'))
  await t.rejects(waiting, /disconnected/)
  await t.rejects(systemClock.wait(60_000, controller.signal), /disconnected/, 'also one that was aborted before')
  await t.rejects(systemClock.wait(60_000, systemClock.deadline(20)), { name: 'TimeoutError' })
})

t.test('a repeated timer goes on until it is cancelled, and a work that throws stops no other', async (t) => {
  const clock = createClock({})
  let count = 0
  const timer = clock.every(5, () => {
    count++
    if (count === 3) timer.cancel()
  })
  await waitUntil(() => count === 3, 'three calls')
  timer.restart()
  await waitUntil(() => count === 4, 'another one')
  timer.cancel()
  t.equal(count, 4)
})

t.test('only timers that are not unreferenced keep a process running', async (t) => {
  const toHref = (file: string) => new URL(file, import.meta.url).href
  for (const [name, program] of [
    ['the clock of a thread', `import { systemClock as clock } from '${toHref('../../../src/system/clock.ts')}'`],
    [
      'the live clock of tests',
      `import { SimulatedClock } from '${toHref('../../support/simulated-clock.ts')}'
      const clock = new SimulatedClock({ isLive: true })`,
    ],
  ] as const) {
    const use = `
      clock.every(60_000, () => undefined).unref()
      clock.deadline(3_600_000)
      clock.after(3_600_000, () => undefined).cancel()
      clock.after(20, () => console.log('ended'))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program + use])
    t.equal(stdout, 'ended\n', name)
  }
})
