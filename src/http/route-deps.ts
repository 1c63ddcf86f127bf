/** Dependencies of the routes. */
import type { TurnHandlers } from '../tools/turn-handlers.ts'
import type { PluginChain } from '../exchange/plugin-chain.ts'
import type { DatabaseProbe } from '../services/database-probe.ts'
import type { Services } from '../services/services.ts'

export interface RouteDeps {
  readonly services: Services
  readonly chain: PluginChain
  readonly turnHandlers: TurnHandlers
  readonly operations: {
    /** Whether this process refuses new turns because it shuts down. */
    readonly isDraining: () => boolean
    /** Reasons why the whole process accepts no new turns; empty when ready. */
    readonly notReadyReasons: () => readonly string[] | Promise<readonly string[]>
    /** Why emails are not being sent; null if they are. */
    readonly mailNote: () => string | null | Promise<string | null>
    /** The metrics page of the whole process, all workers included. */
    readonly metricsText: () => Promise<string>
    /** The probe of the database that several nodes share; null on SQLite. */
    readonly database: Pick<DatabaseProbe, 'getNotes' | 'runChecks' | 'getLatestStatus'> | null
  }
}
