import type { Calls } from '../calls.ts'
import type { Chain } from '../exchange/run.ts'
import type { Services } from '../services.ts'

/** What the routes are built from. */
export interface House {
  readonly services: Services
  readonly chain: Chain
  readonly calls: Calls
  /** Whether new turns are taken; false while draining. */
  readonly ready: () => boolean
}
