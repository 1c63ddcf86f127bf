/** Charts from sums: of all accounts by hour or day, and of one account by its hours. */
import type { Kysely, Selectable } from 'kysely'
import { LatencyHistogram } from '../../../domain/turn-history/latency-histogram.ts'
import type { TurnEnding, TurnRoute, UsageChart, UsageQuery, UsageTotals } from '../../../domain/turn-history/turn-history.ts'
import type { UsageSteps } from '../../../domain/turn-history/turn-history-store.ts'
import type { TurnGroupTable, TurnSumTable } from '../../schema/history-schema.ts'
import type { Schema } from '../../schema/schema.ts'
import { isChargedEnding, isGrouped, readGroups } from './read-groups.ts'

/** Rows between two turns of the event loop. */
const rowsPerSlice = 2_000

export async function readHistoryUsage(read: Kysely<Schema>, query: UsageQuery, { bounds }: UsageSteps): Promise<UsageChart> {
  const { account, credential, by } = query
  const groups = await readGroups(read, query)
  const isOfAccount = account !== undefined
  let select = read
    .selectFrom('turn_sum')
    .selectAll()
    .where('account', '=', account ?? '')
    .where('span', '=', isOfAccount ? 'hour' : query.step)
    .where('starts_at', '>=', bounds[0] ?? 0)
    .where('starts_at', '<', bounds.at(-1) ?? 0)
    .orderBy('starts_at')
  if (credential !== undefined) select = select.where('credential', '=', credential)
  if (isGrouped(query)) select = select.where('group_id', 'in', groups.size === 0 ? [-1] : [...groups.keys()])
  const series = new Map<string, readonly UsageSum[]>()
  const routes = new Map<string, TurnRoute>()
  let step = 0
  for (const [index, row] of (await select.execute()).entries()) {
    const group = groups.get(row.group_id)
    if (group === undefined) continue
    while (row.starts_at >= (bounds[step + 1] ?? Number.POSITIVE_INFINITY)) step += 1
    const key = toSeriesKey(by, row, group)
    let points = series.get(key)
    if (points === undefined) {
      points = bounds.slice(1).map(() => new UsageSum())
      if (by === 'route') routes.set(key, { product: group.product, target: group.target === '' ? null : group.target })
      series.set(key, points)
    }
    points[step]?.add(row, group, query.ending !== undefined || group.ending === 'completed')
    if (index % rowsPerSlice === rowsPerSlice - 1) await new Promise(setImmediate)
  }
  const total = new UsageSum()
  const all = [...series].map(([key, points]) => {
    const ofSeries = new UsageSum()
    for (const point of points) ofSeries.addSum(point)
    total.addSum(ofSeries)
    const route = routes.get(key)
    const series = { key, total: ofSeries.toTotals(), points: points.map((point) => point.toTotals()) }
    return route === undefined ? series : { ...series, route }
  })
  return {
    bounds,
    total: total.toTotals(),
    series: all.toSorted((one, other) => other.total.turns - one.total.turns || (one.key < other.key ? -1 : 1)),
  }
}

function toSeriesKey(by: UsageQuery['by'], { credential }: Selectable<TurnSumTable>, group: TurnGroupTable): string {
  if (by === undefined) return ''
  if (by === 'credential') return credential
  return by === 'route' ? JSON.stringify([group.product, group.target]) : group[by]
}

class UsageSum {
  #turns = 0
  #charged = 0
  #credits = 0
  #inputTokens = 0
  #cachedInputTokens = 0
  #outputTokens = 0
  #cost = 0
  readonly #endings = new Map<TurnEnding, number>()
  #duration: LatencyHistogram | undefined
  #firstToken: LatencyHistogram | undefined

  add(row: Selectable<TurnSumTable>, { ending }: TurnGroupTable, hasLatency: boolean): void {
    this.#turns += row.turns
    if (isChargedEnding(ending)) this.#charged += row.turns
    this.#credits += row.credits
    this.#inputTokens += row.input_tokens
    this.#cachedInputTokens += row.cached_input_tokens
    this.#outputTokens += row.output_tokens
    this.#cost += row.cost_nanodollars
    this.#endings.set(ending, (this.#endings.get(ending) ?? 0) + row.turns)
    if (!hasLatency) return
    ;(this.#duration ??= new LatencyHistogram()).addText(row.duration)
    ;(this.#firstToken ??= new LatencyHistogram()).addText(row.first_token)
  }

  addSum(other: UsageSum): void {
    this.#turns += other.#turns
    this.#charged += other.#charged
    this.#credits += other.#credits
    this.#inputTokens += other.#inputTokens
    this.#cachedInputTokens += other.#cachedInputTokens
    this.#outputTokens += other.#outputTokens
    this.#cost += other.#cost
    for (const [ending, turns] of other.#endings) this.#endings.set(ending, (this.#endings.get(ending) ?? 0) + turns)
    if (other.#duration !== undefined) (this.#duration ??= new LatencyHistogram()).add(other.#duration)
    if (other.#firstToken !== undefined) (this.#firstToken ??= new LatencyHistogram()).add(other.#firstToken)
  }

  toTotals(): UsageTotals {
    return {
      turns: this.#turns,
      charged: this.#charged,
      failed: this.#turns - this.#charged,
      credits: this.#credits,
      inputTokens: this.#inputTokens,
      cachedInputTokens: this.#cachedInputTokens,
      outputTokens: this.#outputTokens,
      costNanodollars: this.#cost,
      endings: Object.fromEntries([...this.#endings].toSorted(([, one], [, other]) => other - one)),
      duration: this.#duration?.toPercentiles() ?? null,
      firstToken: this.#firstToken?.toPercentiles() ?? null,
    }
  }
}
