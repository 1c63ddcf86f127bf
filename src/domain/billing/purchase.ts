/** What a refusal for want of credits advises to buy. */
import type { Plan } from './plan.ts'
import type { Pool } from './product.ts'

/** Something that the account can buy now, and where. */
export type Purchase =
  | { readonly kind: 'pack'; readonly pool: Pool; readonly credits: number; readonly url: string }
  | { readonly kind: 'plan'; readonly plan: Plan; readonly url: string }
