/** How many messages an amount of credits pays for: the figures that site, membership API, command and documents show beside credits. */
import type { GatewayConfig } from './config.ts'
import { windows } from '../domain/billing/catalog/plan.ts'
import type { PoolLimits } from '../domain/billing/catalog/plan.ts'
import { poolForTier } from '../domain/billing/catalog/product.ts'
import type { Pool, Tier } from '../domain/billing/catalog/product.ts'
import { computeEffectivePrice } from './products.ts'

/** A message of a chat with some history, or of a tool with a file. */
export const typicalMessage = { inputTokens: 3_000, outputTokens: 1_000 } as const

type Prices = Pick<GatewayConfig, 'prices'>

/** Credits of a typical message, not rounded; 0 where the pool's models are free. */
export function computeMessageCredits(config: Prices, pool: Pool): number {
  const { effectiveInput, effectiveOutput } = computeEffectivePrice(config, tierForPool[pool])
  // A credit is a millionth of a dollar and prices are dollars a million tokens, so the millions cancel out.
  return typicalMessage.inputTokens * effectiveInput + typicalMessage.outputTokens * effectiveOutput
}

/** Rounded down to two digits, because it is an estimate; null where messages cost nothing. */
export function estimateMessages(config: Prices, credits: number, pool: Pool): number | null {
  const each = computeMessageCredits(config, pool)
  return each > 0 ? truncateToTwoDigits(credits / each) : null
}

/** The messages of a plan's pool in each window. */
export function estimatePoolMessages(config: Prices, limits: PoolLimits, pool: Pool): Record<keyof PoolLimits, number | null> {
  const [day, week, month] = windows.map((window) => estimateMessages(config, limits[window], pool))
  return { day: day ?? null, week: week ?? null, month: month ?? null }
}

const tierForPool = { [poolForTier.light]: 'light', [poolForTier.flagship]: 'flagship' } as const satisfies Record<Pool, Tier>

function truncateToTwoDigits(value: number): number {
  const step = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(value, 1))) - 1)
  return Math.floor(value / step) * step
}
