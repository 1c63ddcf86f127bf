/** When lines of the log leave, and when the disk is waited for. */
import { setTimeout as after } from 'node:timers/promises'
import t from 'tap'
import { createLog, gathering } from '../../../src/system/observe/log.ts'

t.test('lines leave together and soon, and only a fatal one waits for the disk', async (t) => {
  const given: string[] = []
  let settled = 0
  const lines = gathering(
    (some) => void given.push(some),
    () => (settled += 1),
  )
  const { log } = createLog('info', lines)
  log.info('one')
  log.info('two')
  t.same(given, [], 'a write for each would cost more than the line')
  for (let tries = 0; given.length === 0 && tries < 40; tries += 1) await after(50)
  t.match(given, [/"one".*\n.*"two"/])
  t.equal(settled, 0)
  log.fatal('three')
  t.match(given, [/one/, /three/], 'at once')
  t.equal(settled, 1)
})
