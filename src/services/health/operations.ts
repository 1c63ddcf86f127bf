/** What the process that serves is asked about itself: by probes, scrapers, and operators. */
import type { DatabaseProbe } from './database-probe.ts'
import type { HealthCheck } from './health-checks.ts'
import type { NodeFigures } from './node-figures.ts'

export interface Operations {
  /** Whether this process refuses new turns because it shuts down. */
  readonly isDraining: () => boolean
  /** Reasons why the whole process accepts no new turns; empty when ready. */
  readonly notReadyReasons: () => readonly string[] | Promise<readonly string[]>
  /** Why emails are not being sent; null if they are. */
  readonly mailNote: () => string | null | Promise<string | null>
  /** The metrics page of the whole process, all workers included. */
  readonly metricsText: () => Promise<string>
  /** The same metrics as figures of the last minutes. */
  readonly readFigures: () => Promise<NodeFigures>
  /** What `svc-gateway doctor` finds now; null where it cannot be run from here. */
  readonly runDoctor: () => Promise<readonly HealthCheck[] | null>
  /** The probe of the database that several nodes share; null on SQLite. */
  readonly database: Pick<DatabaseProbe, 'getNotes' | 'runChecks' | 'getLatestStatus'> | null
}
