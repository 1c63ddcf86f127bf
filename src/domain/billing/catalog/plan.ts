/** A plan: which models a member may use, how much and how fast. */
import type { Pool } from './product.ts'

/** The three windows in which a plan counts usage, shortest first. */
export const windows = ['day', 'week', 'month'] as const
export type Window = (typeof windows)[number]

/** Credits included in each window. */
export type PoolLimits = Readonly<Record<Window, number>>

interface PlanPrice {
  readonly amount: number
  readonly currency: string
  readonly interval: 'month' | 'year'
  /** Size of this plan's pools as a multiple of Pro's; null if it is not a multiple. */
  readonly multiplier: number | null
}

export interface Plan {
  readonly id: string
  readonly name: string
  readonly prices: readonly PlanPrice[]
  /** Requests per minute over all credentials of an account. */
  readonly rpm: number
  /** Concurrent turns. */
  readonly concurrency: number
  readonly pools: Readonly<Record<Pool, PoolLimits>>
  /** Product ids; `'all'` for every product. */
  readonly models: 'all' | readonly string[]
}

export function planIncludes(plan: Plan, productId: string): boolean {
  return plan.models === 'all' || plan.models.includes(productId)
}

/** The configured plans. */
export interface Plans {
  readonly plans: Readonly<Record<string, Plan>>
  readonly defaultPlan: string
}

/** Finds a plan by id. Members of a plan that is no longer configured have the default plan until they get another one. */
export function getPlan({ plans, defaultPlan }: Plans, id: string): Plan {
  const plan = plans[Object.hasOwn(plans, id) ? id : defaultPlan]
  if (plan === undefined) throw new Error(`the default plan '${defaultPlan}' is not configured`)
  return plan
}
