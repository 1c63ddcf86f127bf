/** Groups sums of usage by day and by one of the dimensions that members choose from. */
import type { UsageSum } from './usage.ts'

type UsageDimension = 'tier' | 'model' | 'key' | 'api_format'

interface UsageTotals {
  turns: number
  failed: number
  credits: number
  input_tokens: number
  cached_input_tokens: number
  output_tokens: number
}

interface UsageGroup extends UsageTotals {
  readonly id: string
  readonly name: string | null
  readonly credits_by_day: number[]
}

/** `days`: when each begins, ascending; sums from before the first are left out. `names`: of keys. */
export function groupUsage(
  sums: readonly UsageSum[],
  days: readonly number[],
  by: UsageDimension,
  names: ReadonlyMap<string, string>,
): { readonly total: UsageTotals; readonly groups: readonly UsageGroup[] } {
  const total = createTotals()
  const groups = new Map<string, UsageGroup>()
  for (const sum of sums) {
    const day = days.findLastIndex((startsAt) => startsAt <= sum.startsAt)
    if (day === -1) continue
    const id = pickDimension[by](sum)
    const group = groups.get(id) ?? { ...createTotals(), id, name: names.get(id) ?? null, credits_by_day: days.map(() => 0) }
    groups.set(id, group)
    addTo(total, sum)
    addTo(group, sum)
    group.credits_by_day[day] = (group.credits_by_day[day] ?? 0) + sum.credits
  }
  return { total, groups: [...groups.values()].toSorted((one, other) => other.credits - one.credits || other.turns - one.turns) }
}

const pickDimension: Readonly<Record<UsageDimension, (sum: UsageSum) => string>> = {
  tier: ({ pool }) => pool,
  model: ({ model }) => model,
  key: ({ credential }) => credential,
  api_format: ({ apiFormat }) => apiFormat,
}

function createTotals(): UsageTotals {
  return { turns: 0, failed: 0, credits: 0, input_tokens: 0, cached_input_tokens: 0, output_tokens: 0 }
}

function addTo(totals: UsageTotals, { turns, failed, credits, inputTokens, cachedInputTokens, outputTokens }: UsageSum): void {
  totals.turns += turns
  totals.failed += failed
  totals.credits += credits
  totals.input_tokens += inputTokens
  totals.cached_input_tokens += cachedInputTokens
  totals.output_tokens += outputTokens
}
