/** Requests per minute in PostgreSQL: the contract, and several nodes at once without a deadlock. */
import { Pool } from 'pg'
import t from 'tap'
import { decide } from '../../../../src/access/limits/limits.ts'
import type { RateDecision } from '../../../../src/access/limits/limits.ts'
import { databaseClock, buildLimitStatement, createPostgresRateLimitStore } from '../../../../src/access/limits/postgres.ts'
import type { RunQuery } from '../../../../src/access/limits/postgres.ts'
import { postgresTables } from '../../../../src/store/migrations/0001-initial/postgres-tables.ts'
import { providePostgres } from '../../../support/servers/postgres/postgres.ts'
import { testRateLimitContract } from './rate-limit-contract.ts'

const table = postgresTables.find((statement) => statement.includes('table limit_time')) ?? ''

const postgres = await providePostgres(t, async () => undefined)
if (postgres !== undefined) {
  const url = await postgres.createDatabase(t)
  const pool = new Pool({ connectionString: url, max: 6 })
  pool.on('error', () => undefined)
  t.teardown(() => pool.end())
  await pool.query(`${table}; create unlogged table clock (now bigint); insert into clock values (0)`)
  const query: RunQuery = (text, values) => pool.query(text, [...values])
  let made = 0
  let now = -1

  const ofTests = createPostgresRateLimitStore(query, { monotonicMs: () => 0 }, buildLimitStatement('(select now from clock)'))
  testRateLimitContract(
    t,
    'PostgreSQL',
    () => {
      const mine = `${++made} `
      let before = Promise.resolve()
      const at = async (ticks: number): Promise<void> => {
        if (ticks !== now) await pool.query('update clock set now = $1', [Math.floor(ticks) + 1_800_000_000_000])
        now = ticks
      }
      return {
        restore: (subject, perMinute) => ofTests.consume([{ subject: mine + subject, perMinute, count: -1 }]),
        async consume(subject, perMinute, ticks): Promise<RateDecision> {
          // Sequentially, as the contract's cases require.
          const mineNow = before.then(async () => {
            await at(ticks)
            const [used = NaN] = await ofTests.consume([{ subject: mine + subject, perMinute, count: 1 }])
            return decide(used, perMinute)
          })
          before = mineNow.then(() => undefined)
          return mineNow
        },
      }
    },
    { isRemote: true },
  )

  t.test('six nodes with the same subjects in any order together get exactly the limits', async (t) => {
    const store = createPostgresRateLimitStore(query, { monotonicMs: () => 0 })
    const subjects = Array.from({ length: 20 }, (_, i) => `acc_${i}`)
    const admitted = new Map<string, number>()
    const began = performance.now()
    const node = async (seed: number): Promise<void> => {
      for (let round = 0; round < 20; round++) {
        const requests = subjects
          .toSorted((one, other) => ((one.length * 7 + seed + round) % 3) - ((other.length * 5 + round) % 3))
          .map((subject) => ({ subject, perMinute: 60, count: 5 }))
        const used = await store.consume(requests)
        for (const [i, { subject, count }] of requests.entries()) {
          const room = 60 - Math.ceil((used[i] ?? NaN) / 60_000)
          admitted.set(subject, (admitted.get(subject) ?? 0) + Math.min(count, room))
        }
      }
    }
    await Promise.all([1, 2, 3, 4, 5, 6].map(node))
    const back = (performance.now() - began) / 1_000
    t.same(
      [...admitted].filter(([, count]) => count < 60 || count > 60 + back + 1),
      [],
    )
  })

  t.test('sweeps subjects that were idle for a minute', async (t) => {
    await pool.query(`update limit_time set at = ${databaseClock} - 60001`)
    let ticks = 0
    const store = createPostgresRateLimitStore(query, { monotonicMs: () => ticks })
    ticks = 60_000
    await store.consume([{ subject: 'new', perMinute: 1, count: 1 }])
    let left = NaN
    for (let tries = 0; tries < 200 && left !== 1; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      left = Number((await pool.query('select count(*) from limit_time')).rows[0].count)
    }
    t.equal(left, 1)
  })
}
