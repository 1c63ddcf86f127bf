/**
 * Status of the database that several nodes share. Requests start a probe but do not wait for it: a load balancer polls twice a second
 * and must get an answer from a node whose database hangs.
 */
import type { DatabaseStatus } from '../../domain/database-status.ts'
import type { Cluster } from '../../domain/store.ts'
import type { Clock } from '../../system/clock.ts'
import type { HealthCheck } from './health-checks.ts'
import { checkDatabase, formatNote } from './health-checks.ts'

interface ProbeResult {
  /** When the probe started. */
  readonly startedMonotonicMs: number
  /** Null if the database did not answer. */
  readonly status: DatabaseStatus | null
  readonly checks: readonly HealthCheck[]
}

const probeEveryMs = 5_000
/** Older results are not reported. */
const maxAgeMs = 10_000
/** A probe that takes longer is itself reported. */
const timeoutMs = 3_000
/** How long a caller of `runChecks` waits. */
const defaultWaitMs = 2_000

export class DatabaseProbe {
  readonly #cluster: Pick<Cluster, 'readDatabaseStatus'>
  readonly #clock: Clock
  readonly #waitMs: number
  #startedMonotonicMs = -Infinity
  /** The running probe: two at once would take two connections. */
  #probing: Promise<void> | null = null
  #latest: ProbeResult = { startedMonotonicMs: -Infinity, status: null, checks: [] }

  constructor(cluster: Pick<Cluster, 'readDatabaseStatus'>, clock: Clock, { waitMs = defaultWaitMs } = {}) {
    this.#cluster = cluster
    this.#clock = clock
    this.#waitMs = waitMs
  }

  /** The failed checks of the last probe; returns at once. */
  getNotes(): readonly string[] {
    this.#probeIfDue()
    const now = this.#clock.monotonicMs()
    if (this.#probing !== null && now - this.#startedMonotonicMs > timeoutMs) return [formatNote(createNoAnswerCheck())]
    if (now - this.#latest.startedMonotonicMs > maxAgeMs) return []
    return this.#latest.checks.filter(({ ok }) => !ok).map(formatNote)
  }

  /** The status of the last probe; null where there is none or it failed. */
  getLatestStatus(): DatabaseStatus | null {
    this.#probeIfDue()
    return this.#latest.status
  }

  /** Runs all checks now; a missing answer is a failed check too. */
  runChecks(): Promise<readonly HealthCheck[]> {
    const probe = this.#probe().then(() => this.#latest.checks)
    return this.#clock.within(this.#waitMs, probe).catch(() => [createNoAnswerCheck()])
  }

  #probeIfDue(): void {
    if (this.#clock.monotonicMs() - this.#startedMonotonicMs >= probeEveryMs) void this.#probe()
  }

  #probe(): Promise<void> {
    if (this.#probing !== null) return this.#probing
    const startedMonotonicMs = this.#clock.monotonicMs()
    this.#startedMonotonicMs = startedMonotonicMs
    this.#probing = this.#cluster
      .readDatabaseStatus()
      .then(
        (status) => ({ startedMonotonicMs, status, checks: checkDatabase(status) }),
        (error: unknown) => ({ startedMonotonicMs, status: null, checks: [createNoAnswerCheck(error)] }),
      )
      .then((result) => {
        this.#latest = result
        this.#probing = null
      })
    return this.#probing
  }
}

/** Notes are public: a driver's messages may name hosts and users, its codes do not. */
function createNoAnswerCheck(error?: unknown): HealthCheck {
  const code = error === undefined ? null : findErrorCode(error)
  return { what: 'database', ok: false, detail: `does not answer${code === null ? '' : ` (${code})`}` }
}

/** The error code of PostgreSQL or of the system, from the innermost cause. */
function findErrorCode(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  const { code, cause } = error as Error & { readonly code?: unknown }
  if (cause !== undefined) return findErrorCode(cause)
  return typeof code === 'string' && /^\w+$/.test(code) ? code : null
}
