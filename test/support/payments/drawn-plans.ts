/** Plans of a configuration that a seed decides. */
import type { Plan } from '../../../src/domain/billing/catalog/plan.ts'
import type { createRandom } from '../../simulated/random.ts'
import { createPlan } from '../gateway/test-plans.ts'

/** A configuration: each plan has other credits, speed, prices, or is not offered. */
export function drawPlans(random: ReturnType<typeof createRandom>): Readonly<Record<string, Plan>> {
  const configured: Record<string, Plan> = {}
  for (const [id, credits] of [
    ['free', 100],
    ['team', 8_000],
    ['pro', 10_000],
    ['max', 100_000],
  ] as const) {
    if (id !== 'free' && random.isOne(0.12)) continue
    const amount = 20 + random.below(20)
    configured[id] = createPlan(id, credits + Math.floor((credits * random.below(9)) / 10), {
      rpm: 40 + 10 * random.below(4),
      concurrency: 2 + random.below(4),
      prices:
        id === 'free'
          ? []
          : [
              { amount, currency: 'EUR', interval: 'month', multiplier: null },
              { amount: amount * 10, currency: 'EUR', interval: 'year', multiplier: null },
            ],
    })
  }
  return configured
}
