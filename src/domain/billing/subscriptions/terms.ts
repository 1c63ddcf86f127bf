/**
 * Terms: one version of a plan as it was sold or given, which never changes. Members with a subscription keep its terms until its end,
 * whatever the configuration says meanwhile. What a token costs is no part of the terms: prices are the configuration's.
 */
import type { Plan, Plans } from '../catalog/plan.ts'
import { getPlan, windows } from '../catalog/plan.ts'

export interface PlanTerms {
  /** The plan's id and the version, as in `pro@3`. */
  readonly id: string
  readonly version: number
  readonly plan: Plan
}

/** Terms with the number of their subscriptions that have not ended. */
export interface TermsInUse extends PlanTerms {
  readonly createdAt: number
  /** Subscriptions that run. */
  readonly running: number
  /** Subscriptions that begin when a higher or an earlier one has ended. */
  readonly waiting: number
}

export function toTermsId(plan: string, version: number): string {
  return `${plan}@${version}`
}

/** What is stored of a plan. Equal plans have equal texts. */
export function serializePlan({ name, prices, rpm, concurrency, pools, models }: Plan): string {
  const toLimits = (limits: Plan['pools']['fast']) => windows.map((window) => limits[window])
  return JSON.stringify({
    name,
    prices: prices.map(({ amount, currency, interval, multiplier }) => ({ amount, currency, interval, multiplier })),
    rpm,
    concurrency,
    pools: { fast: toLimits(pools.fast), premium: toLimits(pools.premium) },
    models: models === 'all' ? models : models.toSorted(),
  })
}

type StoredPlan = Omit<Plan, 'id' | 'pools'> & {
  readonly pools: Readonly<Record<'fast' | 'premium', readonly [day: number, week: number, month: number]>>
}

/** The reverse of `serializePlan`, from the value that its JSON is. */
export function restorePlan(id: string, stored: unknown): Plan {
  const { pools, ...plan } = stored as StoredPlan
  const toLimits = ([day, week, month]: StoredPlan['pools']['fast']) => ({ day, week, month })
  return { ...plan, id, pools: { fast: toLimits(pools.fast), premium: toLimits(pools.premium) } }
}

/** The plan by which an account is served: the terms of its running subscription, or else the configuration's plan. */
export function resolvePlan(plans: Plans, account: { readonly plan: string; readonly terms: PlanTerms | null }): Plan {
  return account.terms?.plan ?? getPlan(plans, account.plan)
}

/** Whether `larger` gives at least as much of everything as `smaller`. */
export function includesPlan(larger: Plan, smaller: Plan): boolean {
  const hasModels =
    larger.models === 'all' || (smaller.models !== 'all' && smaller.models.every((id) => larger.models.includes(id)))
  const hasCredits = (['fast', 'premium'] as const).every((pool) =>
    windows.every((window) => smaller.pools[pool][window] <= larger.pools[pool][window]),
  )
  return hasModels && hasCredits && smaller.rpm <= larger.rpm && smaller.concurrency <= larger.concurrency
}

/**
 * Positive where `one` is the higher plan, zero where none is. The credits of a month decide, then those of shorter windows, products and
 * speed, so that a plan that includes another is never the lower one.
 */
export function comparePlans(one: Plan, other: Plan): number {
  for (const measure of measures) {
    const [mine, others] = [measure(one), measure(other)]
    if (mine !== others) return mine > others ? 1 : -1
  }
  return 0
}

const measures: readonly ((plan: Plan) => number)[] = [
  ...(['month', 'week', 'day'] as const).map(
    (window) =>
      ({ pools }: Plan) =>
        pools.fast[window] + pools.premium[window],
  ),
  ({ models }) => (models === 'all' ? Infinity : models.length),
  ({ rpm }) => rpm,
  ({ concurrency }) => concurrency,
]
