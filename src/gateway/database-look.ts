/**
 * How the database does that several nodes share, for whoever asks this one. It is looked at because somebody asks, and beside them: a
 * balancer asks twice a second, and must be answered by a node whose database hangs.
 */
import { answered } from '../access/answered.ts'
import type { Condition } from '../membership/condition.ts'
import type { Cluster } from '../membership/store.ts'
import type { Clock } from '../system/clock.ts'
import type { Finding } from './findings.ts'
import { databaseFindings, noteOf } from './findings.ts'

interface Seen {
  /** Since when it is no older than this. */
  readonly ticks: number
  /** Null: it could not be asked. */
  readonly condition: Condition | null
  readonly findings: readonly Finding[]
}

const lookEveryMs = 5_000
/** What is older is not told. */
const goodForMs = 10_000
/** A look that takes longer is told of itself. */
const patienceMs = 3_000
/** For somebody who waits for it. */
const defaultWaitMs = 2_000

export class DatabaseLook {
  readonly #cluster: Pick<Cluster, 'condition'>
  readonly #clock: Pick<Clock, 'ticks'>
  readonly #waitMs: number
  #begunTicks = -Infinity
  /** The look that is under way: two at once would take two connections. */
  #looking: Promise<void> | null = null
  #seen: Seen = { ticks: -Infinity, condition: null, findings: [] }

  constructor(cluster: Pick<Cluster, 'condition'>, clock: Pick<Clock, 'ticks'>, { waitMs = defaultWaitMs } = {}) {
    this.#cluster = cluster
    this.#clock = clock
    this.#waitMs = waitMs
  }

  /** What is not in order, as of the last look; asks nothing and waits for nobody. */
  notes(): readonly string[] {
    this.#lookInTime()
    const now = this.#clock.ticks()
    if (this.#looking !== null && now - this.#begunTicks > patienceMs) return [noteOf(silence())]
    if (now - this.#seen.ticks > goodForMs) return []
    return this.#seen.findings.filter(({ ok }) => !ok).map(noteOf)
  }

  /** The last known condition; null where there is none, or the last look failed. */
  latest(): Condition | null {
    this.#lookInTime()
    return this.#seen.condition
  }

  /** All there is to find, now; that there is no answer in time is a finding too. */
  findings(): Promise<readonly Finding[]> {
    const look = this.#look().then(() => this.#seen.findings)
    return answered(look, this.#waitMs).catch(() => [silence()])
  }

  #lookInTime(): void {
    if (this.#clock.ticks() - this.#begunTicks >= lookEveryMs) void this.#look()
  }

  #look(): Promise<void> {
    if (this.#looking !== null) return this.#looking
    const ticks = this.#clock.ticks()
    this.#begunTicks = ticks
    this.#looking = this.#cluster
      .condition()
      .then(
        (condition) => ({ ticks, condition, findings: databaseFindings(condition) }),
        (error: unknown) => ({ ticks, condition: null, findings: [silence(error)] }),
      )
      .then((seen) => {
        this.#seen = seen
        this.#looking = null
      })
    return this.#looking
  }
}

/** Anybody may read it: a driver's own words may name hosts and users, its codes do not. */
function silence(error?: unknown): Finding {
  const code = error === undefined ? null : codeOf(error)
  return { what: 'database', ok: false, detail: `does not answer${code === null ? '' : ` (${code})`}` }
}

/** Of PostgreSQL or of the system, under what callers are told. */
function codeOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  const { code, cause } = error as Error & { readonly code?: unknown }
  if (cause !== undefined) return codeOf(cause)
  return typeof code === 'string' && /^\w+$/.test(code) ? code : null
}
