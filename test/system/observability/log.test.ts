/** When log lines are written, and when the log waits for the disk. */
import { setTimeout as after } from 'node:timers/promises'
import t from 'tap'
import { createLog, createBufferedLog, StderrWriter } from '../../../src/observability/log.ts'

t.test('writes lines together and soon, and a fatal one at once', async (t) => {
  const given: string[] = []
  let settled = 0
  const lines = createBufferedLog(
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

/** A sink that accepts lines as the system does, as configured. */
function createSlowReader() {
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

t.test('drops lines that a full disk does not accept, and logs how many bytes', (t) => {
  const disk = createSlowReader()
  const writing = new StderrWriter(disk.put)
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

t.test('keeps a megabyte for a stalled reader, and waits for it only at exit', (t) => {
  const pipe = createSlowReader()
  const writing = new StderrWriter(pipe.put)
  pipe.takes(0, 'EAGAIN')
  writing.write('one\n')
  const started = performance.now()
  writing.drainSync()
  t.ok(performance.now() - started < 15_000)
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

t.test('masks secrets that are added later, beside the earlier ones and the longest first', async (t) => {
  const lines: string[] = []
  const { log, addSecrets } = createLog('info', { write: (line) => void lines.push(line) }, undefined, ['sk-first'])
  addSecrets(['sk-second', 'sk-second-longer', 'sk-"quoted'])
  log.info({ words: 'sk-first sk-second sk-second-longer sk-"quoted' }, 'done')
  t.match(lines.join(''), '"words":"… … … …"')
})
