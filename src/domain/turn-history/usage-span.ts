/** The spans over which operators and members see sums of turns. */
import type { UsageQuery } from './turn-history.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Steps and their number. Each span ends now, in a step that is not over. */
const spans = {
  day: { step: 'hour', steps: 24, stepMs: hourMs },
  week: { step: 'day', steps: 7, stepMs: dayMs },
  month: { step: 'day', steps: 30, stepMs: dayMs },
} as const
export type UsageSpan = keyof typeof spans
export const usageSpans = Object.keys(spans) as readonly UsageSpan[]

/** The hours of the last day, or the days of the last week or month. */
export function toUsageSpan(span: UsageSpan, now: number): Pick<UsageQuery, 'from' | 'to' | 'step'> {
  const { step, steps, stepMs } = spans[span]
  return { from: now - (steps - 1) * stepMs, to: now + 1, step }
}
