/** Lent memory: little of it, used again, and never while anybody may still read in it. */
import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { Lending, LentMemory } from '../../../src/exchange/large/lent-memory.ts'
import { LargeBody, Printed } from '../../../src/exchange/large/printed.ts'

const most = 8
const longest = 4 * 1024 * 1024

t.test('what was given back is lent again; there is so much of it, and nothing for what is longer', (t) => {
  const memory = new LentMemory()
  t.equal(memory.lend(longest + 1), null)
  const lent = Array.from({ length: most }, () => memory.lend(longest))
  t.equal(new Set(lent).size, most)
  t.notOk(lent.includes(null))
  t.equal(memory.lend(1), null)
  const [third] = lent.slice(2)
  if (third !== null && third !== undefined) memory.giveBack(third)
  t.equal(memory.lend(1), third)
  t.equal(memory.lend(1), null)
  t.end()
})

t.test('what is never given back is made anew once nobody has it', async (t) => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const memory = new LentMemory()
  for (let i = 0; i < most; i++) memory.lend(1)
  t.equal(memory.lend(1), null)
  let again: SharedArrayBuffer | null = null
  for (let tries = 0; again === null && tries < 200; tries++) {
    collect()
    await setTimeout(5)
    again = memory.lend(1)
  }
  t.not(again, null)
})

function lending() {
  const text = new Uint8Array(new SharedArrayBuffer(1_000_000)).fill(0x61)
  let givenBack = 0
  const lending = new Lending(() => givenBack++)
  return { text, lending, body: new LargeBody([text], lending), givenBack: () => givenBack }
}

t.test('it is given back when the request is over and every sending was read to its end, once', (t) => {
  const { lending: one, body, givenBack } = lending()
  t.equal(Buffer.concat([...body]).toString(), 'a'.repeat(1_000_000))
  t.equal([...body].length, 16, 'again, for another target')
  t.equal(givenBack(), 0)
  one.end()
  one.end()
  t.equal(givenBack(), 1)
  t.end()
})

t.test('where a sending was broken off, or has not ended yet, it is not given back', (t) => {
  for (const pieces of [1, 15]) {
    const { lending: one, body, givenBack } = lending()
    const sending = body[Symbol.iterator]()
    for (let i = 0; i < pieces; i++) sending.next()
    if (pieces > 1) sending.return?.()
    t.equal([...body].length, 16, 'the next was whole')
    one.end()
    t.equal(givenBack(), 0)
  }
  t.end()
})

t.test('what sockets may still hold on to afterwards is not in it', (t) => {
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

t.test('when it is over nobody reads in it any more', (t) => {
  const { text, lending: one, body } = lending()
  const printed = new Printed([text], one)
  one.end()
  t.throws(() => [...body], /over/)
  t.throws(() => JSON.stringify(printed), /over/)
  t.throws(() => String(body), /over/)
  t.end()
})
