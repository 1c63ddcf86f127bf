/** Requests a minute in PostgreSQL: counted as everywhere, and by several nodes at once without a deadlock. */
import { Pool } from 'pg'
import t from 'tap'
import { decide } from '../../../src/access/limits/limits.ts'
import type { RateDecision } from '../../../src/access/limits/limits.ts'
import { databaseClock, limitStatement, postgresBook } from '../../../src/access/limits/postgres.ts'
import type { Query } from '../../../src/access/limits/postgres.ts'
import { clusterTables } from '../../../src/store/postgres/schema-cluster.ts'
import { postgresFor } from '../../support/postgres.ts'
import { limitCases } from './limit-cases.ts'

/** Of all of the schema the one table. */
const table = /create unlogged table limit_time[^;]*;/.exec(clusterTables)?.[0] ?? ''

const postgres = await postgresFor(t, async () => undefined)
if (postgres !== undefined) {
  const url = await postgres.database(t)
  const pool = new Pool({ connectionString: url, max: 6 })
  pool.on('error', () => undefined)
  t.teardown(() => pool.end())
  await pool.query(`${table} create unlogged table clock (now bigint); insert into clock values (0)`)
  const query: Query = (text, values) => pool.query(text, [...values])
  let made = 0
  let now = -1

  const ofTests = postgresBook(query, { ticks: () => 0 }, limitStatement('(select now from clock)'))
  limitCases(
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
        async take(subject, perMinute, ticks): Promise<RateDecision> {
          // One after another, as the table of cases means it.
          const mineNow = before.then(async () => {
            await at(ticks)
            const [used = NaN] = await ofTests.take([{ subject: mine + subject, perMinute, count: 1 }])
            return decide(used, perMinute)
          })
          before = mineNow.then(() => undefined)
          return mineNow
        },
      }
    },
    { isFar: true },
  )

  t.test('six nodes that ask for the same subjects in any order get together what the limits say', async (t) => {
    const book = postgresBook(query, { ticks: () => 0 })
    const subjects = Array.from({ length: 20 }, (_, i) => `acc_${i}`)
    const admitted = new Map<string, number>()
    const began = performance.now()
    const node = async (seed: number): Promise<void> => {
      for (let round = 0; round < 20; round++) {
        const asks = subjects
          .toSorted((one, other) => ((one.length * 7 + seed + round) % 3) - ((other.length * 5 + round) % 3))
          .map((subject) => ({ subject, perMinute: 60, count: 5 }))
        const used = await book.take(asks)
        for (const [i, { subject, count }] of asks.entries()) {
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

  t.test('who has not asked for a minute is swept out', async (t) => {
    await pool.query(`update limit_time set at = ${databaseClock} - 60001`)
    let ticks = 0
    const book = postgresBook(query, { ticks: () => ticks })
    ticks = 60_000
    await book.take([{ subject: 'new', perMinute: 1, count: 1 }])
    let left = NaN
    for (let tries = 0; tries < 200 && left !== 1; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      left = Number((await pool.query('select count(*) from limit_time')).rows[0].count)
    }
    t.equal(left, 1)
  })
}
