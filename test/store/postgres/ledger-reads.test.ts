/** What is asked of the ledger without changing it, on rows that stand there: the log, what is left, used days. */
import { Client } from 'pg'
import t from 'tap'
import type { Test } from 'tap'
import type { TurnQuery } from '../../../src/membership/ledger.ts'
import { calendarOf } from '../../../src/membership/period.ts'
import { postgresFor } from '../../support/postgres.ts'
import { accountId, addAccount, limits, noon } from '../contract.ts'
import { furnish, openOn } from './support.ts'

const day = 86_400_000
const periods = calendarOf('UTC').at(noon)

const postgres = await postgresFor(t, furnish)

if (postgres !== undefined) {
  const ground = async (t: Test) => {
    const url = await postgres.database(t)
    const store = await openOn(t, url)
    await addAccount(store, 1)
    await addAccount(store, 2)
    const client = new Client({ connectionString: url })
    await client.connect()
    t.teardown(() => client.end())
    return { store, client }
  }

  t.test('the log is told newest first, of all accounts and of one, and one account’s by its index', async (t) => {
    const { store, client } = await ground(t)
    await client.query(
      `insert into turn (id, request_id, account, model, pool, state, owner, until, started_at, ended_at, reserved, reserved_plan, day_bucket,
        week_bucket, month_bucket, credits, debt, price_input, price_output, discount_percent, input_tokens, output_tokens, estimated)
      select id, 'mbr_' || id, case id % 2 when 0 then $1 else $2 end, 'svc', 'fast', case when id > 4 then 'held' else 'settled' end, 1, 0, $3 + id,
        case when id > 4 then null else $3 + id end, 10, 10, 1, 2, 3, 0, 0, 1, 1, 0, 5, 6, 0 from generate_series(1::bigint, 6) as id`,
      [accountId(1), accountId(2), noon],
    )
    const ids = async (query: Partial<TurnQuery>) =>
      (await store.ledger.turns({ limit: 10, ...query })).map(({ id }) => id).join('')
    t.equal(await ids({}), '654321')
    t.equal(await ids({ account: accountId(1) }), '642')
    t.equal(await ids({ account: accountId(2), limit: 2 }), '53')
    t.equal(await ids({ account: accountId(2), before: 5 }), '31')
    t.equal(await ids({ state: 'held' }), '65')
    t.equal(await ids({ since: noon + 5 }), '65')
    t.match((await store.ledger.turns({ limit: 1 }))[0], { requestId: 'mbr_6', inputTokens: 5, endedAt: null, estimated: false })
    // In a table of six rows reading them all is cheapest.
    await client.query('set enable_seqscan = off')
    const { rows } = await client.query(
      `explain (costs off) select * from turn where account = 'a' and id < 9 order by id desc limit 5`,
    )
    t.match(rows.map((row) => row['QUERY PLAN']).join('\n'), /^Limit\n *->  Index Scan Backward using turn_key/)
  })

  t.test('what is left, and what was used on which day, follow from the purse and what was put away', async (t) => {
    const { store, client } = await ground(t)
    const { start, end } = periods.day
    await client.query(
      `insert into purse (account, seq, hash, fast_day_id, fast_day_starts_at, fast_day_ends_at, fast_day_granted, fast_day_settled, fast_day_reserved)
      values ($1, 1, decode(repeat('00', 16), 'hex'), 4, $2, $3, 1000, 40, 60)`,
      [accountId(1), start, end],
    )
    await client.query(
      `insert into bucket (account, id, pool, "window", starts_at, ends_at, granted, reserved, settled, debt)
      values ($1, 1, 'fast', 'day', $2, $3, 1000, 0, 30, 0)`,
      [accountId(1), start - day, start],
    )
    await client.query(
      `insert into pack (id, account, kind, pool, granted, reserved, settled, expires_at, created_at) values ('pack', $1, 'grant', 'fast', 50, 0, 5, $2, 0)`,
      [accountId(1), end],
    )
    const balance = await store.ledger.balance({
      account: accountId(1),
      at: noon,
      periods,
      limits: { fast: limits, premium: limits },
    })
    t.match(
      balance.pools.find(({ pool, window }) => pool === 'fast' && window === 'day'),
      { used: 40, reserved: 60, remaining: 900, resetsAt: end },
    )
    t.match(balance.packs, [{ id: 'pack', granted: 50, settled: 5 }])
    t.same(await store.days.since(accountId(1), start - 2 * day), [
      { period: { start: start - day, end: start }, pool: 'fast', used: 30 },
      { period: { start, end }, pool: 'fast', used: 40 },
    ])
    t.same(await store.days.since(accountId(2), 0), [])
  })
}
