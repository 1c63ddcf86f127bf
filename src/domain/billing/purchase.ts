/** What a refusal for want of credits advises to buy. */
import type { Plan } from './catalog/plan.ts'
import type { Pool } from './catalog/product.ts'

/** Something that the account can buy now, and where. */
export type Purchase =
  | { readonly kind: 'pack'; readonly pool: Pool; readonly credits: number; readonly url: string }
  | { readonly kind: 'plan'; readonly plan: Plan; readonly url: string }
