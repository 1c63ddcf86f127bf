/** The sums of a report are those of the ledger, exactly, however they are grouped, and the same in both stores. */
import { join } from 'node:path'
import type { Test } from 'tap'
import t from 'tap'
import { createCalendar } from '../../../../src/domain/billing/period.ts'
import { addSums, mergeDays, reportDimensions, zeroSums } from '../../../../src/domain/billing/report.ts'
import type { ReportDimension, ReportQuery, ReportRow, ReportSums } from '../../../../src/domain/billing/report.ts'
import type { Store } from '../../../../src/domain/store.ts'
import { openLedger } from '../../../../src/store/postgres/open-ledger.ts'
import type { Database } from '../../../../src/store/database.ts'
import { toBucketRows } from '../../../../src/store/ledger/account-balance.ts'
import { providePostgres } from '../../../support/servers/postgres/postgres.ts'
import {
  addAccount,
  createReserveOrder,
  createSettleOrder,
  noon,
  reserveHold,
  toAccountId,
} from '../../../support/store/contract/store-contract.ts'
import { createTestSchema, openTestStore } from '../postgres/test-store.ts'
import { createTemporaryFolder, openStoreAt } from '../../../support/store/sqlite/support.ts'
import { runLedgerScenario } from './ledger-scenario.ts'

const calendar = createCalendar('America/St_Johns')

async function listRows(store: Store, query: ReportQuery): Promise<readonly ReportRow[]> {
  const rows: ReportRow[] = []
  for await (const row of mergeDays(store.ledger.report(query), calendar)) rows.push(row)
  return rows
}

const addAll = (rows: readonly ReportRow[]): ReportSums => rows.reduce((sum, { sums }) => addSums(sum, sums), zeroSums)

/** Independent of the turn log: what the accounts' balances say was settled. `carried` credits were used before. */
async function sumBalances({ read, readAccountBalance }: Database, carried: number): Promise<bigint> {
  const accounts = await read.selectFrom('account').select('id').execute()
  const balances = await Promise.all(accounts.map(({ id }) => readAccountBalance(id)))
  const current = balances.flatMap((balance) => (balance === undefined ? [] : toBucketRows(balance)))
  const archived = await read.selectFrom('bucket').select(['settled', 'window']).execute()
  const days = [...current, ...archived].filter(({ window }) => window === 'day')
  const packs = await read.selectFrom('pack').select('settled').execute()
  return [...days, ...packs].reduce((sum, { settled }) => sum + BigInt(settled), 0n) - BigInt(carried)
}

async function assertExact(t: Test, store: Store, db: Database): Promise<readonly ReportRow[]> {
  const [total] = await listRows(store, { by: [] })
  if (total === undefined) throw new Error('a report without dimensions has one row')
  t.equal(total.sums.credits, await sumBalances(db, 5), 'credits are what the balances say was settled')
  const usage = await db.read.selectFrom('usage_sum').selectAll().execute()
  const sumUsage = (name: 'turns' | 'failed' | 'credits' | 'input_tokens' | 'cached_input_tokens' | 'output_tokens'): bigint =>
    usage.reduce((sum, row) => sum + BigInt(row[name]), 0n)
  t.match(
    total.sums,
    {
      turns: sumUsage('turns'),
      failed: sumUsage('failed'),
      credits: sumUsage('credits'),
      inputTokens: sumUsage('input_tokens'),
      cachedInputTokens: sumUsage('cached_input_tokens'),
      outputTokens: sumUsage('output_tokens'),
    },
    'all sums are those that members see',
  )
  const turns = await store.ledger.turns({ limit: 10_000 })
  const cost = turns.reduce((sum, turn) => sum + BigInt(turn.upstreamCostNanodollars ?? 0), 0n)
  t.equal(total.sums.cost, cost)
  const known = turns.filter((turn) => turn.upstreamCostNanodollars !== null)
  t.equal(total.sums.margin, known.reduce((sum, turn) => sum + BigInt(turn.credits) * 1000n, 0n) - cost)
  t.equal(total.sums.turnsWithoutCost, BigInt(turns.filter((turn) => turn.state === 'settled').length - known.length))
  const combinations: readonly (readonly ReportDimension[])[] = [
    ...reportDimensions.map((name) => [name]),
    ['day', 'account', 'product'],
    [...reportDimensions],
  ]
  for (const by of combinations) t.same(addAll(await listRows(store, { by })), total.sums, `by ${by.join()}`)
  const middle = turns[Math.floor(turns.length / 2)]?.startedAt ?? 0
  const [before, after] = [
    await listRows(store, { by: ['key'], to: middle }),
    await listRows(store, { by: ['key'], from: middle }),
  ]
  t.same(addSums(addAll(before), addAll(after)), total.sums, 'two ranges that meet have every turn once')
  t.ok(addAll(before).turns > 0n && addAll(after).turns > 0n)
  return listRows(store, { by: [...reportDimensions] })
}

const postgres = await providePostgres(t, createTestSchema)

if (postgres !== undefined)
  t.test('the sums of every report equal the ledger in both stores, after failures, refunds, packs and debts', async (t) => {
    const seed = Number(process.env['LEDGER_SEED'] ?? Date.now() % 2 ** 31)
    t.comment(`LEDGER_SEED=${seed}`)
    const sqlite = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'), { role: 'server' })
    const shared = await openTestStore(t, await postgres.createDatabase(t), { ledger: openLedger })
    const rows = []
    for (const store of [sqlite, shared]) {
      await runLedgerScenario(store, seed, 700, { prunes: false })
      const found = await assertExact(t, store, store.database)
      rows.push(
        found
          .map((row) => JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value)))
          .toSorted(),
      )
    }
    t.same(rows[1], rows[0], 'both stores report the same')
  })

t.test('the list price of a turn is its tokens before the discount, and never below what was charged', async (t) => {
  const store = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'))
  await addAccount(store)
  const price = { input: 1_000, cachedInput: 100, output: 3_000, discountPercent: 50 }
  const settle = async (credits: number, tokens: { input: number; cachedInput?: number; output: number }) => {
    const reservation = await store.ledger.reserve(createReserveOrder({ amount: 500, minAmount: 500, price }))
    if (reservation.kind !== 'held') throw new Error(reservation.kind)
    await store.ledger.settle({ ...createSettleOrder(reservation.hold.id, credits), tokens })
  }
  await settle(80, { input: 100, cachedInput: 40, output: 30 })
  t.match(await listRows(store, { by: [] }), [{ sums: { listPrice: BigInt(60 * 1_000 + 40 * 100 + 30 * 3_000) } }])
  await settle(400, { input: 1, output: 0 })
  t.match(await listRows(store, { by: [] }), [{ sums: { listPrice: BigInt(154_000 + 400_000) } }], 'a flat price')
})

t.test('a turn belongs to the day in which it began, in the zone of the calendar', async (t) => {
  const store = await openStoreAt(t, join(createTemporaryFolder(t), 'store.db'))
  await addAccount(store)
  await addAccount(store, 2)
  const { day } = calendar.getPeriods(noon)
  for (const [at, account] of [
    [day.start - 1, 1],
    [day.start, 1],
    [day.end - 1, 2],
    [day.end - 1, 2],
    [day.end, 1],
  ] as const)
    await store.ledger.settle(
      createSettleOrder((await reserveHold(store, { at, amount: 10, account: toAccountId(account) })).id, account, at),
    )
  const rows = await listRows(store, { by: ['day', 'account'] })
  t.same(
    rows.map((row) => [row.day?.start, row.group.account, row.sums.credits]),
    [
      [calendar.getPeriods(day.start - 1).day.start, toAccountId(1), 1n],
      [day.start, toAccountId(2), 4n],
      [day.start, toAccountId(1), 1n],
      [day.end, toAccountId(1), 1n],
    ],
  )
})
