/** Reads stored terms of plans. */
import { LRUCache } from 'lru-cache'
import type { PlanTerms } from '../../../domain/billing/subscriptions/terms.ts'
import { restorePlan } from '../../../domain/billing/subscriptions/terms.ts'
import { parseJson } from '../../../system/parse-json.ts'

/** Terms never change, so one object serves all accounts that have them. */
const cache = new LRUCache<string, { readonly content: string; readonly terms: PlanTerms }>({ max: 1_000 })

export function toPlanTerms({
  id,
  plan,
  content,
}: {
  readonly id: string
  readonly plan: string
  readonly content: string
}): PlanTerms {
  const cacheEntry = cache.get(id)
  // A process may have opened two databases, one after the other.
  if (cacheEntry?.content === content) return cacheEntry.terms
  const terms = { id, version: Number(id.slice(plan.length + 1)), plan: restorePlan(plan, parseJson(content)) }
  cache.set(id, { content, terms })
  return terms
}
