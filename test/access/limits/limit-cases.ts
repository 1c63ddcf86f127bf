/** What every place where requests a minute are counted must do alike. Each has subjects of its own at each `make`, and goes by the ticks it is given. */
import * as fc from 'fast-check'
import type { Test } from 'tap'
import type { RateDecision } from '../../../src/access/limits/limits.ts'

export interface Counted {
  take(subject: string, perMinute: number, ticks: number): RateDecision | Promise<RateDecision>
}

export interface CaseOptions {
  /** Each take costs a trip: fewer of them show the same. */
  readonly isFar?: boolean
}

export function limitCases(t: Test, kind: string, make: () => Counted, { isFar = false }: CaseOptions = {}): void {
  const test = (promise: string, run: (t: Test) => Promise<void>): void => void t.test(`${kind}: ${promise}`, run)

  test('a minute may be spent at once, and comes back evenly', async (t) => {
    const limiter = make()
    for (let i = 0; i < 60; i++) t.ok((await limiter.take('a', 60, 0)).allowed)
    const refused = await limiter.take('a', 60, 0)
    t.match(refused, { allowed: false, limit: 60, remaining: 0, retryAfterMs: 1_000, resetMs: 60_000 })
    t.notOk((await limiter.take('a', 60, 999)).allowed)
    t.ok((await limiter.take('a', 60, 1_000)).allowed)
    t.notOk((await limiter.take('a', 60, 1_000)).allowed)
    t.ok((await limiter.take('b', 60, 1_000)).allowed, 'each subject has its own')
  })

  test('who asks at once gets as many as who asks one after another, each with his own rest', async (t) => {
    const limiter = make()
    const decisions = await Promise.all(Array.from({ length: 30 }, () => limiter.take('a', 20, 0)))
    t.same(
      decisions.map(({ allowed, remaining }) => (allowed ? remaining : -1)),
      Array.from({ length: 30 }, (_, i) => Math.max(-1, 19 - i)),
    )
  })

  test('over any stretch of time no more get in than the limit says', async (t) => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 300 }),
        fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: isFar ? 60 : 300 }),
        async (perMinute, gaps) => {
          const limiter = make()
          const admitted: number[] = []
          let now = 1_000_000
          for (const gap of gaps) {
            now += gap
            const decision = await limiter.take('a', perMinute, now)
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
      { numRuns: isFar ? 20 : 200 },
    )
    t.pass()
  })

  test('a refusal costs nothing: asking again does not put the end off', async (t) => {
    const limiter = make()
    await limiter.take('a', 1, 0)
    for (let now = 0; now < 60_000; now += 1_000) t.notOk((await limiter.take('a', 1, now)).allowed)
    t.ok((await limiter.take('a', 1, 60_000)).allowed)
  })

  test('every limit admits exactly itself at once, and exactly itself a minute after, at any fraction of a tick', async (t) => {
    const wrong: string[] = []
    for (let perMinute = 1; perMinute <= 1_000; perMinute += isFar ? 331 : 1) {
      const limiter = make()
      // Clocks have fractions; a start that is no whole millisecond must not cost anybody a request.
      for (const at of [1_234.567_8, 61_234.567_8]) {
        let admitted = 0
        const asked: Promise<RateDecision>[] = []
        for (let i = 0; i <= perMinute; i++) {
          const decision = limiter.take('a', perMinute, at)
          // A million promises for what is known at once would take longer than all else.
          if (decision instanceof Promise) asked.push(decision)
          else if (decision.allowed) admitted++
        }
        for (const { allowed } of await Promise.all(asked)) if (allowed) admitted++
        if (admitted !== perMinute) wrong.push(`${perMinute}: ${admitted} at ${at}`)
      }
    }
    t.same(wrong, [])
  })

  test('who waits as long as he is told gets in, and a moment before he does not', async (t) => {
    for (const perMinute of [1, 7, 11, 59, 60, 61, 300, 997]) {
      const limiter = make()
      await Promise.all(Array.from({ length: perMinute }, () => limiter.take('a', perMinute, 500)))
      const { retryAfterMs } = await limiter.take('a', perMinute, 500)
      t.notOk((await limiter.take('a', perMinute, 500 + retryAfterMs - 1)).allowed, `${perMinute} a minute: too early`)
      t.ok((await limiter.take('a', perMinute, 500 + retryAfterMs)).allowed, `${perMinute} a minute: in time`)
    }
  })

  test('another plan counts what was used under the one before', async (t) => {
    const limiter = make()
    for (let i = 0; i < 10; i++) await limiter.take('a', 10, 0)
    t.notOk((await limiter.take('a', 10, 0)).allowed)
    t.equal((await limiter.take('a', 60, 0)).remaining, 49, 'ten of sixty are used')
    const smaller = await limiter.take('a', 5, 0)
    t.notOk(smaller.allowed)
    t.equal(smaller.resetMs, 60_000, 'never more than a minute')
    t.ok((await limiter.take('a', 5, 12_000)).allowed, 'and paid back by the limit he has now')
  })
}
