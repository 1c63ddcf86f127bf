/** When lines of the log leave, and when the disk is waited for. */
import { setTimeout as after } from 'node:timers/promises'
import t from 'tap'
import { createLog, gathering, Writing } from '../../../src/system/observe/log.ts'

t.test('lines leave together and soon, and a fatal one at once, seen through', async (t) => {
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

/** Somebody who takes lines as the system does, as told. */
function reader() {
  let taken = ''
  let room = Infinity
  let refusal: string | null = null
  const put = (bytes: Uint8Array): number => {
    if (refusal !== null && room === 0) throw Object.assign(new Error(refusal), { code: refusal })
    const some = Buffer.from(bytes).subarray(0, Math.min(bytes.length, room))
    room -= some.length
    taken += some.toString()
    return some.length
  }
  return {
    put,
    taken: () => taken,
    takes(bytes: number, then: string | null = null) {
      room = bytes
      refusal = then
    },
  }
}

t.test('a log that a full disk does not take is left out, and how much of it is told in a line of its own', (t) => {
  const disk = reader()
  const writing = new Writing(disk.put)
  writing.write('{"a":1}\n')
  disk.takes(3, 'ENOSPC')
  writing.write('{"b":2}\n')
  writing.write('{"c":3}\n')
  disk.takes(Infinity)
  writing.write('{"d":4}\n')
  const [first, half, loss = '', last] = disk.taken().split('\n')
  t.same([first, half, last], ['{"a":1}', '{"b', '{"d":4}'])
  t.match(JSON.parse(loss), { level: 'warn', msg: '13 bytes of the log could not be written' })
  t.end()
})

t.test('a reader who stands still is kept a megabyte of lines, and is waited for only where there is no other time', (t) => {
  const pipe = reader()
  const writing = new Writing(pipe.put)
  pipe.takes(0, 'EAGAIN')
  writing.write('one\n')
  const started = performance.now()
  writing.settle()
  t.ok(performance.now() - started < 5_000)
  writing.write(`${'x'.repeat(2_000_000)}\n`)
  pipe.takes(Infinity)
  writing.write('two\n')
  writing.write('three\n')
  const [one, loss = '', ...rest] = pipe
    .taken()
    .split('\n')
    .filter((line) => line !== 'two')
  t.same([one, ...rest], ['one', 'three', ''])
  t.match(JSON.parse(loss), { msg: /^200\d{4} bytes of the log/ })
  t.end()
})
