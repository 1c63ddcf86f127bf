/** What a server's first thread and those that serve are to each other: what each is started with, and may ask. */
import type { MessagePort } from 'node:worker_threads'
import type { LimitMemory } from '../../access/limits/shared.ts'
import type { GatewayConfig } from '../../config/config.ts'
import type { ThreadStoreParts } from '../../store/sqlite/thread-store.ts'
import type { Letter } from '../../system/mail/letter-queue.ts'
import type { MetricsJson } from '../../system/observe/joined.ts'

/** All that a worker is started with besides the configuration, which it reads by itself: plugins are programs. */
export interface WorkerStart {
  /** Which one this is of all that there ever were, from 1 on. */
  readonly worker: number
  /** Of the configuration as it was at the start, in one line: another one is not served beside it. */
  readonly config: string
  /** Its share of what is given out: the `index`th of `of`, from 0 on. */
  readonly share: Share
  readonly secret: Uint8Array
  readonly demoUrl: string | null
  readonly limits: { readonly byAddress: LimitMemory; readonly byAccount: LimitMemory }
  /** Where the first thread's clock of durations began. */
  readonly ticksOrigin: number
  readonly store: ThreadStoreParts
  /** The first line to the ledger's writer. */
  readonly line: MessagePort
}

export interface Share {
  readonly index: number
  readonly of: number
}

/** What a worker may ask the first thread, and tell it. */
export type FromWorker = {
  /** Another line to the ledger's writer. */
  readonly line: { readonly asks: null; readonly gives: MessagePort }
  /** What stands in the way of new turns, anywhere in this server. */
  readonly reasons: { readonly asks: null; readonly gives: readonly string[] }
  /** Everybody's, as text. */
  readonly metrics: { readonly asks: null; readonly gives: string }
  /** This account's credentials have changed: all others forget it, too. */
  readonly forget: { readonly asks: string; readonly gives: void }
  /** Gives when it is kept. */
  readonly letter: { readonly asks: Letter; readonly gives: void }
  /** Lines of the log. */
  readonly log: { readonly asks: string; readonly gives: void }
  /** The code of a failure of the database. */
  readonly fault: { readonly asks: string; readonly gives: void }
}

/** What the first thread may ask a worker, and tell it. */
export type FromFirst = {
  /** Serve, on this port together with others; 0: a free one. Gives the address. */
  readonly serve: { readonly asks: number; readonly gives: string }
  /** Drain, and let go of everything. */
  readonly close: { readonly asks: { readonly drainMs: number; readonly owedMs: number }; readonly gives: null }
  readonly reasons: { readonly asks: null; readonly gives: readonly string[] }
  readonly metrics: { readonly asks: null; readonly gives: MetricsJson }
  readonly forget: { readonly asks: string; readonly gives: void }
  /** What stands in the way of new turns; null: nothing any more. */
  readonly trouble: { readonly asks: string | null; readonly gives: void }
}

/** A configuration in one line, but for its plugins' programs, so that two can be compared. */
export function configLine(config: GatewayConfig): string {
  return JSON.stringify(config)
}
