/** Long bodies are read slice by slice, round robin. */
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { createLocalLimits } from '../../../../src/access/limits/memory.ts'
import { readChunks } from '../../../../src/http/request/read-body.ts'
import { BodyReadScheduler } from '../../../../src/system/body-reads/body-read-scheduler.ts'

/** Bodies of the given number of slices; `order` records which was read when, in milliseconds. */
async function readBodies(pieces: Readonly<Record<string, number>>): Promise<{ order: string[]; at: number[] }> {
  // Small requests arrive all the time, however long this takes.
  const inTurn = new BodyReadScheduler(() => 0)
  inTurn.noteSmallRequest()
  const [order, at]: [string[], number[]] = [[], []]
  const bodies = Object.entries(pieces).map(([name, count]) => {
    let [left, isPaused] = [count, false]
    const body = {
      pause: () => (isPaused = true),
      resume: () => {
        if (!isPaused) throw new Error(`${name} was not paused`)
        isPaused = false
        order.push(name)
        at.push(performance.now())
        if (--left > 0) inTurn.yieldSlice(body)
      },
    }
    return body
  })
  for (const body of bodies) inTurn.yieldSlice(body)
  const all = Object.values(pieces).reduce((sum, count) => sum + count, 0)
  while (order.length < all) await setTimeout(1)
  await setTimeout(5)
  return { order, at }
}

t.test('reads one slice of each body in turn', async (t) => {
  const { order } = await readBodies({ a: 4, b: 1, c: 2 })
  t.same(order.join(''), 'abcacaa')
})

t.test('reads one slice per millisecond, whatever the number of bodies', async (t) => {
  for (const pieces of [{ a: 40 }, { a: 10, b: 10, c: 10, d: 10 }]) {
    const { at } = await readBodies(pieces)
    t.ok((at.at(-1) ?? 0) - (at[0] ?? 0) >= 38, 'timers may be early by less than one in all')
  }
})

t.test('delays bodies only while small requests arrive', async (t) => {
  let now = 1_000
  const inTurn = new BodyReadScheduler(() => now)
  let paused = 0
  const body = { pause: () => paused++, resume: () => undefined }
  const isKeptWaiting = (): boolean => {
    const before = paused
    inTurn.yieldSlice(body)
    return paused > before
  }
  t.equal(isKeptWaiting(), false, 'no small request has arrived yet')
  inTurn.noteSmallRequest()
  t.equal(isKeptWaiting(), true)
  now += 100
  t.equal(isKeptWaiting(), true)
  now += 1
  t.equal(isKeptWaiting(), false, 'the last small request is too long ago')
})

t.test('counts bytes, not chunks', async (t) => {
  for (const [parts, bytes, turns] of [
    [1_024, 1_024, 28],
    [16, 65_536, 14],
    [1, 1_000_000, 1],
    [128, 1_024, 0],
  ] as const) {
    let paused = 0
    const inTurn = new BodyReadScheduler(() => 0)
    inTurn.noteSmallRequest()
    const request = Object.assign(Readable.from(Array.from({ length: parts }, () => Buffer.alloc(bytes))), {
      headers: { 'content-type': 'application/json' },
      complete: true,
    })
    request.on('pause', () => paused++)
    const services = { bodyScheduler: inTurn, limits: createLocalLimits() }
    const options = { maxBytes: 2_000_000, owner: { kind: 'account', id: 'acc_1' }, services } as const
    const { chunks } = await readChunks(request as unknown as IncomingMessage, options)
    t.equal(Buffer.concat(chunks).length, parts * bytes)
    t.equal(paused, turns, `${parts} of ${bytes} bytes`)
  }
})

/** How many checks a body survives whose received bytes grow by `perCheck`. */
function countChecks({ declaredBytes, perCheck }: { declaredBytes: number | null; perCheck: number }): number {
  const scheduler = new BodyReadScheduler(() => 0)
  let isAborted = false
  const read = {
    listIndex: -1,
    declaredBytes,
    receivedBytes: 0,
    abort: () => {
      isAborted = true
      scheduler.endRead(read)
    },
  }
  scheduler.beginRead(read)
  for (let checks = 1; ; checks++) {
    read.receivedBytes += perCheck
    scheduler.abortSlow(() => new Error('too slow'))
    if (isAborted) return checks
  }
}

t.test('ends a body that stops arriving, or that cannot be whole in two minutes', async (t) => {
  const declaredBytes = 24_000
  t.equal(countChecks({ declaredBytes, perCheck: 0 }), 3)
  t.equal(countChecks({ declaredBytes: null, perCheck: 0 }), 3)
  t.equal(countChecks({ declaredBytes, perCheck: 1 }), 3, 'one byte in five seconds')
  t.equal(countChecks({ declaredBytes, perCheck: 500 }), 4, 'half as fast as needed')
  t.equal(countChecks({ declaredBytes, perCheck: 1_000 }), 24, 'as slow as may be')
  t.equal(countChecks({ declaredBytes: null, perCheck: 1 }), 24, 'a chunked body has the same time')
})
