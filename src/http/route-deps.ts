/** Dependencies of the routes. */
import type { TurnHandlers } from '../tools/turn-handlers.ts'
import type { PluginChain } from '../exchange/plugins/plugin-chain.ts'
import type { Operations } from '../services/health/operations.ts'
import type { Services } from '../services/services.ts'

export interface RouteDeps {
  readonly services: Services
  readonly chain: PluginChain
  readonly turnHandlers: TurnHandlers
  readonly operations: Operations
}
