/** Long bodies are read in turn, and not all at once. */
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { readChunks } from '../../src/http/body.ts'
import { InTurn } from '../../src/http/in-turn.ts'

/** Bodies of so many pieces each; `order` tells who was read when, in milliseconds. */
async function read(pieces: Readonly<Record<string, number>>): Promise<{ order: string[]; at: number[] }> {
  // Others have just come, all the time, however long this takes.
  const inTurn = new InTurn(() => 0)
  inTurn.hasOthers()
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
        if (--left > 0) inTurn.next(body)
      },
    }
    return body
  })
  for (const body of bodies) inTurn.next(body)
  const all = Object.values(pieces).reduce((sum, count) => sum + count, 0)
  while (order.length < all) await setTimeout(1)
  await setTimeout(5)
  return { order, at }
}

t.test('each in its turn, whoever has most to send', async (t) => {
  const { order } = await read({ a: 4, b: 1, c: 2 })
  t.same(order.join(''), 'abcacaa')
})

t.test('a piece of one of them a millisecond, however many there are', async (t) => {
  for (const pieces of [{ a: 40 }, { a: 10, b: 10, c: 10, d: 10 }]) {
    const { at } = await read(pieces)
    t.ok((at.at(-1) ?? 0) - (at[0] ?? 0) >= 38, 'timers may be early by less than one in all')
  }
})

t.test('only while others come', async (t) => {
  let now = 1_000
  const inTurn = new InTurn(() => now)
  let paused = 0
  const body = { pause: () => paused++, resume: () => undefined }
  const isKeptWaiting = (): boolean => {
    const before = paused
    inTurn.next(body)
    return paused > before
  }
  t.equal(isKeptWaiting(), false, 'nobody has come yet')
  inTurn.hasOthers()
  t.equal(isKeptWaiting(), true)
  now += 100
  t.equal(isKeptWaiting(), true)
  now += 1
  t.equal(isKeptWaiting(), false, 'the last one came a while ago')
})

t.test('what counts is how much has come, not in how many parts', async (t) => {
  for (const [parts, bytes, turns] of [
    [1_024, 1_024, 28],
    [16, 65_536, 14],
    [1, 1_000_000, 1],
    [128, 1_024, 0],
  ] as const) {
    let paused = 0
    const inTurn = new InTurn(() => 0)
    inTurn.hasOthers()
    const request = Object.assign(Readable.from(Array.from({ length: parts }, () => Buffer.alloc(bytes))), {
      headers: { 'content-type': 'application/json' },
      complete: true,
    })
    request.on('pause', () => paused++)
    const chunks = await readChunks(request as unknown as IncomingMessage, 2_000_000, inTurn)
    t.equal(Buffer.concat(chunks).length, parts * bytes)
    t.equal(paused, turns, `${parts} of ${bytes} bytes`)
  }
})
