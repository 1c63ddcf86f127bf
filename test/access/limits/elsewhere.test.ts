/** Counting elsewhere, seen from the node that asks: few calls, no call for what is known, and its share while nobody answers. */
import t from 'tap'
import type { Ask, LimitBook } from '../../../src/access/limits/book.ts'
import { proof } from '../../../src/access/limits/book.ts'
import { LimitsElsewhere } from '../../../src/access/limits/elsewhere.ts'
import { requestUnits } from '../../../src/access/limits/limits.ts'
import { RateLimiter } from '../../../src/access/limits/memory.ts'

/** A book that has room for `room` requests of anybody, and answers as it is told. */
function aBook(room: number, nodes = 3) {
  const calls: (readonly Ask[])[] = []
  const told: string[] = []
  const state = { ticks: 0, opened: 0, closed: 0, answer: 'yes' as 'yes' | 'never' | 'fault' }
  const used = new Map<string, number>()
  const book: LimitBook = {
    async take(asks) {
      if (asks !== proof) calls.push(asks.map((ask) => ({ ...ask })))
      if (state.answer === 'never') await new Promise(() => undefined)
      if (state.answer === 'fault') throw new Error("READONLY You can't write against a read only replica.")
      return asks.map(({ subject, perMinute, count }) => {
        const before = used.get(subject) ?? (perMinute - room) * requestUnits
        used.set(subject, before + Math.min(count, perMinute - before / requestUnits) * requestUnits)
        return before
      })
    },
    close: () => void state.closed++,
  }
  const limits = new LimitsElsewhere({
    name: 'the server of LIMITS_URL',
    async open() {
      if (state.answer === 'fault') throw new Error('connect ECONNREFUSED')
      state.opened += 1
      return book
    },
    own: new RateLimiter(),
    nodes: () => nodes,
    clock: { now: () => 1_000 + state.ticks, ticks: () => state.ticks },
    onLost: (why) => told.push(`lost: ${why}`),
    onBack: (ms) => told.push(`back after ${ms} ms`),
  })
  t.teardown(() => limits.close())
  const take = (subject: string, perMinute = 60) => limits.take(subject, perMinute, state.ticks)
  const admitted = async (takes: readonly ReturnType<typeof take>[]) =>
    (await Promise.all(takes)).filter(({ allowed }) => allowed).length
  return { limits, take, admitted, calls, told, state }
}

const times = <T>(count: number, one: () => T): T[] => Array.from({ length: count }, one)

t.test('all that is asked in one round of the loop goes in one call, and what is refused is not asked again', async (t) => {
  const { limits, take, admitted, calls, state } = aBook(5)
  await limits.open()
  t.equal(await admitted([...times(8, () => take('a')), ...times(3, () => take('b'))]), 8)
  t.same(
    calls.map((asks) => asks.map(({ subject, count }) => `${subject} ${count}`)),
    [['a 8', 'b 3']],
  )
  const refused = take('a')
  t.notOk(refused instanceof Promise, 'known here')
  t.match(refused, { allowed: false, retryAfterMs: 1_000 })
  t.ok(take('a', 90) instanceof Promise, 'another plan is asked for')
  state.ticks += 999
  t.match(take('b'), Promise)
  t.equal(calls.length, 1, 'and nothing before the round is over')
})

t.test('a refusal holds until it is over, and not longer', async (t) => {
  const { limits, take, admitted, calls, state } = aBook(1)
  await limits.open()
  t.equal(await admitted(times(2, () => take('a'))), 1)
  state.ticks += 999
  t.match(take('a'), { allowed: false, retryAfterMs: 1 })
  state.ticks += 1
  t.ok(take('a') instanceof Promise)
  await take('a')
  t.equal(calls.length, 2)
})

t.test('two plans of one account in one round are two calls', async (t) => {
  const { limits, take, calls } = aBook(100)
  await limits.open()
  await Promise.all([take('a', 100), take('a', 200), take('b', 200)])
  t.same(
    calls.map((asks) => asks.map(({ subject, perMinute }) => `${subject} ${perMinute}`)),
    [['a 100'], ['a 200', 'b 200']],
  )
})

t.test('a book that is lost: each allows its share, with what went before, and nobody waits', async (t) => {
  const { limits, take, admitted, told, state } = aBook(1_000)
  await limits.open()
  t.equal(await admitted(times(15, () => take('a'))), 15)
  state.answer = 'fault'
  t.equal(await admitted(times(30, () => take('a'))), 5, 'twenty is a third of sixty')
  t.equal(state.closed, 1, 'the connection is thrown away')
  const next = take('b')
  t.notOk(next instanceof Promise)
  t.match(next, { allowed: true, limit: 60, remaining: 19 })
  t.equal(await admitted(times(5, () => take('c', 2))), 1, 'a limit smaller than the number of nodes lets one in')
  t.match(limits.vitals, { lostSince: 1_000, nodes: 3 })
  await limits.open()
  t.equal(told.length, 1, 'said once')
  state.answer = 'yes'
  state.ticks += 2_500
  await limits.open()
  t.same(told, ["lost: READONLY You can't write against a read only replica.", 'back after 2500 ms'])
  t.ok(take('d') instanceof Promise)
  t.match(limits.vitals, { lostSince: null })
})

t.test('who has used his limit up at other nodes has used his share here', async (t) => {
  const { limits, take, admitted, state } = aBook(1)
  await limits.open()
  t.equal(await admitted(times(2, () => take('a'))), 1)
  state.answer = 'fault'
  t.equal(await admitted([take('b')]), 1)
  state.ticks += 2_999
  t.equal(await admitted([take('a')]), 0)
  state.ticks += 1
  t.equal(await admitted([take('a'), take('a')]), 1, 'a third of what comes back')
})

t.test('a book that never answers is lost after its patience, and what comes late is worth nothing', async (t) => {
  const { limits, take, admitted, told, state } = aBook(1_000)
  await limits.open()
  state.answer = 'never'
  t.equal(await admitted(times(30, () => take('a'))), 20)
  t.match(told, [/no answer within 50 ms/])
  await limits.open()
  t.match(limits.vitals, { lostSince: 1_000 }, 'who opens and does not answer is not back')
  t.equal(state.opened, 2)
  t.equal(state.closed, 2)
})

t.test('who closes leaves nobody waiting', async (t) => {
  const { limits, take, admitted } = aBook(1_000)
  await limits.open()
  const asked = times(3, () => take('a'))
  limits.close()
  t.equal(await admitted(asked), 3)
})
