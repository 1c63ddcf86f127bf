/** Plans for tests that need no configuration. */
import type { Plan } from '../../../src/domain/billing/catalog/plan.ts'

/** Each window of both pools has `credits`. */
export function createPlan(id: string, credits: number, change: Partial<Plan> = {}): Plan {
  const limits = { day: credits, week: credits, month: credits }
  return {
    id,
    name: id,
    prices: [{ amount: credits, currency: 'USD', interval: 'month', multiplier: null }],
    rpm: 60,
    concurrency: 4,
    pools: { fast: limits, premium: limits },
    models: 'all',
    ...change,
  }
}
