/** The data and messages that the main thread and its workers exchange. */
import type { MessagePort } from 'node:worker_threads'
import type { ProcessBudgetMemory } from '../../access/limits/process-budgets.ts'
import type { LimitMemory } from '../../access/limits/shared-memory.ts'
import type { CertificatePair } from '../../http/server/listen.ts'
import type { ConfigValues, EvaluatedConfig } from '../reload/merge-reloaded-config.ts'
import type { WorkerStoreInit } from '../../store/sqlite/worker-store.ts'
import type { EmailOutcome } from '../../domain/member-mailer.ts'
import type { Email } from '../../mail/email-queue.ts'
import type { MetricsJson } from '../../observability/merge-metrics.ts'
import type { HealthCheck } from '../../services/health/health-checks.ts'
import type { NodeFigures } from '../../services/health/node-figures.ts'

/** Start data of a worker. Workers import the plugins themselves, because they are functions and cannot be sent. */
export interface WorkerInit {
  /** Number of this worker among all ever started, from 1. */
  readonly worker: number
  /** The configuration of the workers beside it, and its plugins: a worker refuses to start with others. */
  readonly config: EvaluatedConfig
  /** This worker's share of connection limits. */
  readonly share: Share
  readonly secret: Uint8Array
  readonly demoUrl: string | null
  readonly limits: { readonly byAddress: LimitMemory; readonly byAccount: LimitMemory }
  readonly budgets: ProcessBudgetMemory
  /** Origin of the main thread's monotonic clock. */
  readonly monotonicOriginMs: number
  readonly store: WorkerStoreInit
  /** The first connection to the ledger's writer. */
  readonly writerPort: MessagePort
}

export interface Share {
  readonly index: number
  readonly count: number
}

/** Requests and notifications from a worker to the main thread. */
export type WorkerRequests = {
  /** Opens another connection to the ledger's writer. */
  readonly writerPort: { readonly request: null; readonly response: MessagePort }
  /** Reasons why the server as a whole refuses new turns. */
  readonly notReadyReasons: { readonly request: null; readonly response: readonly string[] }
  /** The merged metrics of all threads, as text. */
  readonly metrics: { readonly request: null; readonly response: string }
  /** The figures of all threads for the console. */
  readonly figures: { readonly request: null; readonly response: NodeFigures }
  /** What `svc-gateway doctor` finds, which only the main thread can run. */
  readonly doctor: { readonly request: null; readonly response: readonly HealthCheck[] | null }
  /** Notification: this account's credentials have changed; all other threads drop them from their caches. */
  readonly invalidate: { readonly request: string; readonly response: void }
  /** Resolves when the email is queued. */
  readonly email: { readonly request: Email; readonly response: EmailOutcome }
  /** Why emails are not being sent; null if they are. */
  readonly mailNote: { readonly request: null; readonly response: string | null }
  /** Log lines. */
  readonly log: { readonly request: string; readonly response: void }
  /** Notification: the code of a database error. */
  readonly databaseError: { readonly request: string; readonly response: void }
}

/** Requests and notifications from the main thread to a worker. */
export type MainRequests = {
  /** Listen on this port together with other workers, 0 for any free port. Responds with the address. */
  readonly serve: { readonly request: number; readonly response: string }
  /** Drain and release everything. */
  readonly close: { readonly request: { readonly drainMs: number; readonly flushMs: number }; readonly response: null }
  readonly notReadyReasons: { readonly request: null; readonly response: readonly string[] }
  readonly metrics: { readonly request: null; readonly response: MetricsJson }
  /** Use this configuration for new requests. */
  readonly reconfigure: { readonly request: Reconfiguration; readonly response: null }
  /** Responds at once: a worker that does not is stalled. */
  readonly ping: { readonly request: null; readonly response: null }
  readonly invalidate: { readonly request: string; readonly response: void }
  /** Notification: why new turns are refused; null when they are accepted again. */
  readonly unhealthyReason: { readonly request: string | null; readonly response: void }
}

interface Reconfiguration {
  readonly values: ConfigValues
  readonly certificate: CertificatePair | null
}
