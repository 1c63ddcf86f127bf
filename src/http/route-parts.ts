/** What the routes are built from. */
import type { Calls } from '../gateway/calls.ts'
import type { Chain } from '../exchange/run.ts'
import type { DatabaseLook } from '../gateway/database-look.ts'
import type { Services } from '../gateway/services.ts'

export interface RouteParts {
  readonly services: Services
  readonly chain: Chain
  readonly calls: Calls
  readonly operations: {
    /** No new turns are taken here. */
    readonly isDraining: () => boolean
    /** What stands in the way of new turns in the whole process. */
    readonly reasons: () => readonly string[] | Promise<readonly string[]>
    /** Of the whole process. */
    readonly metricsText: () => Promise<string>
    /** The database that several nodes share; null where there is none. */
    readonly database: Pick<DatabaseLook, 'notes' | 'findings' | 'latest'> | null
  }
}
