/** The shared limit seen from one node: few calls, no call for a known refusal, and the node's share while the store is lost. */
import t from 'tap'
import type { RateLimitRequest, RateLimitStore } from '../../../../src/access/limits/rate-limit-store.ts'
import { probe } from '../../../../src/access/limits/rate-limit-store.ts'
import { DistributedRateLimit } from '../../../../src/access/limits/distributed.ts'
import { decayUnits, requestUnits } from '../../../../src/access/limits/limits.ts'
import { MemoryRateLimit } from '../../../../src/access/limits/memory.ts'
import { SimulatedClock } from '../../../support/simulated-clock.ts'

/** A store with room for `room` requests of each subject and controllable answers. */
function createFakeStore(room: number, nodes = 3) {
  const calls: (readonly RateLimitRequest[])[] = []
  const logged: string[] = []
  const clock = new SimulatedClock({ now: 1_000, monotonicMs: 0 })
  const state = { opened: 0, closed: 0, answer: 'yes' as 'yes' | 'never' | 'fault' }
  const used = new Map<string, number>()
  const store: RateLimitStore = {
    async consume(requests) {
      if (requests !== probe) calls.push(requests.map((ask) => ({ ...ask })))
      if (state.answer === 'never') await new Promise(() => undefined)
      if (state.answer === 'fault') throw new Error("READONLY You can't write against a read only replica.")
      return requests.map(({ subject, perMinute, count }) => {
        const before = used.get(subject) ?? (perMinute - room) * requestUnits
        used.set(subject, before + Math.min(count, perMinute - before / requestUnits) * requestUnits)
        return before
      })
    },
    close: () => void state.closed++,
  }
  const limits = new DistributedRateLimit({
    name: 'the server of LIMITS_URL',
    async open() {
      if (state.answer === 'fault') throw new Error('connect ECONNREFUSED')
      state.opened += 1
      return store
    },
    local: new MemoryRateLimit(),
    nodes: () => nodes,
    clock,
    onUnavailable: (why) => logged.push(`lost: ${why}`),
    onRecovered: (ms) => logged.push(`back after ${ms} ms`),
  })
  t.teardown(() => limits.close())
  const take = (subject: string, perMinute = 60) => limits.consume(subject, perMinute, clock.monotonicMs())
  const admitted = async (takes: readonly ReturnType<typeof take>[]) =>
    (await Promise.all(takes)).filter(({ allowed }) => allowed).length
  return { limits, take, admitted, calls, logged, state, clock, forget: () => used.clear() }
}

const times = <T>(count: number, one: () => T): T[] => Array.from({ length: count }, one)

t.test('sends the requests of one loop round in one call and refuses again without a call', async (t) => {
  const { limits, take, admitted, calls, clock } = createFakeStore(5)
  await limits.open()
  t.equal(await admitted([...times(8, () => take('a')), ...times(3, () => take('b'))]), 8)
  t.same(
    calls.map((requests) => requests.map(({ subject, count }) => `${subject} ${count}`)),
    [['a 8', 'b 3']],
  )
  const refused = take('a')
  t.notOk(refused instanceof Promise, 'known here')
  t.match(refused, { allowed: false, retryAfterMs: 1_000 })
  t.ok(take('a', 90) instanceof Promise, 'another limit needs a call')
  clock.skip(999)
  t.match(take('b'), Promise)
  t.equal(calls.length, 1, 'no call before the round is over')
})

t.test('refuses for exactly the reported time', async (t) => {
  const { limits, take, admitted, calls, clock } = createFakeStore(1)
  await limits.open()
  t.equal(await admitted(times(2, () => take('a'))), 1)
  clock.skip(999)
  t.match(take('a'), { allowed: false, retryAfterMs: 1 })
  clock.skip(1)
  t.ok(take('a') instanceof Promise)
  await take('a')
  t.equal(calls.length, 2)
})

t.test('sends two limits of one account in two calls', async (t) => {
  const { limits, take, calls } = createFakeStore(100)
  await limits.open()
  await Promise.all([take('a', 100), take('a', 200), take('b', 200)])
  t.same(
    calls.map((requests) => requests.map(({ subject, perMinute }) => `${subject} ${perMinute}`)),
    [['a 100'], ['a 200', 'b 200']],
  )
})

t.test('a lost store: each node allows its share, including earlier requests, without waiting', async (t) => {
  const { limits, take, admitted, logged, state, clock } = createFakeStore(1_000)
  await limits.open()
  t.equal(await admitted(times(15, () => take('a'))), 15)
  state.answer = 'fault'
  t.equal(await admitted(times(30, () => take('a'))), 5, 'the share is a third of sixty')
  t.equal(state.closed, 1, 'the connection is closed')
  const next = take('b')
  t.notOk(next instanceof Promise)
  t.match(next, { allowed: true, limit: 60, remaining: 19 })
  t.equal(await admitted(times(5, () => take('c', 2))), 1, 'a limit smaller than the number of nodes admits one request')
  t.match(limits.stats, { unavailableSince: 1_000, nodes: 3 })
  await limits.open()
  t.equal(logged.length, 1, 'logged once')
  state.answer = 'yes'
  clock.skip(2_500)
  await limits.open()
  t.same(logged, ["lost: READONLY You can't write against a read only replica.", 'back after 2500 ms'])
  t.ok(take('d') instanceof Promise)
  t.match(limits.stats, { unavailableSince: null })
})

t.test('a limit used up on other nodes leaves no share on this one', async (t) => {
  const { limits, take, admitted, state, clock } = createFakeStore(1)
  await limits.open()
  t.equal(await admitted(times(2, () => take('a'))), 1)
  state.answer = 'fault'
  t.equal(await admitted([take('b')]), 1)
  clock.skip(2_999)
  t.equal(await admitted([take('a')]), 0)
  clock.skip(1)
  t.equal(await admitted([take('a'), take('a')]), 1, 'a third of the refill')
})

t.test('a store that never answers is lost after the timeout, and late answers are ignored', async (t) => {
  const { limits, take, admitted, logged, state, clock } = createFakeStore(1_000)
  await limits.open()
  state.answer = 'never'
  const asked = admitted(times(30, () => take('a')))
  await clock.run(50)
  t.equal(await asked, 20)
  t.match(logged, [/no answer within 50 ms/])
  const opened = limits.open()
  await clock.run(50)
  await opened
  t.match(limits.stats, { unavailableSince: 1_050 }, 'a store that connects without answering stays lost')
  t.equal(state.opened, 2)
  t.equal(state.closed, 2)
})

t.test('close resolves all pending requests', async (t) => {
  const { limits, take, admitted } = createFakeStore(1_000)
  await limits.open()
  const pending = times(3, () => take('a'))
  limits.close()
  t.equal(await admitted(pending), 3)
})

t.test('applies the node’s share for a minute when the store has lost its data', async (t) => {
  const { limits, take, admitted, forget, clock } = createFakeStore(60)
  await limits.open()
  t.equal(await admitted(times(30, () => take('a'))), 30, 'half of the limit, more than the share of twenty')
  forget()
  t.equal(await admitted(times(60, () => take('a'))), 0, 'the store would admit all')
  clock.skip(59_000)
  forget()
  t.ok((await admitted(times(60, () => take('a')))) <= 20)
  t.equal(await admitted(times(30, () => take('b'))), 30, 'another subject')
})

t.test('trusts a store that has kept its data, at any rate of requests', async (t) => {
  const clock = new SimulatedClock({ monotonicMs: 0 })
  const state = { units: 0, at: 0 }
  const limits = new DistributedRateLimit({
    name: 'the server of LIMITS_URL',
    open: async () => ({
      // A store counts in whole milliseconds of its own clock, before this node records the answer.
      async consume([request]) {
        const now = Math.floor(clock.monotonicMs())
        const before = decayUnits(state.units, now - state.at, request?.perMinute ?? 1)
        Object.assign(state, { units: before + (request?.count ?? 0) * requestUnits, at: now })
        clock.skip(3.3)
        return [before]
      },
      close: () => undefined,
    }),
    local: new MemoryRateLimit(),
    nodes: () => 1_000,
    clock,
    onUnavailable: () => undefined,
    onRecovered: () => undefined,
  })
  t.teardown(() => limits.close())
  await limits.open()
  let count = 0
  for (let i = 0; i < 3_000; i++) {
    count += (await limits.consume('a', 6_000, clock.monotonicMs())).allowed ? 1 : 0
    clock.skip(7.4)
  }
  t.equal(count, 3_000)
})
