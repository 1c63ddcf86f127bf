/** Opens the limits of one serving thread under its configuration. */
import type { BodyBudgetBounds } from '../access/limits/body-budget.ts'
import { createLimits } from '../access/limits/create-limits.ts'
import type { Limits } from '../access/limits/limits.ts'
import { createLocalLimits } from '../access/limits/memory.ts'
import type { SharedLimits } from '../access/limits/memory.ts'
import type { RateLimitStore } from '../access/limits/rate-limit-store.ts'
import type { GatewayConfig } from '../config/config.ts'
import type { Services } from '../services/services.ts'

/** The limits that the threads of a process count together, and those that nodes count in their database. */
interface CountedTogether {
  readonly shared?: SharedLimits
  readonly createRateLimitStore: (() => RateLimitStore) | null
}

export function openLimits(
  { config: { limits, brand }, store, clock, log }: Pick<Services, 'config' | 'store' | 'clock' | 'log'>,
  { shared, createRateLimitStore }: CountedTogether,
): Promise<Limits> {
  const options = { maxWaitMs: limits.concurrencyWaitMs, bodies: getBodyBudgetBounds(limits), clock }
  return createLimits({
    url: limits.url,
    slug: brand.slug,
    local: createLocalLimits(options, shared),
    createSharedStore: createRateLimitStore,
    nodes: () => store.cluster?.countNodes() ?? 1,
    clock,
    log,
  })
}

/** One body of the largest size always fits, whatever the configuration says. */
export function getBodyBudgetBounds(limits: GatewayConfig['limits']): BodyBudgetBounds {
  const { chatBodyBytes, agentBodyBytes, embeddingBodyBytes, mcpBodyBytes, otherBodyBytes } = limits
  const largestBytes = Math.max(chatBodyBytes, agentBodyBytes, embeddingBodyBytes, mcpBodyBytes, otherBodyBytes)
  return {
    perAccountBytes: Math.max(limits.accountBodiesBytes, largestBytes),
    perAddressBytes: Math.max(limits.addressBodiesBytes, otherBodyBytes),
    totalBytes: Math.max(limits.allBodiesBytes, 2 * largestBytes),
  }
}
