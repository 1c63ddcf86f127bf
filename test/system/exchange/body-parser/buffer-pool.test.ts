/** Pooled buffers: few, reused, and never while a reader may still use them. */
import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { BufferPool } from '../../../../src/exchange/body-parser/buffer-pool.ts'
import { TextLease } from '../../../../src/exchange/body-parser/text-lease.ts'
import { ChunkedBody, RawJson } from '../../../../src/exchange/request/raw-json.ts'

const most = 8
const longest = 4 * 1024 * 1024

t.test('reuses released buffers, allocates a bounded number, and none for longer texts', (t) => {
  const memory = new BufferPool()
  t.equal(memory.acquire(longest + 1), null)
  const lent = Array.from({ length: most }, () => memory.acquire(longest))
  t.equal(new Set(lent).size, most)
  t.notOk(lent.includes(null))
  t.equal(memory.acquire(1), null)
  const [third] = lent.slice(2)
  if (third !== null && third !== undefined) memory.release(third)
  t.equal(memory.acquire(1), third)
  t.equal(memory.acquire(1), null)
  t.end()
})

t.test('replaces a buffer that was never released once it is collected', async (t) => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const memory = new BufferPool()
  for (let i = 0; i < most; i++) memory.acquire(1)
  t.equal(memory.acquire(1), null)
  let again: SharedArrayBuffer | null = null
  for (let tries = 0; again === null && tries < 200; tries++) {
    collect()
    await setTimeout(5)
    again = memory.acquire(1)
  }
  t.not(again, null)
})

function lending() {
  const text = new Uint8Array(new SharedArrayBuffer(1_000_000)).fill(0x61)
  let givenBack = 0
  const lending = new TextLease(() => givenBack++)
  return { text, lending, body: new ChunkedBody([text], lending), givenBack: () => givenBack }
}

t.test('releases the buffer once, when the request has ended and every send was read', (t) => {
  const { lending: one, body, givenBack } = lending()
  t.equal(Buffer.concat([...body]).toString(), 'a'.repeat(1_000_000))
  t.equal([...body].length, 16, 'again, for another target')
  t.equal(givenBack(), 0)
  one.close()
  one.close()
  t.equal(givenBack(), 1)
  t.end()
})

t.test('keeps the buffer if a send was interrupted or has not ended', (t) => {
  for (const pieces of [1, 15]) {
    const { lending: one, body, givenBack } = lending()
    const sending = body[Symbol.iterator]()
    for (let i = 0; i < pieces; i++) sending.next()
    if (pieces > 1) sending.return?.()
    t.equal([...body].length, 16, 'the next send was complete')
    one.close()
    t.equal(givenBack(), 0)
  }
  t.end()
})

t.test('contains nothing that sockets may still hold afterwards', (t) => {
  const { text, body } = lending()
  const sent = [...body]
  text.fill(0x62)
  const held = sent.slice(-6)
  t.equal(Buffer.concat(held).toString(), 'a'.repeat(held.reduce((sum, { length }) => sum + length, 0)))
  t.ok(
    sent.slice(0, -7).every((piece) => piece[0] === 0x62),
    'the rest is no copy',
  )
  t.end()
})

t.test('refuses reads after its end', (t) => {
  const { text, lending: one, body } = lending()
  const printed = new RawJson([text], one)
  one.close()
  t.throws(() => [...body], /over/)
  t.throws(() => JSON.stringify(printed), /over/)
  t.throws(() => String(body), /over/)
  t.end()
})
