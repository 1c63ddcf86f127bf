/** A plan: what a member may use, and how fast. */
import type { Pool } from './product.ts'

/** The three windows a plan counts usage in, shortest first. */
export const windows = ['day', 'week', 'month'] as const
export type Window = (typeof windows)[number]

/** Credits included in each window. */
export type PoolLimits = Readonly<Record<Window, number>>

export interface PlanPrice {
  readonly amount: number
  readonly currency: string
  readonly interval: 'month' | 'year'
  /** How many times Pro's pools this price point includes; null where that says nothing. */
  readonly multiplier: number | null
}

export interface Plan {
  readonly id: string
  readonly name: string
  readonly prices: readonly PlanPrice[]
  /** Requests a minute over all of an account's credentials. */
  readonly rpm: number
  /** Turns that may run at once. */
  readonly concurrency: number
  readonly pools: Readonly<Record<Pool, PoolLimits>>
  /** Product ids; `'all'` for every product. */
  readonly models: 'all' | readonly string[]
}

export function planHas(plan: Plan, productId: string): boolean {
  return plan.models === 'all' || plan.models.includes(productId)
}

/** The plans there are, as configured. */
export interface Plans {
  readonly plans: Readonly<Record<string, Plan>>
  readonly defaultPlan: string
}

/** An account's plan by its id. Members of one that is gone from the configuration are on the default plan until they are given another. */
export function planFor({ plans, defaultPlan }: Plans, id: string): Plan {
  const plan = plans[id] ?? plans[defaultPlan]
  if (plan === undefined) throw new Error(`the default plan '${defaultPlan}' is not configured`)
  return plan
}
