/** What the routes are built from. */
import type { Calls } from '../gateway/calls.ts'
import type { Chain } from '../exchange/run.ts'
import type { Services } from '../gateway/services.ts'

export interface RouteParts {
  readonly services: Services
  readonly chain: Chain
  readonly calls: Calls
  /** Whether new turns are taken; false while draining. */
  readonly ready: () => boolean
}
