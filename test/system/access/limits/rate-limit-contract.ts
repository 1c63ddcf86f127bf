/** The contract of all request limiters. Each `make` returns one with its own subjects, driven by the given monotonic time. */
import * as fc from 'fast-check'
import type { Test } from 'tap'
import type { RateDecision } from '../../../../src/access/limits/limits.ts'

export interface RateLimitUnderTest {
  consume(subject: string, perMinute: number, monotonicMs: number): RateDecision | Promise<RateDecision>
  restore(subject: string, perMinute: number, monotonicMs: number): void | Promise<unknown>
}

export interface CaseOptions {
  /** Each request costs a round trip: fewer of them show the same. */
  readonly isRemote?: boolean
}

export function testRateLimitContract(
  t: Test,
  kind: string,
  make: () => RateLimitUnderTest,
  { isRemote = false }: CaseOptions = {},
): void {
  const test = (promise: string, run: (t: Test) => Promise<void>): void => void t.test(`${kind}: ${promise}`, run)

  test("allows a minute's worth at once and refills evenly", async (t) => {
    const limiter = make()
    for (let i = 0; i < 60; i++) t.ok((await limiter.consume('a', 60, 0)).allowed)
    const refused = await limiter.consume('a', 60, 0)
    t.match(refused, { allowed: false, limit: 60, remaining: 0, retryAfterMs: 1_000, resetMs: 60_000 })
    t.notOk((await limiter.consume('a', 60, 999)).allowed)
    t.ok((await limiter.consume('a', 60, 1_000)).allowed)
    t.notOk((await limiter.consume('a', 60, 1_000)).allowed)
    t.ok((await limiter.consume('b', 60, 1_000)).allowed, 'each subject has its own limit')
  })

  test('a request that is given back can be used again, and never more', async (t) => {
    const limiter = make()
    for (let i = 0; i < 3; i++) t.ok((await limiter.consume('a', 3, 0)).allowed)
    t.notOk((await limiter.consume('a', 3, 0)).allowed)
    await limiter.restore('a', 3, 0)
    t.ok((await limiter.consume('a', 3, 0)).allowed)
    t.notOk((await limiter.consume('a', 3, 0)).allowed)
    await limiter.restore('b', 3, 0)
    await limiter.restore('b', 3, 0)
    for (let i = 0; i < 3; i++) t.ok((await limiter.consume('b', 3, 0)).allowed)
    t.notOk((await limiter.consume('b', 3, 0)).allowed, 'not above the limit')
  })

  test('concurrent requests get as many as sequential ones, each with its own remainder', async (t) => {
    const limiter = make()
    const decisions = await Promise.all(Array.from({ length: 30 }, () => limiter.consume('a', 20, 0)))
    t.same(
      decisions.map(({ allowed, remaining }) => (allowed ? remaining : -1)),
      Array.from({ length: 30 }, (_, i) => Math.max(-1, 19 - i)),
    )
  })

  test('admits no more than the limit over any span of time', async (t) => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 300 }),
        fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: isRemote ? 60 : 300 }),
        async (perMinute, gaps) => {
          const limiter = make()
          const admitted: number[] = []
          let now = 1_000_000
          for (const gap of gaps) {
            now += gap
            const decision = await limiter.consume('a', perMinute, now)
            if (decision.allowed) admitted.push(now)
            if (decision.remaining < 0 || decision.remaining > perMinute || decision.retryAfterMs < 0 || decision.resetMs < 0)
              throw new Error(JSON.stringify(decision))
          }
          for (const [i, from] of admitted.entries()) {
            const within = admitted.slice(i).filter((at) => at < from + 60_000).length
            if (within > 2 * perMinute) throw new Error(`${within} within a minute of ${from}`)
          }
          const whole = (admitted.at(-1) ?? 0) - (admitted[0] ?? 0)
          if (admitted.length > perMinute + (whole / 60_000) * perMinute + 1) throw new Error(`${admitted.length} in ${whole} ms`)
        },
      ),
      { numRuns: isRemote ? 20 : 200 },
    )
    t.pass()
  })

  test('a refusal costs nothing: a repeated request does not extend the wait', async (t) => {
    const limiter = make()
    await limiter.consume('a', 1, 0)
    for (let now = 0; now < 60_000; now += 1_000) t.notOk((await limiter.consume('a', 1, now)).allowed)
    t.ok((await limiter.consume('a', 1, 60_000)).allowed)
  })

  test('every limit admits exactly its number at once and again a minute later, at any fraction of a millisecond', async (t) => {
    const wrong: string[] = []
    for (let perMinute = 1; perMinute <= 1_000; perMinute += isRemote ? 331 : 1) {
      const limiter = make()
      // Clocks have fractions; a start between milliseconds must not cost a request.
      for (const at of [1_234.567_8, 61_234.567_8]) {
        let admitted = 0
        const pending: Promise<RateDecision>[] = []
        for (let i = 0; i <= perMinute; i++) {
          const decision = limiter.consume('a', perMinute, at)
          // A million promises for local decisions would dominate the run time.
          if (decision instanceof Promise) pending.push(decision)
          else if (decision.allowed) admitted++
        }
        for (const { allowed } of await Promise.all(pending)) if (allowed) admitted++
        if (admitted !== perMinute) wrong.push(`${perMinute}: ${admitted} at ${at}`)
      }
    }
    t.same(wrong, [])
  })

  test('admits a request after the reported wait and refuses it a moment earlier', async (t) => {
    for (const perMinute of [1, 7, 11, 59, 60, 61, 300, 997]) {
      const limiter = make()
      await Promise.all(Array.from({ length: perMinute }, () => limiter.consume('a', perMinute, 500)))
      const { retryAfterMs } = await limiter.consume('a', perMinute, 500)
      t.notOk((await limiter.consume('a', perMinute, 500 + retryAfterMs - 1)).allowed, `${perMinute} a minute: too early`)
      t.ok((await limiter.consume('a', perMinute, 500 + retryAfterMs)).allowed, `${perMinute} a minute: in time`)
    }
  })

  test('a new plan counts the usage of the previous one', async (t) => {
    const limiter = make()
    for (let i = 0; i < 10; i++) await limiter.consume('a', 10, 0)
    t.notOk((await limiter.consume('a', 10, 0)).allowed)
    t.equal((await limiter.consume('a', 60, 0)).remaining, 49, 'ten of sixty are used')
    const smaller = await limiter.consume('a', 5, 0)
    t.notOk(smaller.allowed)
    t.equal(smaller.resetMs, 60_000, 'at most a minute')
    t.ok((await limiter.consume('a', 5, 12_000)).allowed, 'usage refills by the current limit')
  })
}
