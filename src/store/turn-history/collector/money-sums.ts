/** Adds ended turns to the sums of what they cost and brought, by quarter of an hour, plan and product. Days of any time zone are made of these. */
import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import type { ReportQuery, ReportSlot } from '../../../domain/billing/report.ts'
import type { MoneyQuery } from '../../../domain/turn-history/turn-history.ts'
import { usageSlotMs } from '../../ledger/usage-sum.ts'
import { toReportSlot } from '../../repositories/billing/report.ts'
import type { ReportRecord } from '../../repositories/billing/report.ts'
import type { TurnMoneyTable } from '../../schema/history-schema.ts'
import type { Schema } from '../../schema/schema.ts'
import type { EndedTurn } from './ended-turn.ts'
import type { JsonRow } from '../json-rows.ts'

const keyColumns = { starts_at: 'whole', plan: 'text', product: 'text' } as const

const sumColumns = {
  turns: 'whole',
  failed: 'whole',
  input_tokens: 'whole',
  cached_input_tokens: 'whole',
  output_tokens: 'whole',
  credits: 'whole',
  list_price: 'whole',
  cost: 'whole',
  margin: 'whole',
  turns_without_cost: 'whole',
} as const
const sumNames = Object.keys(sumColumns) as readonly (keyof typeof sumColumns)[]

/** The sums of a report by the name that it gives them. */
const reportNames = {
  turns: 'turns',
  failed: 'failed',
  inputTokens: 'input_tokens',
  cachedInputTokens: 'cached_input_tokens',
  outputTokens: 'output_tokens',
  credits: 'credits',
  listPrice: 'list_price',
  cost: 'cost',
  margin: 'margin',
  turnsWithoutCost: 'turns_without_cost',
} as const

type MoneySum = { -readonly [Name in keyof TurnMoneyTable]: TurnMoneyTable[Name] }

export const moneyColumns = { ...keyColumns, ...sumColumns } as const

/** Follows the insertion of rows: what is stored grows by them. */
export const addMoney = sql`on conflict (starts_at, plan, product) do update set ${sql.join(
  sumNames.map((name) => sql`${sql.ref(name)} = ${sql.ref(`turn_money.${name}`)} + excluded.${sql.ref(name)}`),
)}`

/** Rows of `moneyColumns`, in the order of the key, so that statements of several nodes cannot block each other. */
export function sumMoney(turns: readonly EndedTurn[]): readonly JsonRow[] {
  const sums = new Map<string, MoneySum>()
  for (const turn of turns) {
    const key = JSON.stringify([turn.started_at - (turn.started_at % usageSlotMs), turn.plan, turn.model])
    const sum = sums.get(key) ?? createSum(turn)
    sums.set(key, sum)
    addTurn(sum, turn)
  }
  return [...sums.values()]
    .toSorted(
      (one, other) => one.starts_at - other.starts_at || compare(one.plan, other.plan) || compare(one.product, other.product),
    )
    .map((row) => [row.starts_at, row.plan, row.product, ...sumNames.map((name) => row[name])])
}

/** Sums of the quarters from `from` to `to`, oldest first. */
export async function readMoneySums(
  read: Kysely<Schema>,
  { by, from, to, plan, product }: MoneyQuery,
): Promise<readonly ReportSlot[]> {
  const names = by.map((name) => (name === 'day' ? sql.ref('starts_at') : sql.ref(name)))
  const columns = by.map((name, index) => sql`${names[index]} as ${sql.ref(name)}`)
  const sums = Object.entries(reportNames).map(
    ([name, column]) => sql`cast(coalesce(sum(${sql.ref(column)}), 0) as text) as ${sql.ref(name)}`,
  )
  const { rows } = await sql<ReportRecord>`select ${sql.join([...columns, ...sums])} from turn_money
    where starts_at >= ${from} and starts_at < ${to} ${plan === undefined ? sql`` : sql`and plan = ${plan}`}
      ${product === undefined ? sql`` : sql`and product = ${product}`}
    ${names.length === 0 ? sql`` : sql`group by ${sql.join(names)} order by ${sql.join(names)}`}`.execute(read)
  const query: ReportQuery = { by }
  return rows.map((row) => toReportSlot(query, row))
}

function createSum({ started_at: startedAt, model, plan }: EndedTurn): MoneySum {
  const zeros = Object.fromEntries(sumNames.map((name) => [name, 0])) as unknown as Pick<MoneySum, keyof typeof sumColumns>
  return { starts_at: startedAt - (startedAt % usageSlotMs), plan, product: model, ...zeros }
}

/** As the report of the ledger computes each (`repositories/billing/report.ts`). */
function addTurn(sum: MoneySum, turn: EndedTurn): void {
  const isCharged = turn.state === 'settled'
  const cost = turn.upstream_cost_nanodollars
  const chargedPrice = turn.credits * 1000
  const uncachedTokens = turn.input_tokens - turn.cached_input_tokens
  const listPrice =
    uncachedTokens * turn.price_input +
    turn.cached_input_tokens * (turn.price_cached_input ?? turn.price_input) +
    turn.output_tokens * turn.price_output
  sum.turns += isCharged ? 1 : 0
  sum.failed += isCharged ? 0 : 1
  sum.input_tokens += turn.input_tokens
  sum.cached_input_tokens += turn.cached_input_tokens
  sum.output_tokens += turn.output_tokens
  sum.credits += turn.credits
  sum.list_price += Math.max(listPrice, chargedPrice)
  sum.cost += cost ?? 0
  sum.margin += cost === null ? 0 : chargedPrice - cost
  sum.turns_without_cost += isCharged && turn.target !== null && cost === null ? 1 : 0
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}
